#include "opencl_layer/platforms.h"

#include "base/text.h"
#include "opencl_layer/below.h"
#include "opencl_layer/compilers/compilers.h"

#include <string.h>

bool platform_name(cl_device_id device, char *name, size_t size)
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
    if (!text_starts_with(name, "Intel(R) OpenCL"))
        return &unknown_compiler;
    if (type & CL_DEVICE_TYPE_GPU)
        return &igc_compiler;
    return type & CL_DEVICE_TYPE_CPU ? &cpu_runtime_compiler : &unknown_compiler;
}
