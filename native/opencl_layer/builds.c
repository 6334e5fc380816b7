/* clBuildProgram, clCompileProgram, clLinkProgram: snapshots are taken around the driver's own work.
 *
 * A build with a notification may go on after its call returned. When a snapshot is wanted, the layer waits for the end, calls
 * the snapshot's callback and then the application's notification, both on the calling thread.
 */
#include "capture.h"
#include "layer.h"
#include "own_dumps.h"
#include "requests.h"
#include "unbuilt.h"

#include <pthread.h>
#include <stdlib.h>

/* Whether a build for these devices (NULL: for all of the program's) is one for this device. */
static bool builds_for(cl_device_id device, cl_uint count, const cl_device_id *devices)
{
    for (cl_uint index = 0; devices != NULL && index < count; ++index)
        if (devices[index] == device)
            return true;
    return devices == NULL;
}

/* Stands in for the application's notification. */
struct completion {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
};

static void CL_CALLBACK complete(cl_program program, void *user_data)
{
    (void)program;
    struct completion *completion = user_data;
    pthread_mutex_lock(&completion->lock);
    completion->done = true;
    pthread_cond_signal(&completion->changed);
    pthread_mutex_unlock(&completion->lock);
}

static void completion_init(struct completion *completion)
{
    pthread_mutex_init(&completion->lock, NULL);
    pthread_cond_init(&completion->changed, NULL);
    completion->done = false;
}

/* After the driver's function returned: a build that it took will notify, one that it refused will not. Returns whether it
 * did. */
static bool completion_await(struct completion *completion, bool taken)
{
    pthread_mutex_lock(&completion->lock);
    while (taken && !completion->done)
        pthread_cond_wait(&completion->changed, &completion->lock);
    bool done = completion->done;
    pthread_mutex_unlock(&completion->lock);
    pthread_cond_destroy(&completion->changed);
    pthread_mutex_destroy(&completion->lock);
    return done;
}

/* What a build came to that its function called a success when it began. */
static cl_int final_status(cl_int status, cl_program program, cl_device_id device, cl_int failure)
{
    cl_build_status build = CL_BUILD_NONE;
    if (status == CL_SUCCESS && program != NULL &&
        below->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof build, &build, NULL) ==
            CL_SUCCESS &&
        build == CL_BUILD_ERROR)
        return failure;
    return status;
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id *devices,
                                        const char *options,
                                        void(CL_CALLBACK *notify)(cl_program program, void *user_data), void *user_data)
{
    struct request request;
    unbuilt_remove(program);
    if (!request_find(program, &request) || !builds_for(request.device, count, devices) ||
        !request_take(program, &request)) {
        own_dumps_pass_begin();
        cl_int status = below->clBuildProgram(program, count, devices, options, notify, user_data);
        own_dumps_pass_end();
        return status;
    }
    const struct building building = {.operation = JOB_BUILD, .options = options, .count = 1, .programs = &program};
    struct completion completion;
    completion_init(&completion);
    capture_start(&request, &building, true);
    cl_int status = below->clBuildProgram(program, count, devices, options, notify != NULL ? complete : NULL,
                                          notify != NULL ? &completion : user_data);
    bool notified = completion_await(&completion, notify != NULL && status == CL_SUCCESS);
    capture_built(&request);
    capture_finish(&request, &building, program, final_status(status, program, request.device, CL_BUILD_PROGRAM_FAILURE));
    if (notified)
        notify(program, user_data);
    return status;
}

static cl_int CL_API_CALL compile_program(cl_program program, cl_uint count, const cl_device_id *devices,
                                          const char *options, cl_uint header_count, const cl_program *headers,
                                          const char **header_names,
                                          void(CL_CALLBACK *notify)(cl_program program, void *user_data),
                                          void *user_data)
{
    struct request request;
    unbuilt_remove(program);
    if (!request_find(program, &request) || !builds_for(request.device, count, devices)) {
        own_dumps_pass_begin();
        cl_int status = below->clCompileProgram(program, count, devices, options, header_count, headers, header_names,
                                                notify, user_data);
        own_dumps_pass_end();
        return status;
    }
    struct completion completion;
    completion_init(&completion);
    own_dumps_pass_begin();
    cl_int status =
        below->clCompileProgram(program, count, devices, options, header_count, headers, header_names,
                                notify != NULL ? complete : NULL, notify != NULL ? &completion : user_data);
    bool notified = completion_await(&completion, notify != NULL && status == CL_SUCCESS);
    own_dumps_pass_end();
    capture_compiled(&request, final_status(status, program, request.device, CL_COMPILE_PROGRAM_FAILURE));
    if (notified)
        notify(program, user_data);
    return status;
}

/* The requests of a link's inputs that their compiles did not serve. */
struct requests {
    struct request *items;
    size_t count;
};

static struct requests requests_of(cl_uint program_count, const cl_program *programs, cl_uint device_count,
                                   const cl_device_id *devices)
{
    struct requests found = {0};
    for (cl_uint index = 0; programs != NULL && index < program_count; ++index) {
        struct request request;
        if (!request_find(programs[index], &request) || request.delivered ||
            request.stage->origin == ORIGIN_SOURCE || !builds_for(request.device, device_count, devices))
            continue;
        if (found.items == NULL)
            found.items = calloc(program_count, sizeof *found.items);
        if (found.items != NULL && request_take(programs[index], &request))
            found.items[found.count++] = request;
    }
    return found;
}

static cl_program CL_API_CALL link_program(cl_context context, cl_uint device_count, const cl_device_id *devices,
                                           const char *options, cl_uint program_count, const cl_program *programs,
                                           void(CL_CALLBACK *notify)(cl_program program, void *user_data),
                                           void *user_data, cl_int *error_ret)
{
    struct requests requests = requests_of(program_count, programs, device_count, devices);
    if (requests.count == 0) {
        free(requests.items);
        own_dumps_pass_begin();
        cl_program linked = below->clLinkProgram(context, device_count, devices, options, program_count, programs,
                                                 notify, user_data, error_ret);
        own_dumps_pass_end();
        if (linked != NULL)
            request_forget(linked);
        return linked;
    }
    const struct building building = {
        .operation = JOB_LINK, .options = options, .count = program_count, .programs = programs};
    struct completion completion;
    completion_init(&completion);
    for (size_t index = 0; index < requests.count; ++index)
        capture_start(&requests.items[index], &building, requests.count == 1);
    cl_int error = CL_SUCCESS;
    cl_program linked = below->clLinkProgram(context, device_count, devices, options, program_count, programs,
                                             notify != NULL ? complete : NULL, notify != NULL ? &completion : user_data,
                                             &error);
    bool notified = completion_await(&completion, notify != NULL && error == CL_SUCCESS && linked != NULL);
    if (linked != NULL)
        request_forget(linked);
    for (size_t index = 0; index < requests.count; ++index)
        capture_built(&requests.items[index]);
    for (size_t index = 0; index < requests.count; ++index)
        capture_finish(&requests.items[index], &building, linked,
                       final_status(error, linked, requests.items[index].device, CL_LINK_PROGRAM_FAILURE));
    free(requests.items);
    if (notified)
        notify(linked, user_data);
    if (error_ret != NULL)
        *error_ret = error;
    return linked;
}

void builds_hook(cl_icd_dispatch *dispatch)
{
    dispatch->clBuildProgram = build_program;
    dispatch->clCompileProgram = compile_program;
    dispatch->clLinkProgram = link_program;
}
