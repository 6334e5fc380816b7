/* The entry points by which an OpenCL loader finds the layer.
 *
 * Debian's loader wants clGetLayerInfo and clInitLayer; the Khronos loader also clInitLayerWithProperties and
 * clDeinitLayer. The layer's table is a copy of the table below it with a few functions replaced, so whatever the loader
 * knows, this file does not, passes through.
 */
#include "opencl_layer/layer/layer.h"

#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/recorder.h"

#include <CL/cl_layer.h>

#include <stdlib.h>
#include <string.h>

/* The Khronos loader's, which CL/cl_layer.h does not declare. */
CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint num_entries, const cl_icd_dispatch *target_dispatch,
                                                          cl_uint *num_entries_ret,
                                                          const cl_icd_dispatch **layer_dispatch_ret,
                                                          const void *properties);
CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void);

static const char NAME[] = "kernlens program snapshots";

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info param_name, size_t param_value_size,
                                                        void *param_value, size_t *param_value_size_ret)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const void *value;
    size_t size;
    switch (param_name) {
    case CL_LAYER_API_VERSION:
        value = &version;
        size = sizeof version;
        break;
    case CL_LAYER_NAME:
        value = NAME;
        size = sizeof NAME;
        break;
    default:
        return CL_INVALID_VALUE;
    }
    if (param_value != NULL) {
        if (param_value_size < size)
            return CL_INVALID_VALUE;
        memcpy(param_value, value, size);
    }
    if (param_value_size_ret != NULL)
        *param_value_size_ret = size;
    return CL_SUCCESS;
}

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const cl_icd_dispatch *target_dispatch,
                                                     cl_uint *num_entries_ret,
                                                     const cl_icd_dispatch **layer_dispatch_ret)
{
    static cl_icd_dispatch *table;
    const size_t known = sizeof *table / sizeof(void *);
    if (target_dispatch == NULL || num_entries_ret == NULL || layer_dispatch_ret == NULL || num_entries == 0)
        return CL_INVALID_VALUE;
    if (table == NULL) {
        /* The loader may know fewer functions than this header, or more. */
        size_t entries = num_entries > known ? num_entries : known;
        FREED cl_icd_dispatch *hooked = calloc(entries, sizeof(void *));
        FREED cl_icd_dispatch *copy = calloc(entries, sizeof(void *));
        if (hooked == NULL || copy == NULL)
            return CL_OUT_OF_HOST_MEMORY;
        memcpy(copy, target_dispatch, num_entries * sizeof(void *));
        memcpy(hooked, target_dispatch, num_entries * sizeof(void *));
        extension_hook(hooked);
        programs_hook(hooked);
        builds_hook(hooked);
        below = GIVE(copy);
        recorder_hook(hooked, entries);
        table = GIVE(hooked);
    }
    *layer_dispatch_ret = table;
    *num_entries_ret = num_entries;
    return CL_SUCCESS;
}

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint num_entries,
                                                                   const cl_icd_dispatch *target_dispatch,
                                                                   cl_uint *num_entries_ret,
                                                                   const cl_icd_dispatch **layer_dispatch_ret,
                                                                   const void *properties)
{
    (void)properties;
    return clInitLayer(num_entries, target_dispatch, num_entries_ret, layer_dispatch_ret);
}

EXPORTED CL_API_ENTRY cl_int CL_API_CALL clDeinitLayer(void)
{
    return CL_SUCCESS; /* applications call OpenCL from destructors, after this: the tables stay */
}
