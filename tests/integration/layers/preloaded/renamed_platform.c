/* An OpenCL layer that gives every platform another name, so that a compiler that is known looks like one that is not. */
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <stdlib.h>
#include <string.h>

static const char NAME[] = "Another platform";
static const cl_icd_dispatch *below;

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info name, size_t size, void *value,
                                            size_t *size_ret)
{
    if (name != CL_PLATFORM_NAME)
        return below->clGetPlatformInfo(platform, name, size, value, size_ret);
    if (value != NULL && size < sizeof NAME)
        return CL_INVALID_VALUE;
    if (value != NULL)
        memcpy(value, NAME, sizeof NAME);
    if (size_ret != NULL)
        *size_ret = sizeof NAME;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *size_ret)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (name != CL_LAYER_API_VERSION)
        return CL_INVALID_VALUE;
    if (value != NULL && size >= sizeof version)
        memcpy(value, &version, sizeof version);
    if (size_ret != NULL)
        *size_ret = sizeof version;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_ret,
                                            const cl_icd_dispatch **table_ret)
{
    cl_icd_dispatch *table = calloc(count, sizeof(void *));
    if (table == NULL)
        return CL_OUT_OF_HOST_MEMORY;
    memcpy(table, target, count * sizeof(void *));
    table->clGetPlatformInfo = get_platform_info;
    below = target;
    *table_ret = table;
    *count_ret = count;
    return CL_SUCCESS;
}
