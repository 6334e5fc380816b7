/* The two functions of cl_codeplay_program_snapshot. The errors come in the order of the extension's own tests. */
#include "base/elf_sections.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/layer/kept_build.h"
#include "opencl_layer/layer/layer.h"
#include "opencl_layer/platforms.h"
#include "opencl_layer/program_queries.h"
#include "opencl_layer/layer/programs.h"
#include "opencl_layer/second_build/second_build.h"

#include <stdlib.h>

enum { WAITING_BUILDS = 4 }; /* processes started ahead of the builds they wait for */

/* Tells whether the device belongs to the program's context; CL_INVALID_PROGRAM if there is no such program. */
static cl_int check_device(cl_program program, cl_device_id device)
{
    cl_context context = NULL;
    size_t size = 0;
    if (below->clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
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
    cl_uint room = stages == NULL ? 0 : num_stages != NULL ? *num_stages : compiler->count;
    cl_uint count = 0;
    for (cl_uint index = 0; index < compiler->count; ++index) {
        const struct stage *stage = &compiler->stages[index];
        if ((stages != NULL && count == room) || !can_come(stage, compiler, program, device))
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
    if (stage_needs_dumps(&request.form) && !kept_build_possible(&request.form) && programs_waiting() < WAITING_BUILDS)
        waiting = second_build_start(device, &request.form, false);
    if (program_put_request(&request, waiting))
        return CL_SUCCESS;
    second_build_free(waiting);
    return CL_OUT_OF_HOST_MEMORY;
}
