#include "stages.h"

#include "layer.h"

#include <CL/cl_codeplay_program_snapshot.h>

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct stage UNKNOWN_STAGES[] = {
    {.name = "source", .text = ".cl", .text_first = true, .origin = ORIGIN_SOURCE},
    {.name = "spirv", .binary = ".spv", .origin = ORIGIN_SPIRV},
    {.name = "program", .binary = ".bin", .origin = ORIGIN_BINARY},
};

const struct compiler unknown_compiler = {
    .name = "unknown",
    .stages = UNKNOWN_STAGES,
    .count = COUNT(UNKNOWN_STAGES),
};

static bool platform_name(cl_device_id device, char *name, size_t size)
{
    cl_platform_id platform = NULL;
    return below->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) == CL_SUCCESS &&
           below->clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, name, NULL) == CL_SUCCESS;
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
    if (strncmp(name, "Intel(R) OpenCL", strlen("Intel(R) OpenCL")) != 0)
        return &unknown_compiler;
    if (type & CL_DEVICE_TYPE_GPU)
        return &igc_compiler;
    return type & CL_DEVICE_TYPE_CPU ? &cpu_compiler : &unknown_compiler;
}

const struct stage *stage_named(const struct compiler *compiler, const char *name)
{
    for (cl_uint index = 0; index < compiler->count; ++index)
        if (strcmp(compiler->stages[index].name, name) == 0)
            return &compiler->stages[index];
    return NULL;
}

bool stage_as_text(const struct stage *stage, cl_uint format)
{
    if (stage->text == NULL || stage->binary == NULL)
        return stage->text != NULL;
    if (format == CL_PROGRAM_BINARY_FORMAT_DEFAULT_CODEPLAY)
        return stage->text_first;
    return format == CL_PROGRAM_BINARY_FORMAT_TEXT_CODEPLAY;
}
