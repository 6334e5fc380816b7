/* The extension's name in the extension strings, and its functions behind their names. */
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/layer/layer.h"
#include "opencl_layer/recorder/recorder.h"

#include <CL/cl_codeplay_program_snapshot.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char EXTENSION[] = CL_CODEPLAY_PROGRAM_SNAPSHOT_EXTENSION_NAME;
static bool is_offered; /* not in an application that is captured: it finds what it finds without the layer */

/* Asks the object (a platform or a device) below this layer. */
typedef cl_int (*query)(void *object, cl_uint name, size_t size, void *value, size_t *size_ret);

static cl_int query_platform(void *platform, cl_uint name, size_t size, void *value, size_t *size_ret)
{
    return below->clGetPlatformInfo(platform, name, size, value, size_ret);
}

static cl_int query_device(void *device, cl_uint name, size_t size, void *value, size_t *size_ret)
{
    return below->clGetDeviceInfo(device, name, size, value, size_ret);
}

static cl_int answer(const void *value, size_t size, size_t room, void *value_ret, size_t *size_ret)
{
    if (value_ret != NULL) {
        if (room < size)
            return CL_INVALID_VALUE;
        memcpy(value_ret, value, size);
    }
    if (size_ret != NULL)
        *size_ret = size;
    return CL_SUCCESS;
}

/* Asks for the driver's answer, with `more` bytes of room behind it; NULL and an error if there is none. */
static void *driver_answer(query ask, void *object, cl_uint name, size_t more, size_t *size, cl_int *error)
{
    *error = ask(object, name, 0, NULL, size);
    if (*error != CL_SUCCESS)
        return NULL;
    FREED unsigned char *value = malloc(*size + more);
    *error = value == NULL ? CL_OUT_OF_HOST_MEMORY : ask(object, name, *size, value, NULL);
    return *error == CL_SUCCESS ? GIVE(value) : NULL;
}

static cl_int extension_string(query ask, void *object, cl_uint name, size_t room, void *value_ret, size_t *size_ret)
{
    size_t size = 0;
    cl_int error;
    FREED char *value = driver_answer(ask, object, name, sizeof EXTENSION + 2, &size, &error);
    if (value == NULL)
        return error;
    value[size] = '\0';
    size_t length = strlen(value);
    while (length > 0 && value[length - 1] == ' ')
        --length;
    if (length > 0)
        value[length++] = ' ';
    memcpy(value + length, EXTENSION, sizeof EXTENSION);
    return answer(value, length + sizeof EXTENSION, room, value_ret, size_ret);
}

static cl_int extension_versions(query ask, void *object, cl_uint name, size_t room, void *value_ret, size_t *size_ret)
{
    cl_name_version entry = {.version = CL_MAKE_VERSION(2, 0, 0)};
    memcpy(entry.name, EXTENSION, sizeof EXTENSION);
    size_t size = 0;
    cl_int error;
    FREED unsigned char *value = driver_answer(ask, object, name, sizeof entry, &size, &error);
    if (value == NULL)
        return error;
    memcpy(value + size, &entry, sizeof entry);
    return answer(value, size + sizeof entry, room, value_ret, size_ret);
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info name, size_t size, void *value,
                                            size_t *size_ret)
{
    if (name == CL_PLATFORM_EXTENSIONS)
        return extension_string(query_platform, platform, name, size, value, size_ret);
    if (name == CL_PLATFORM_EXTENSIONS_WITH_VERSION)
        return extension_versions(query_platform, platform, name, size, value, size_ret);
    return below->clGetPlatformInfo(platform, name, size, value, size_ret);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t size, void *value,
                                          size_t *size_ret)
{
    if (name == CL_DEVICE_EXTENSIONS)
        return extension_string(query_device, device, name, size, value, size_ret);
    if (name == CL_DEVICE_EXTENSIONS_WITH_VERSION)
        return extension_versions(query_device, device, name, size, value, size_ret);
    return below->clGetDeviceInfo(device, name, size, value, size_ret);
}

static void *extension_function(const char *name)
{
    if (!is_offered)
        return NULL;
    if (strcmp(name, "clRequestProgramSnapshotListCODEPLAY") == 0)
        return (void *)request_snapshot_list;
    if (strcmp(name, "clRequestProgramSnapshotCODEPLAY") == 0)
        return (void *)request_snapshot;
    return NULL;
}

static void *in_front(cl_platform_id platform, const char *name, void *function)
{
    if (strcmp(name, "clCreateProgramWithILKHR") == 0)
        return create_program_with_il_khr(platform, function);
    return recorder_function(platform, name, function);
}

static void *CL_API_CALL get_function_for_platform(cl_platform_id platform, const char *name)
{
    void *ours = name != NULL ? extension_function(name) : NULL;
    if (ours != NULL)
        return ours;
    void *function = below->clGetExtensionFunctionAddressForPlatform(platform, name);
    return function != NULL ? in_front(platform, name, function) : NULL;
}

/* The platform whose function of that name this is; NULL if it is none's. */
static cl_platform_id platform_with(const char *name, const void *function)
{
    cl_platform_id platforms[16];
    const cl_uint room = sizeof platforms / sizeof *platforms;
    cl_uint count = 0;
    if (below->clGetPlatformIDs(room, platforms, &count) != CL_SUCCESS)
        return NULL;
    for (cl_uint index = 0; index < count && index < room; ++index)
        if (below->clGetExtensionFunctionAddressForPlatform(platforms[index], name) == function)
            return platforms[index];
    return NULL;
}

static void *CL_API_CALL get_function(const char *name)
{
    void *ours = name != NULL ? extension_function(name) : NULL;
    if (ours != NULL)
        return ours;
    void *function = below->clGetExtensionFunctionAddress(name);
    cl_platform_id platform = function != NULL ? platform_with(name, function) : NULL;
    return platform != NULL ? in_front(platform, name, function) : function;
}

void queries_hook(cl_icd_dispatch *dispatch)
{
    const char *wanted = getenv("KERNLENS_SNAPSHOTS");
    is_offered = wanted == NULL || strcmp(wanted, "0") != 0;
    if (is_offered) {
        dispatch->clGetPlatformInfo = get_platform_info;
        dispatch->clGetDeviceInfo = get_device_info;
    }
    dispatch->clGetExtensionFunctionAddressForPlatform = get_function_for_platform;
    dispatch->clGetExtensionFunctionAddress = get_function;
}
