#include "opencl_layer/layer/serving.h"

#include "base/folders.h"
#include "base/owned.h"
#include "base/problems.h"
#include "opencl_layer/layer/kept_build.h"
#include "opencl_layer/program_queries.h"
#include "opencl_layer/second_build/second_build.h"

#include <stdlib.h>

bool serving_take(struct serving *serving, cl_program program)
{
    *serving = (struct serving){0};
    return program_take_request(program, &serving->request, &serving->second);
}

/* Writes source or IL of a program to build, the binary of a compiled one to link. False if it has none of them. */
static bool write_program(struct writer *job, enum job_operation operation, cl_program program, cl_device_id device)
{
    struct view view = {0};
    enum program_form form = FORM_BINARY;
    FREED char *bytes = NULL;
    if (operation == JOB_LINK)
        bytes = (char *)program_binary(program, device, &view.size);
    else if ((bytes = program_source(program, &view.size)) != NULL)
        form = FORM_SOURCE;
    else if ((bytes = program_il(program, &view.size)) != NULL)
        form = FORM_IL;
    view.bytes = (const unsigned char *)bytes;
    program_write(program, form, &view, job);
    return bytes != NULL;
}

/* Starts the second build, or has the one that waits begin. */
static void start_second_build(struct serving *serving, const struct building *building)
{
    const struct request *request = &serving->request;
    const struct stage *stage = request->form.stage;
    struct job job = {.operation = building->operation,
                      .queries_binary = request->form.compiler->kernels_on_query && stage->per_kernel,
                      .options = building->options != NULL ? building->options : "",
                      .count = building->count};
    RELEASED_BY(writer_free) struct writer written = {0};
    job_write(&written, &job);
    bool complete = true;
    for (cl_uint index = 0; index < building->count; ++index)
        complete = write_program(&written, job.operation, building->programs[index], request->device) && complete;
    if (complete && serving->second == NULL)
        serving->second = second_build_start(request->device, &request->form, true);
    if (complete && serving->second != NULL && second_build_run(serving->second, &written))
        return;
    if (!complete && stage->origin != ORIGIN_SPIRV)
        problem(stage->name, job.operation == JOB_LINK ? "an input of the link has no binary for this device"
                                                       : "the program comes from a binary, so nothing is compiled");
    second_build_free(serving->second);
    serving->second = NULL;
}

/* Tells whether the driver will compile something: a program from a binary is only loaded. */
static bool compiles(const struct building *building)
{
    if (building->operation == JOB_LINK)
        return true;
    size_t size = 0;
    FREED char *source = program_source(building->programs[0], &size);
    FREED char *il = source == NULL ? program_il(building->programs[0], &size) : NULL;
    return source != NULL || il != NULL;
}

void serving_start(struct serving *serving, const struct building *building, bool alone)
{
    const struct request *request = &serving->request;
    bool needed = stage_needs_dumps(&request->form);
    serving->kept_begun = needed && alone && serving->second == NULL && compiles(building) &&
                          kept_build_begin(request->program, &request->form);
    if (needed && !serving->kept_begun)
        start_second_build(serving, building);
    if (!serving->kept_begun)
        other_build_begin();
}

void serving_built(struct serving *serving)
{
    if (serving->kept_begun)
        serving->kept_folder = kept_build_end(&serving->request.form);
    else
        other_build_end();
}

/* Tells whether the application's build was to keep the stage and did not. */
static bool kept_nothing(const struct serving *serving)
{
    return serving->kept_begun && serving->kept_folder == NULL;
}

static void collect_from_compiler(struct serving *serving, const struct outcome *built, struct snapshots *snapshots)
{
    if (serving->kept_folder != NULL)
        collect_dumps(&serving->request, serving->kept_folder, "", built, snapshots);
    else if (kept_nothing(serving) && built->status != CL_SUCCESS)
        tell_failure(&serving->request, built->status);
    else if (serving->second != NULL && second_build_wait(serving->second)) {
        const char *answer = second_build_answer(serving->second);
        /* A build that was refused has no stages: those of a second build that was not are another build's. */
        if (built->status != CL_SUCCESS && answer[0] == '\0')
            tell_failure(&serving->request, built->status);
        else
            collect_dumps(&serving->request, second_build_folder(serving->second), answer, built, snapshots);
    }
}

/* Calls back for each snapshot. */
static void deliver(const struct request *request, const struct snapshots *snapshots)
{
    for (size_t index = 0; index < snapshots->count; ++index) {
        const struct snapshot *snapshot = &snapshots->items[index];
        request->callback(snapshot->size, snapshot->bytes, snapshot->label, request->user_data);
    }
}

void serving_finish(struct serving *serving, const struct building *building, const struct outcome *built)
{
    const struct request *request = &serving->request;
    RELEASED_BY(snapshots_free) struct snapshots snapshots = {0};
    if (kept_nothing(serving) && built->status == CL_SUCCESS)
        start_second_build(serving, building); /* the driver's cache answered the application's build */
    switch (request->form.stage->origin) {
    case ORIGIN_SOURCE:
        collect_source(request, &snapshots);
        break;
    case ORIGIN_SPIRV:
        if (serving->kept_folder != NULL || serving->second != NULL)
            collect_from_compiler(serving, built, &snapshots);
        if (snapshots.count == 0)
            collect_spirv(request, built, &snapshots);
        break;
    case ORIGIN_BINARY:
        collect_binary(request, built, &snapshots);
        break;
    case ORIGIN_COMPILER:
        collect_from_compiler(serving, built, &snapshots);
        break;
    }
    /* Nothing is held while the application is called: it may itself build programs. */
    second_build_free(serving->second);
    serving->second = NULL;
    folder_release(&serving->kept_folder);
    serving->kept_folder = NULL;
    deliver(request, &snapshots);
}

void serve_compiled(const struct request *request, cl_int status)
{
    RELEASED_BY(snapshots_free) struct snapshots snapshots = {0};
    if (request->form.stage->origin == ORIGIN_SOURCE)
        collect_source(request, &snapshots);
    else if (request->form.stage->origin == ORIGIN_SPIRV && status == CL_SUCCESS)
        collect_spirv(request, &(struct outcome){.program = request->program, .status = status}, &snapshots);
    if (snapshots.count > 0)
        program_set_served(request->program);
    deliver(request, &snapshots);
}
