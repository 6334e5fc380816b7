#include "opencl_layer/second_build/program/driver.h"

#include "base/owned.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef cl_int(CL_API_CALL *get_platforms_fn)(cl_uint count, cl_platform_id *platforms, cl_uint *count_ret);
typedef void *(CL_API_CALL *get_function_fn)(const char *name);

static get_platforms_fn find_get_platforms(void *library)
{
    static const char NAME[] = "clIcdGetPlatformIDsKHR";
    get_function_fn get_function = (get_function_fn)dlsym(library, "clGetExtensionFunctionAddress");
    void *function = get_function != NULL ? get_function(NAME) : NULL;
    return (get_platforms_fn)(function != NULL ? function : dlsym(library, NAME));
}

static cl_platform_id find_platform(get_platforms_fn get_platforms, const char *wanted)
{
    cl_platform_id platforms[16], found = NULL;
    cl_uint count = 0;
    if (get_platforms(sizeof platforms / sizeof *platforms, platforms, &count) != CL_SUCCESS)
        return NULL;
    for (cl_uint index = 0; index < count && index < sizeof platforms / sizeof *platforms && found == NULL; ++index) {
        const cl_icd_dispatch *functions = *(const cl_icd_dispatch *const *)(const void *)platforms[index];
        char name[256];
        if (functions->clGetPlatformInfo(platforms[index], CL_PLATFORM_NAME, sizeof name, name, NULL) == CL_SUCCESS &&
            strcmp(name, wanted) == 0)
            found = platforms[index];
    }
    return found;
}

static cl_device_id find_device(const cl_icd_dispatch *functions, cl_platform_id platform, unsigned place)
{
    cl_uint count = 0;
    if (functions->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count) != CL_SUCCESS || place >= count)
        return NULL;
    FREED cl_device_id *devices = calloc(count, sizeof *devices);
    if (devices == NULL || functions->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices, NULL) != CL_SUCCESS)
        return NULL;
    return devices[place];
}

const char *driver_load(struct driver *driver, const char *path, const char *platform_name, unsigned device)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL)
        return dlerror();
    get_platforms_fn get_platforms = find_get_platforms(library);
    cl_platform_id platform = get_platforms != NULL ? find_platform(get_platforms, platform_name) : NULL;
    if (platform == NULL)
        return "the driver's library does not give the platform";
    driver->functions = *(const cl_icd_dispatch *const *)(const void *)platform;
    driver->device = find_device(driver->functions, platform, device);
    if (driver->device == NULL)
        return "the platform does not have the device";
    cl_int error = CL_SUCCESS;
    driver->context = driver->functions->clCreateContext(NULL, 1, &driver->device, NULL, NULL, &error);
    return error == CL_SUCCESS ? NULL : "clCreateContext failed";
}
