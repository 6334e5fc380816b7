/* The entry points by which an OpenCL loader takes the layer for a driver: one that has the platforms of all real drivers.
 *
 * Loaders find clGetExtensionFunctionAddress in the library, and the others through that; ocl-icd wants clGetPlatformInfo, too. */
#include "base/locks.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/layer/layer.h"
#include "opencl_layer/recorder/recorder.h"
#include "opencl_layer/vendor/drivers.h"
#include "opencl_layer/vendor/tables.h"

#include <stdlib.h>
#include <string.h>

static cl_icd_dispatch in_front; /* what stands in front of drivers' functions */

/* Puts the layer's parts together. With LOCK_DRIVERS held. */
static void open_layer(void)
{
    if (below != NULL)
        return;
    in_front = real_functions;
    below = &real_functions;
    extension_hook(&in_front);
    programs_hook(&in_front);
    builds_hook(&in_front);
    recorder_hook(&in_front);
    tables_open(&in_front, &real_functions);
}

static cl_int CL_API_CALL get_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count_ret)
{
    const void *loader = __builtin_return_address(0);
    if ((platforms == NULL && count_ret == NULL) || (platforms != NULL && room == 0))
        return CL_INVALID_VALUE;
    cl_uint count = 0;
    lock_take(LOCK_DRIVERS);
    open_layer();
    const cl_platform_id *listed = drivers_open(loader, &count);
    lock_give(LOCK_DRIVERS);
    if (count > 0)
        recorder_entered();
    if (count_ret != NULL)
        *count_ret = count;
    for (cl_uint index = 0; platforms != NULL && index < count && index < room; ++index)
        platforms[index] = listed[index];
    return count > 0 ? CL_SUCCESS : CL_PLATFORM_NOT_FOUND_KHR;
}

static void *CL_API_CALL function_for_platform(cl_platform_id platform, const char *name)
{
    void *function = platform != NULL && name != NULL ? drivers_function_for(platform, name) : NULL;
    return function != NULL ? tables_in_front(platform, name, function) : NULL;
}

static cl_int CL_API_CALL set_dispatch(cl_platform_id platform, void *data)
{
    return drivers_set_dispatch(platform, data);
}

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size,
                                                           void *value, size_t *size_ret)
{
    if (in_front.clGetPlatformInfo != real_functions.clGetPlatformInfo)
        return in_front.clGetPlatformInfo(platform, what, size, value, size_ret);
    return drivers_platform_info(platform, what, size, value, size_ret);
}

EXPORTED CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } OWN[] = {
        {"clIcdGetPlatformIDsKHR", (void *)get_platforms},
        {"clIcdGetFunctionAddressForPlatformKHR", (void *)function_for_platform},
        {"clIcdSetPlatformDispatchDataKHR", (void *)set_dispatch},
        {"clGetPlatformInfo", (void *)clGetPlatformInfo},
    };
    for (size_t index = 0; name != NULL && index < sizeof OWN / sizeof OWN[0]; ++index)
        if (strcmp(name, OWN[index].name) == 0)
            return OWN[index].function;
    return name != NULL && below != NULL ? in_front.clGetExtensionFunctionAddress(name) : NULL;
}
