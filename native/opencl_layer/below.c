#include "opencl_layer/below.h"

#include "base/bytes.h"
#include "base/owned.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const cl_icd_dispatch *below;

cl_int info_answer(const void *value, size_t size, size_t room, void *value_ret, size_t *size_ret)
{
    if (value_ret != NULL) {
        if (room < size)
            return CL_INVALID_VALUE;
        if (size > 0)
            memcpy(value_ret, value, size);
    }
    if (size_ret != NULL)
        *size_ret = size;
    return CL_SUCCESS;
}

bool platform_name(cl_device_id device, char *name, size_t size)
{
    cl_platform_id platform = NULL;
    return below->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) == CL_SUCCESS &&
           below->clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, name, NULL) == CL_SUCCESS;
}

cl_device_id queue_device(cl_command_queue queue)
{
    cl_device_id device = NULL;
    return below->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) == CL_SUCCESS ? device : NULL;
}

const struct compiler *compiler_of(cl_device_id device)
{
    char name[256];
    cl_device_type type = 0;
    if (!platform_name(device, name, sizeof name) ||
        below->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL) != CL_SUCCESS)
        return &unknown_compiler;
    if (strcmp(name, "Portable Computing Language") == 0 && (type & CL_DEVICE_TYPE_CPU))
        return &pocl_compiler;
    if (strcmp(name, "NVIDIA CUDA") == 0)
        return &nvidia_compiler;
    if (!text_starts_with(name, "Intel(R) OpenCL"))
        return &unknown_compiler;
    if (type & CL_DEVICE_TYPE_GPU)
        return &igc_compiler;
    return type & CL_DEVICE_TYPE_CPU ? &cpu_runtime_compiler : &unknown_compiler;
}

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

/* PoCL links the kernels' code then, and aborts if it cannot: names that are too long for files, symbols that are nowhere, a full disk,
 * no linker. The application may never ask. What is only compiled, or a library, has no such code. */
bool program_binary_may_abort(cl_program program)
{
    size_t count = 0;
    FREED cl_device_id *devices = program_devices(program, &count);
    for (size_t index = 0; devices != NULL && index < count; ++index) {
        cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
        if (compiler_of(devices[index])->kernels_on_query &&
            below->clGetProgramBuildInfo(program, devices[index], CL_PROGRAM_BINARY_TYPE, sizeof type, &type, NULL) == CL_SUCCESS &&
            type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE)
            return true;
    }
    return false;
}

unsigned char *program_binary(cl_program program, cl_device_id device, size_t *size)
{
    if (program_binary_may_abort(program))
        return NULL;
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
    FREED unsigned char **rooms = calloc(count, sizeof *rooms); /* NULL for every other device: nothing is written for it */
    FREED unsigned char *binary = malloc(sizes[place]);
    if (rooms == NULL || binary == NULL)
        return NULL;
    rooms[place] = binary;
    if (below->clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *rooms, rooms, NULL) != CL_SUCCESS)
        return NULL;
    *size = sizes[place];
    return GIVE(binary);
}

cl_device_id *program_devices(cl_program program, size_t *count)
{
    cl_device_id *devices = property(program, CL_PROGRAM_DEVICES, count);
    *count /= sizeof *devices;
    return devices;
}

/* Puts the parts' places and sizes into order.
 *
 * Of a program that is built for some of its devices only, Intel's drivers answer the sizes of debug data one after the other
 * from the first entry on, and yet write the bytes through each device's own pointer. */
static void place_parts(struct program_parts *parts, const size_t *sizes, size_t room, const bool *built, size_t count)
{
    bool packed = false;
    for (size_t index = 0; index < count; ++index)
        packed = packed || (built[index] && sizes[index] == 0);
    size_t next = 0;
    for (size_t index = 0; index < count; ++index) {
        if (!built[index])
            continue;
        while (packed && next < count && sizes[next] == 0)
            ++next;
        size_t place = packed ? next++ : index;
        if (place < count && sizes[place] > 0)
            parts->items[index] = (struct view){.bytes = parts->bytes + index * room, .size = sizes[place]};
    }
}

static bool read_parts(cl_program program, const cl_program_info names[2], const bool *built, size_t count,
                       struct program_parts *parts)
{
    bool any = false;
    for (size_t index = 0; index < count; ++index)
        any = any || built[index];
    *parts = (struct program_parts){0};
    FREED size_t *sizes = calloc(count, sizeof *sizes);
    FREED unsigned char **rooms = calloc(count, sizeof *rooms);
    if (!any || sizes == NULL || rooms == NULL ||
        below->clGetProgramInfo(program, names[0], count * sizeof *sizes, sizes, NULL) != CL_SUCCESS)
        return false;
    size_t room = 0;
    for (size_t index = 0; index < count; ++index)
        room = sizes[index] > room ? sizes[index] : room;
    if (room == 0 || room > SIZE_MAX / count)
        return false;
    parts->bytes = malloc(count * room);
    parts->items = calloc(count, sizeof *parts->items);
    for (size_t index = 0; parts->bytes != NULL && index < count; ++index)
        rooms[index] = parts->bytes + index * room;
    if (parts->bytes != NULL && parts->items != NULL &&
        below->clGetProgramInfo(program, names[1], count * sizeof *rooms, rooms, NULL) == CL_SUCCESS) {
        place_parts(parts, sizes, room, built, count);
        return true;
    }
    program_parts_free(parts);
    return false;
}

bool program_read_binaries(cl_program program, const bool *built, size_t count, struct program_parts *parts)
{
    static const cl_program_info NAMES[] = {CL_PROGRAM_BINARY_SIZES, CL_PROGRAM_BINARIES};
    return read_parts(program, NAMES, built, count, parts);
}

bool program_read_debug(cl_program program, const bool *built, size_t count, struct program_parts *parts)
{
    enum { DEBUG_INFO_INTEL = 0x4100, DEBUG_INFO_SIZES_INTEL = 0x4101 };
    static const cl_program_info NAMES[] = {DEBUG_INFO_SIZES_INTEL, DEBUG_INFO_INTEL};
    return read_parts(program, NAMES, built, count, parts);
}

void program_parts_free(struct program_parts *parts)
{
    free(parts->bytes);
    free(parts->items);
    *parts = (struct program_parts){0};
}
