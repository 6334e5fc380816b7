#include "opencl_layer/layer/program_queries.h"

#include "base/owned.h"
#include "opencl_layer/below.h"

#include <stdlib.h>

static void *property(cl_program program, cl_program_info name, size_t *size)
{
    *size = 0;
    if (below->clGetProgramInfo(program, name, 0, NULL, size) != CL_SUCCESS || *size == 0)
        return NULL;
    FREED char *value = calloc(1, *size + 1);
    if (value == NULL || below->clGetProgramInfo(program, name, *size, value, NULL) != CL_SUCCESS)
        return NULL;
    return GIVE(value);
}

char *program_source(cl_program program, size_t *size)
{
    FREED char *source = property(program, CL_PROGRAM_SOURCE, size);
    while (source != NULL && *size > 0 && source[*size - 1] == '\0') /* the size counts the C string's end */
        --*size;
    return source != NULL && *size > 0 ? GIVE(source) : NULL;
}

char *program_il(cl_program program, size_t *size)
{
    return property(program, CL_PROGRAM_IL, size);
}

unsigned char *program_binary(cl_program program, cl_device_id device, size_t *size)
{
    size_t devices_size = 0, sizes_size = 0;
    FREED cl_device_id *devices = property(program, CL_PROGRAM_DEVICES, &devices_size);
    FREED size_t *sizes = property(program, CL_PROGRAM_BINARY_SIZES, &sizes_size);
    size_t count = devices_size / sizeof *devices, place = 0;
    if (devices == NULL || sizes == NULL || count != sizes_size / sizeof *sizes)
        return NULL;
    while (place < count && devices[place] != device)
        ++place;
    if (place == count || sizes[place] == 0)
        return NULL;
    FREED unsigned char **wanted = calloc(count, sizeof *wanted); /* NULL for every other device: nothing is written for it */
    FREED unsigned char *binary = malloc(sizes[place]);
    if (wanted == NULL || binary == NULL)
        return NULL;
    wanted[place] = binary;
    if (below->clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *wanted, wanted, NULL) != CL_SUCCESS)
        return NULL;
    *size = sizes[place];
    return GIVE(binary);
}
