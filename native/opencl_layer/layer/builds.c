/* clBuildProgram, clCompileProgram, clLinkProgram: snapshots are taken around the driver's own work.
 *
 * A build with a notification may go on after its call returned. When a snapshot is wanted, the layer waits for the end, calls
 * the snapshot's callback and then the application's notification, both on the calling thread.
 */
#include "base/locks.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/layer/layer.h"
#include "opencl_layer/layer/programs.h"
#include "opencl_layer/layer/requests.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>

/* Tells whether a build for these devices (NULL: for all of the program's) is one for this device. */
static bool builds_for(cl_device_id device, cl_uint count, const cl_device_id *devices)
{
    for (cl_uint index = 0; devices != NULL && index < count; ++index)
        if (devices[index] == device)
            return true;
    return devices == NULL;
}

/* Stands in for the application's notification. */
struct completion {
    sem_t done;
};

static void CL_CALLBACK complete(cl_program program, void *user_data)
{
    (void)program;
    struct completion *completion = user_data;
    sem_post(&completion->done);
}

static void completion_init(struct completion *completion)
{
    sem_init(&completion->done, 0, 0);
}

/* Waits, after the driver's function returned: a build that it took will notify, one that it refused will not. Tells whether it
 * did. */
static bool completion_await(struct completion *completion, bool taken)
{
    int done = taken ? sem_wait(&completion->done) : sem_trywait(&completion->done);
    while (done != 0 && errno == EINTR)
        done = taken ? sem_wait(&completion->done) : sem_trywait(&completion->done);
    sem_destroy(&completion->done);
    return done == 0;
}

/* Returns what a build came to that its function called a success when it began. */
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

static struct outcome outcome_of(cl_int status, cl_program program, cl_device_id device, cl_int failure)
{
    return (struct outcome){.program = program, .status = final_status(status, program, device, failure)};
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id *devices,
                                        const char *options,
                                        void(CL_CALLBACK *notify)(cl_program program, void *user_data), void *user_data)
{
    struct request request;
    struct serving serving;
    program_set_built(program);
    if (!program_find_request(program, &request) || !builds_for(request.device, count, devices) ||
        !serving_take(&serving, program)) {
        builds_share();
        cl_int status = below->clBuildProgram(program, count, devices, options, notify, user_data);
        builds_unshare();
        return status;
    }
    const struct building building = {.operation = JOB_BUILD, .options = options, .count = 1, .programs = &program};
    struct completion completion;
    completion_init(&completion);
    serving_start(&serving, &building, true);
    cl_int status = below->clBuildProgram(program, count, devices, options, notify != NULL ? complete : NULL,
                                          notify != NULL ? &completion : user_data);
    bool notified = completion_await(&completion, notify != NULL && status == CL_SUCCESS);
    serving_built(&serving);
    struct outcome built = outcome_of(status, program, serving.request.device, CL_BUILD_PROGRAM_FAILURE);
    serving_finish(&serving, &building, &built);
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
    program_set_built(program);
    if (!program_find_request(program, &request) || !builds_for(request.device, count, devices)) {
        builds_share();
        cl_int status = below->clCompileProgram(program, count, devices, options, header_count, headers, header_names,
                                                notify, user_data);
        builds_unshare();
        return status;
    }
    struct completion completion;
    completion_init(&completion);
    builds_share();
    cl_int status =
        below->clCompileProgram(program, count, devices, options, header_count, headers, header_names,
                                notify != NULL ? complete : NULL, notify != NULL ? &completion : user_data);
    bool notified = completion_await(&completion, notify != NULL && status == CL_SUCCESS);
    builds_unshare();
    serve_compiled(&request, final_status(status, program, request.device, CL_COMPILE_PROGRAM_FAILURE));
    if (notified)
        notify(program, user_data);
    return status;
}

/* The requests of a link's inputs that their compiles did not serve. */
struct servings {
    struct serving *items;
    size_t count;
};

static struct servings servings_of(cl_uint program_count, const cl_program *programs, cl_uint device_count,
                                   const cl_device_id *devices)
{
    struct servings servings = {0};
    for (cl_uint index = 0; programs != NULL && index < program_count; ++index) {
        struct request request;
        if (!program_find_request(programs[index], &request) || program_is_served(programs[index]) ||
            request.form.stage->origin == ORIGIN_SOURCE || !builds_for(request.device, device_count, devices))
            continue;
        if (servings.items == NULL)
            servings.items = calloc(program_count, sizeof *servings.items);
        if (servings.items != NULL && serving_take(&servings.items[servings.count], programs[index]))
            ++servings.count;
    }
    return servings;
}

static void finish_link(const struct servings *servings, const struct building *building, cl_program linked, cl_int error)
{
    for (size_t index = 0; index < servings->count; ++index)
        serving_built(&servings->items[index]);
    for (size_t index = 0; index < servings->count; ++index) {
        struct serving *serving = &servings->items[index];
        struct outcome built = outcome_of(error, linked, serving->request.device, CL_LINK_PROGRAM_FAILURE);
        serving_finish(serving, building, &built);
    }
}

static cl_program CL_API_CALL link_program(cl_context context, cl_uint device_count, const cl_device_id *devices,
                                           const char *options, cl_uint program_count, const cl_program *programs,
                                           void(CL_CALLBACK *notify)(cl_program program, void *user_data),
                                           void *user_data, cl_int *error_ret)
{
    struct servings servings = servings_of(program_count, programs, device_count, devices);
    FREED struct serving *items = servings.items;
    if (servings.count == 0) {
        builds_share();
        cl_program linked = below->clLinkProgram(context, device_count, devices, options, program_count, programs,
                                                 notify, user_data, error_ret);
        builds_unshare();
        if (linked != NULL)
            program_begins(linked);
        return linked;
    }
    const struct building building = {
        .operation = JOB_LINK, .options = options, .count = program_count, .programs = programs};
    struct completion completion;
    completion_init(&completion);
    for (size_t index = 0; index < servings.count; ++index)
        serving_start(&items[index], &building, servings.count == 1);
    cl_int error = CL_SUCCESS;
    cl_program linked = below->clLinkProgram(context, device_count, devices, options, program_count, programs,
                                             notify != NULL ? complete : NULL, notify != NULL ? &completion : user_data,
                                             &error);
    bool notified = completion_await(&completion, notify != NULL && error == CL_SUCCESS && linked != NULL);
    if (linked != NULL)
        program_begins(linked);
    finish_link(&servings, &building, linked, error);
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
