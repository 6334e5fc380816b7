/* The extension cl_codeplay_program_snapshot: its two functions, its name in the extension strings, and functions behind their names. */
#include "base/elf_sections.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/layer/layer.h"
#include "opencl_layer/layer/own_build.h"
#include "opencl_layer/layer/programs.h"
#include "opencl_layer/recorder/recorder.h"
#include "opencl_layer/second_build/second_build.h"
#include "opencl_layer/vendor/tables.h"

#include <CL/cl_codeplay_program_snapshot.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { WAITING_BUILDS = 4 }; /* processes started ahead of the builds they wait for */

/* Tells whether the device is of the program's context; CL_INVALID_PROGRAM if there is none: drivers read whatever a handle points to. */
static cl_int check_device(cl_program program, cl_device_id device)
{
    cl_context context = NULL;
    size_t size = 0;
    if (!program_is_known(program) ||
        below->clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
        return CL_INVALID_PROGRAM;
    if (below->clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size) != CL_SUCCESS)
        return CL_INVALID_VALUE;
    FREED cl_device_id *devices = malloc(size);
    if (devices == NULL || below->clGetContextInfo(context, CL_CONTEXT_DEVICES, size, devices, NULL) != CL_SUCCESS)
        return CL_INVALID_VALUE;
    for (size_t index = 0; index < size / sizeof *devices; ++index)
        if (devices[index] == device)
            return CL_SUCCESS;
    return CL_INVALID_DEVICE;
}

/* Tells whether the program is built, and with options that leave debug data out. */
static bool is_built_without_debug(cl_program program, cl_device_id device)
{
    cl_build_status status = CL_BUILD_NONE;
    size_t size = 0;
    if (program_is_unbuilt(program) ||
        below->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL) != CL_SUCCESS ||
        status != CL_BUILD_SUCCESS ||
        below->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &size) != CL_SUCCESS)
        return false;
    FREED char *options = calloc(1, size + 1);
    if (options == NULL ||
        below->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, size, options, NULL) != CL_SUCCESS)
        return false;
    for (const char *word = strstr(options, "-g"); word != NULL; word = strstr(word + 1, "-g"))
        if (word == options || word[-1] == ' ')
            return false;
    return true;
}

/* Tells whether the stage can come. A compiler that keeps no SPIR-V of what it compiles gives only what the program was made
 * from. */
static bool can_come(const struct stage *stage, const struct compiler *compiler, cl_program program, cl_device_id device)
{
    if (stage->origin != ORIGIN_SPIRV || compiler->spirv_from_source)
        return true;
    size_t size = 0;
    FREED char *il = program_il(program, &size);
    struct view container = {0};
    FREED char *source = il == NULL ? program_source(program, &size) : NULL;
    FREED unsigned char *binary =
        il == NULL && source == NULL ? program_binary(program, device, &container.size) : NULL;
    container.bytes = binary;
    return il != NULL || elf_section_of_type(&container, ELF_OPENCL_SPIRV).bytes != NULL;
}

/* The errors of both functions come in the order of the extension's own tests. */
static cl_int CL_API_CALL request_snapshot_list(cl_program program, cl_device_id device, const char **stages,
                                                cl_uint *num_stages)
{
    if (program == NULL)
        return CL_INVALID_PROGRAM;
    if (device == NULL)
        return CL_INVALID_DEVICE;
    if (stages == NULL && num_stages == NULL)
        return CL_INVALID_ARG_VALUE;
    cl_int error = check_device(program, device);
    if (error != CL_SUCCESS)
        return error;
    if (stages != NULL && num_stages != NULL && *num_stages == 0)
        return CL_INVALID_VALUE;
    const struct compiler *compiler = compiler_of(device);
    cl_uint room = stages == NULL ? 0 : num_stages != NULL ? *num_stages : compiler->count;
    cl_uint count = 0;
    for (cl_uint index = 0; index < compiler->count; ++index) {
        const struct stage *stage = &compiler->stages[index];
        if ((stages != NULL && count == room) || !can_come(stage, compiler, program, device) ||
            (strcmp(stage->name, "debug") == 0 && is_built_without_debug(program, device)))
            continue;
        if (stages != NULL)
            stages[count] = stage->name;
        ++count;
    }
    if (stages == NULL)
        *num_stages = count;
    return CL_SUCCESS;
}

static bool compiled_already(cl_program program, cl_device_id device)
{
    cl_build_status status = CL_BUILD_NONE;
    return !program_is_unbuilt(program) &&
           below->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL) ==
               CL_SUCCESS &&
           status != CL_BUILD_NONE;
}

/* Tells whether a request with this format means the stage's text form. */
static bool means_text(const struct stage *stage, cl_uint format)
{
    if (stage->text == NULL || stage->binary == NULL)
        return stage->text != NULL;
    if (format == CL_PROGRAM_BINARY_FORMAT_DEFAULT_CODEPLAY)
        return stage->text_first;
    return format == CL_PROGRAM_BINARY_FORMAT_TEXT_CODEPLAY;
}

static cl_int CL_API_CALL request_snapshot(cl_program program, cl_device_id device, const char *stage, cl_uint format,
                                           cl_codeplay_snapshot_callback_t callback, void *user_data)
{
    if (program == NULL)
        return CL_INVALID_PROGRAM;
    if (device == NULL)
        return CL_INVALID_DEVICE;
    cl_int error = check_device(program, device);
    if (error != CL_SUCCESS)
        return error;
    if (stage == NULL || format > CL_PROGRAM_BINARY_FORMAT_TEXT_CODEPLAY || callback == NULL)
        return CL_INVALID_ARG_VALUE;
    struct request request = {
        .program = program,
        .device = device,
        .form = {.compiler = compiler_of(device)},
        .callback = callback,
        .user_data = user_data,
    };
    request.form.stage = stage_named(request.form.compiler, stage);
    if (request.form.stage == NULL || !can_come(request.form.stage, request.form.compiler, program, device))
        return CL_INVALID_ARG_VALUE;
    if (compiled_already(program, device))
        return CL_INVALID_PROGRAM_EXECUTABLE;
    request.form.text = means_text(request.form.stage, format);
    /* Where a second build is to be expected, its process loads the driver meanwhile. */
    struct second_build *waiting = NULL;
    if (stage_needs_dumps(&request.form) && !own_build_possible(&request.form) && programs_waiting() < WAITING_BUILDS)
        waiting = second_build_start(device, &request.form, false);
    if (program_put_request(&request, waiting))
        return CL_SUCCESS;
    second_build_free(waiting);
    return CL_OUT_OF_HOST_MEMORY;
}

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
    return info_answer(value, length + sizeof EXTENSION, room, value_ret, size_ret);
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
    return info_answer(value, size + sizeof entry, room, value_ret, size_ret);
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
    if (strcmp(name, "clCreateProgramWithILKHR") == 0 && (function != NULL || recorder_translates_il()))
        return create_program_with_il_khr(platform, function);
    return function != NULL ? recorder_function(platform, name, tables_in_front(platform, name, function)) : NULL;
}

static void *CL_API_CALL get_function_for_platform(cl_platform_id platform, const char *name)
{
    void *ours = name != NULL ? extension_function(name) : NULL;
    if (ours != NULL)
        return ours;
    void *function = below->clGetExtensionFunctionAddressForPlatform(platform, name);
    return name != NULL ? in_front(platform, name, function) : NULL;
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

void extension_hook(cl_icd_dispatch *dispatch)
{
    const char *setting = getenv("KERNLENS_SNAPSHOTS");
    is_offered = setting == NULL || strcmp(setting, "0") != 0;
    if (is_offered) {
        programs_track();
        dispatch->clGetPlatformInfo = get_platform_info;
        dispatch->clGetDeviceInfo = get_device_info;
    }
    dispatch->clGetExtensionFunctionAddressForPlatform = get_function_for_platform;
    dispatch->clGetExtensionFunctionAddress = get_function;
}
