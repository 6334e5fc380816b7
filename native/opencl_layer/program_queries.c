#include "program_queries.h"

#include "layer.h"

#include <stdlib.h>

static char *property(cl_program program, cl_program_info name, size_t *size)
{
    char *value = NULL;
    *size = 0;
    if (below->clGetProgramInfo(program, name, 0, NULL, size) == CL_SUCCESS && *size > 0 &&
        (value = calloc(1, *size + 1)) != NULL &&
        below->clGetProgramInfo(program, name, *size, value, NULL) != CL_SUCCESS) {
        free(value);
        value = NULL;
    }
    return value;
}

char *program_source(cl_program program, size_t *size)
{
    char *source = property(program, CL_PROGRAM_SOURCE, size);
    while (source != NULL && *size > 0 && source[*size - 1] == '\0') /* the size counts the C string's end */
        --*size;
    if (source != NULL && *size == 0) {
        free(source);
        source = NULL;
    }
    return source;
}

char *program_il(cl_program program, size_t *size)
{
    return property(program, CL_PROGRAM_IL, size);
}

unsigned char *program_binary(cl_program program, cl_device_id device, size_t *size)
{
    unsigned char *binary = NULL, **wanted = NULL;
    size_t devices_size = 0, sizes_size = 0;
    cl_device_id *devices = (cl_device_id *)property(program, CL_PROGRAM_DEVICES, &devices_size);
    size_t *sizes = (size_t *)property(program, CL_PROGRAM_BINARY_SIZES, &sizes_size);
    size_t count = devices_size / sizeof *devices;
    size_t place = 0;
    while (devices != NULL && place < count && devices[place] != device)
        ++place;
    if (sizes != NULL && place < count && count == sizes_size / sizeof *sizes && sizes[place] > 0) {
        *size = sizes[place];
        wanted = calloc(count, sizeof *wanted); /* NULL for every other device: nothing is written for it */
        binary = malloc(*size);
        if (wanted != NULL && binary != NULL) {
            wanted[place] = binary;
            if (below->clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *wanted, wanted, NULL) != CL_SUCCESS) {
                free(binary);
                binary = NULL;
            }
        }
    }
    free(wanted);
    free(sizes);
    free(devices);
    return binary;
}
