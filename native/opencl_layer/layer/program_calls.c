/* The beginning and end of programs: a handle may be used again, and then has nothing to do with the earlier program. */
#include "base/locks.h"
#include "opencl_layer/below.h"
#include "opencl_layer/layer/layer.h"
#include "opencl_layer/layer/programs.h"
#include "opencl_layer/recorder/recorder.h"
#include "opencl_layer/vendor/tables.h"

static cl_program new_program(cl_program program)
{
    if (program != NULL) {
        program_begins(program);
        recorder_new_program(program);
    }
    return program;
}

static cl_program CL_API_CALL create_with_source(cl_context context, cl_uint count, const char **strings,
                                                 const size_t *lengths, cl_int *error_ret)
{
    return new_program(below->clCreateProgramWithSource(context, count, strings, lengths, error_ret));
}

static cl_program CL_API_CALL create_with_binary(cl_context context, cl_uint count, const cl_device_id *devices,
                                                 const size_t *lengths, const unsigned char **binaries,
                                                 cl_int *binary_status, cl_int *error_ret)
{
    cl_program program = new_program(
        below->clCreateProgramWithBinary(context, count, devices, lengths, binaries, binary_status, error_ret));
    if (program != NULL)
        program_set_unbuilt(program);
    return program;
}

static cl_program CL_API_CALL create_with_builtin_kernels(cl_context context, cl_uint count,
                                                          const cl_device_id *devices, const char *names,
                                                          cl_int *error_ret)
{
    return new_program(below->clCreateProgramWithBuiltInKernels(context, count, devices, names, error_ret));
}

static cl_program CL_API_CALL create_with_il(cl_context context, const void *il, size_t length, cl_int *error_ret)
{
    return new_program(below->clCreateProgramWithIL(context, il, length, error_ret));
}

typedef cl_program(CL_API_CALL *create_with_il_fn)(cl_context context, const void *il, size_t length,
                                                   cl_int *error_ret);

/* Each platform's clCreateProgramWithILKHR. */
enum { PLATFORMS = 16 };
static struct {
    cl_platform_id platform;
    create_with_il_fn create;
} il_platforms[PLATFORMS];
static unsigned il_platform_count;

static create_with_il_fn create_of(cl_platform_id platform)
{
    create_with_il_fn create = NULL;
    lock_take(LOCK_PLATFORMS);
    for (unsigned index = 0; index < il_platform_count; ++index)
        if (il_platforms[index].platform == platform)
            create = il_platforms[index].create;
    lock_give(LOCK_PLATFORMS);
    return create;
}

static cl_platform_id platform_of(cl_context context)
{
    cl_device_id devices[64];
    size_t size = 0;
    cl_platform_id platform = NULL;
    if (below->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &size) == CL_SUCCESS &&
        size >= sizeof *devices)
        below->clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    return platform;
}

static cl_program CL_API_CALL create_with_il_khr(cl_context context, const void *il, size_t length, cl_int *error_ret)
{
    cl_int error = CL_SUCCESS;
    cl_program program = recorder_replace_il(context, il, length, &error);
    create_with_il_fn create = create_of(platform_of(context));
    if (program == NULL && error == CL_SUCCESS && create == NULL)
        error = CL_INVALID_CONTEXT; /* none of a platform that ever gave the function out */
    if (error_ret != NULL)
        *error_ret = error;
    return program != NULL || error != CL_SUCCESS ? program : new_program(tables_seen(context, create(context, il, length, error_ret)));
}

void *create_program_with_il_khr(cl_platform_id platform, void *of_platform)
{
    void *function = (void *)create_with_il_khr;
    if (of_platform == NULL || create_of(platform) != NULL)
        return function;
    lock_take(LOCK_PLATFORMS);
    if (il_platform_count < PLATFORMS) {
        il_platforms[il_platform_count].platform = platform;
        il_platforms[il_platform_count].create = (create_with_il_fn)of_platform;
        ++il_platform_count;
    } else {
        function = of_platform;
    }
    lock_give(LOCK_PLATFORMS);
    return function;
}

static cl_int CL_API_CALL set_constant(cl_program program, cl_uint identifier, size_t size, const void *value)
{
    cl_int status = below->clSetProgramSpecializationConstant(program, identifier, size, value);
    if (status == CL_SUCCESS && value != NULL)
        program_keep_constant(program, identifier, size, value);
    return status;
}

static cl_int CL_API_CALL release_program(cl_program program)
{
    cl_uint references = 0;
    if (program != NULL && program_is_known(program) &&
        below->clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, sizeof references, &references, NULL) ==
            CL_SUCCESS &&
        references == 1)
        program_forget(program); /* it ends here */
    return below->clReleaseProgram(program);
}

void programs_hook(cl_icd_dispatch *dispatch)
{
    dispatch->clCreateProgramWithSource = create_with_source;
    dispatch->clCreateProgramWithBinary = create_with_binary;
    dispatch->clCreateProgramWithBuiltInKernels = create_with_builtin_kernels;
    dispatch->clCreateProgramWithIL = create_with_il;
    dispatch->clSetProgramSpecializationConstant = set_constant;
    dispatch->clReleaseProgram = release_program;
}
