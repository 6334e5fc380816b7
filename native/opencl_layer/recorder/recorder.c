/* The functions of OpenCL that a capture looks at. */
#define _GNU_SOURCE
#include "opencl_layer/recorder/recorder.h"

#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/kept/launches.h"
#include "opencl_layer/recorder/parts.h"
#include "recording/counters.h"
#include "recording/spool.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cl_icd_dispatch behind;      /* the functions in front of which the recorder stands */
static const cl_icd_dispatch *next; /* those; NULL: nothing is captured */

static cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id *devices,
                                        const char *options, notification notify, void *user_data)
{
    const char *added = added_to_build(program, count, devices);
    FREED char *extended = with_added(options, added, program, count, devices);
    struct build_event *event = build_event_begin("build", count, devices, options, extended != NULL ? added : NULL, extended);
    extended = with_observed(extended, options, event, program);
    build_event_start(event, program);
    struct build_call call = build_call_begin(event, false, notify, user_data);
    const char *own = extended != NULL ? extended : options;
    observed_build_begin();
    cl_int status = next->clBuildProgram(program, count, devices, own, call.notify, call.user_data);
    observed_build_end();
    build_call_end(&call, program, status);
    return status;
}

static cl_int CL_API_CALL compile_program(cl_program program, cl_uint count, const cl_device_id *devices,
                                          const char *options, cl_uint header_count, const cl_program *headers,
                                          const char **header_names, notification notify, void *user_data)
{
    const char *added = added_to_build(program, count, devices);
    FREED char *extended = with_added(options, added, program, count, devices);
    struct build_event *event = build_event_begin("compile", count, devices, options, extended != NULL ? added : NULL, extended);
    extended = with_observed(extended, options, event, program);
    for (cl_uint index = 0; headers != NULL && header_names != NULL && index < header_count; ++index)
        build_event_header(event, headers[index], header_names[index]);
    build_event_start(event, program);
    struct build_call call = build_call_begin(event, false, notify, user_data);
    const char *own = extended != NULL ? extended : options;
    observed_build_begin();
    cl_int status = next->clCompileProgram(program, count, devices, own, header_count, headers, header_names, call.notify,
                                           call.user_data);
    observed_build_end();
    build_call_end(&call, program, status);
    return status;
}

static cl_program CL_API_CALL link_program(cl_context context, cl_uint count, const cl_device_id *devices,
                                           const char *options, cl_uint program_count, const cl_program *programs,
                                           notification notify, void *user_data, cl_int *error_ret)
{
    const char *added = added_to_link(program_count, programs, count, devices, options);
    FREED char *extended = with_added(options, added, NULL, 0, NULL);
    struct build_event *event = build_event_begin("link", count, devices, options, extended != NULL ? added : NULL, extended);
    for (cl_uint index = 0; programs != NULL && index < program_count; ++index)
        build_event_input(event, programs[index]);
    build_event_start(event, NULL);
    struct build_call call = build_call_begin(event, true, notify, user_data);
    cl_int error = CL_SUCCESS;
    const char *own = extended != NULL ? extended : options;
    observed_build_begin();
    cl_program linked = next->clLinkProgram(context, count, devices, own, program_count, programs, call.notify, call.user_data,
                                            &error);
    observed_build_end();
    if (linked != NULL && call.notified == NULL)
        new_program(linked);
    build_call_end(&call, linked, error);
    if (error_ret != NULL)
        *error_ret = error;
    return linked;
}

static cl_program CL_API_CALL create_with_builtin_kernels(cl_context context, cl_uint count, const cl_device_id *devices,
                                                          const char *names, cl_int *error_ret)
{
    struct build_event *event = build_event_begin("built-in kernels", count, devices, names, NULL, NULL);
    cl_program program = next->clCreateProgramWithBuiltInKernels(context, count, devices, names, error_ret);
    if (program != NULL)
        build_event_end(event, program, CL_SUCCESS);
    else
        build_event_drop(event);
    return program;
}

static cl_int CL_API_CALL set_constant(cl_program program, cl_uint number, size_t size, const void *value)
{
    cl_int status = next->clSetProgramSpecializationConstant(program, number, size, value);
    if (status == CL_SUCCESS && value != NULL)
        constant_set(program, number, size, value);
    return status;
}

static void new_kernel(cl_kernel kernel, cl_program program, const char *name)
{
    counters_created(kernel, program, name);
    kept_kernel_created(kernel, program, name);
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *error_ret)
{
    cl_kernel kernel = next->clCreateKernel(program, name, error_ret);
    if (kernel != NULL)
        new_kernel(kernel, program, name);
    else
        observed_kernel_refused(program, name);
    return kernel;
}

/* Mangled names of C++ may have thousands of letters. */
static char *kernel_name(cl_kernel kernel)
{
    size_t size = 0;
    if (below->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, NULL, &size) != CL_SUCCESS || size == 0)
        return NULL;
    FREED char *name = malloc(size);
    bool known = name != NULL && below->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, size, name, NULL) == CL_SUCCESS;
    return known ? GIVE(name) : NULL;
}

static cl_int CL_API_CALL create_kernels(cl_program program, cl_uint count, cl_kernel *kernels, cl_uint *count_ret)
{
    cl_uint created = 0;
    cl_int status = next->clCreateKernelsInProgram(program, count, kernels, &created);
    if (count_ret != NULL && status == CL_SUCCESS)
        *count_ret = created;
    for (cl_uint index = 0; status == CL_SUCCESS && kernels != NULL && index < created && index < count; ++index) {
        FREED char *name = kernel_name(kernels[index]);
        if (name != NULL)
            new_kernel(kernels[index], program, name);
    }
    return status;
}

static cl_kernel CL_API_CALL clone_kernel(cl_kernel kernel, cl_int *error_ret)
{
    cl_kernel clone = next->clCloneKernel(kernel, error_ret);
    if (clone != NULL) {
        counters_cloned(clone, kernel);
        kept_kernel_cloned(clone, kernel);
    }
    return clone;
}

/* Counts a launch that the driver accepted with `event`; `own` is that if the application does not have it. */
static void count_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *global, const size_t *local,
                         const cl_event *event, const cl_event *own)
{
    struct shape shape = shape_of(dimensions, global, local);
    cl_device_id device = known_queue_device(queue);
    if (device != NULL)
        counters_launched(kernel, device, &shape);
    timed_launch(kernel, device, event != NULL ? *event : NULL, event == own);
}

static cl_int CL_API_CALL enqueue_range(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                        const size_t *global, const size_t *local, cl_uint count, const cl_event *events,
                                        cl_event *event)
{
    size_t chosen[3];
    const size_t *own = observed_local(queue, kernel, dimensions, global, local, chosen);
    cl_event own_event = NULL;
    struct launching launching = {queue, kernel, dimensions, offset, global, local, count, events, timed_event(event, &own_event)};
    struct kept_launch *launch = kept_launch_begin(&launching);
    cl_int status = next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, own, launching.count, launching.events,
                                                 launching.event);
    kept_launch_end(launch, status);
    if (status == CL_SUCCESS)
        count_launch(queue, kernel, dimensions, global, local, timed_event(event, &own_event), &own_event);
    return status;
}

static cl_int CL_API_CALL enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *events,
                                       cl_event *event)
{
    static const size_t ONE[] = {1};
    cl_event own_event = NULL;
    struct launching launching = {queue, kernel, 1, NULL, ONE, ONE, count, events, timed_event(event, &own_event)};
    struct kept_launch *launch = kept_launch_begin(&launching);
    cl_int status = next->clEnqueueTask(queue, kernel, launching.count, launching.events, launching.event);
    kept_launch_end(launch, status);
    if (status == CL_SUCCESS)
        count_launch(queue, kernel, 1, ONE, ONE, timed_event(event, &own_event), &own_event);
    return status;
}

void *recorder_function(cl_platform_id platform, const char *name, void *of_platform)
{
    if (next == NULL)
        return of_platform;
    void *function = simulated_memory_function(name, extension_launch_function(platform, name, of_platform));
    return kept_launches_function(platform, name, function);
}

void recorder_new_program(cl_program program)
{
    if (next != NULL)
        new_program(program);
}

cl_program recorder_replace_il(cl_context context, const void *il, size_t length, cl_int *error_ret)
{
    return replaced_program_from_il(context, il, length, error_ret);
}

bool recorder_translates_il(void)
{
    return next != NULL && modules_are_translated();
}

void recorder_hook(cl_icd_dispatch *dispatch)
{
    if (!spool_open())
        return;
    behind = *dispatch;
    next = &behind;
    added_options_open();
    counters_watch();
    extension_launches_watch();
    constants_watch();
    dispatch->clBuildProgram = build_program;
    dispatch->clCompileProgram = compile_program;
    dispatch->clLinkProgram = link_program;
    dispatch->clCreateProgramWithBuiltInKernels = create_with_builtin_kernels;
    dispatch->clSetProgramSpecializationConstant = set_constant;
    dispatch->clCreateKernel = create_kernel;
    dispatch->clCreateKernelsInProgram = create_kernels;
    dispatch->clCloneKernel = clone_kernel;
    dispatch->clEnqueueNDRangeKernel = enqueue_range;
    dispatch->clEnqueueTask = enqueue_task;
    queues_hook(dispatch, next);
    timed_launches_hook(dispatch, next);
    observed_programs_hook(dispatch, next);
    own_answers_hook(dispatch, next, options_are_added() || programs_are_observed());
    replaced_programs_hook(dispatch, next);
    simulated_memory_hook(dispatch, next);
    kept_launches_hook(dispatch, next);
    current_calls_hook(dispatch);
}

void recorder_entered(void)
{
    static _Atomic pid_t entered; /* loaders ask more than once */
    if (next != NULL && atomic_exchange(&entered, getpid()) != getpid())
        spool_here();
}
