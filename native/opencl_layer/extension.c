/* The two functions of cl_codeplay_program_snapshot. The errors come in the order of the extension's own tests. */
#include "layer.h"
#include "own_dumps.h"
#include "replay.h"
#include "requests.h"
#include "unbuilt.h"

#include <stdlib.h>

enum { WAITING_BUILDS = 4 }; /* processes started ahead of the builds they wait for */

/* Whether the device belongs to the program's context; CL_INVALID_PROGRAM if there is no such program. */
static cl_int check_device(cl_program program, cl_device_id device)
{
    cl_context context = NULL;
    size_t size = 0;
    if (below->clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
        return CL_INVALID_PROGRAM;
    if (below->clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size) != CL_SUCCESS)
        return CL_INVALID_VALUE;
    cl_device_id *devices = malloc(size);
    if (devices == NULL || below->clGetContextInfo(context, CL_CONTEXT_DEVICES, size, devices, NULL) != CL_SUCCESS) {
        free(devices);
        return CL_INVALID_VALUE;
    }
    cl_int error = CL_INVALID_DEVICE;
    for (size_t index = 0; index < size / sizeof *devices; ++index)
        if (devices[index] == device)
            error = CL_SUCCESS;
    free(devices);
    return error;
}

cl_int CL_API_CALL request_snapshot_list(cl_program program, cl_device_id device, const char **stages,
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
    if (stages == NULL) {
        *num_stages = compiler->count;
        return CL_SUCCESS;
    }
    cl_uint count = num_stages != NULL && *num_stages < compiler->count ? *num_stages : compiler->count;
    for (cl_uint index = 0; index < count; ++index)
        stages[index] = compiler->stages[index].name;
    return CL_SUCCESS;
}

static bool compiled_already(cl_program program, cl_device_id device)
{
    cl_build_status status = CL_BUILD_NONE;
    return !unbuilt_has(program) &&
           below->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL) ==
               CL_SUCCESS &&
           status != CL_BUILD_NONE;
}

cl_int CL_API_CALL request_snapshot(cl_program program, cl_device_id device, const char *stage, cl_uint format,
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
        .compiler = compiler_of(device),
        .callback = callback,
        .user_data = user_data,
    };
    request.stage = stage_named(request.compiler, stage);
    if (request.stage == NULL)
        return CL_INVALID_ARG_VALUE;
    if (compiled_already(program, device))
        return CL_INVALID_PROGRAM_EXECUTABLE;
    request.text = stage_as_text(request.stage, format);
    if (replay_needed(request.compiler, request.stage, request.text) && !own_dumps_possible(&request) &&
        requests_waiting() < WAITING_BUILDS)
        request.replay = replay_start(&request, false);
    if (!request_put(&request)) {
        replay_free(request.replay);
        return CL_OUT_OF_HOST_MEMORY;
    }
    return CL_SUCCESS;
}
