#include "opencl_layer/layer/requests.h"

#include "base/bytes.h"
#include "base/children.h"
#include "base/elf_sections.h"
#include "base/files.h"
#include "base/folders.h"
#include "base/locks.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/layer/own_build.h"
#include "opencl_layer/second_build/second_build.h"

#include <stdlib.h>
#include <string.h>

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
                      .options = building->options,
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
    serving->own_begun = needed && alone && serving->second == NULL && compiles(building) &&
                         own_build_begin(request->program, &request->form);
    if (needed && !serving->own_begun)
        start_second_build(serving, building);
    if (!serving->own_begun)
        builds_share(); /* again, if this thread is in a callback of a build */
}

void serving_built(struct serving *serving)
{
    if (serving->own_begun)
        serving->own_folder = own_build_end(&serving->request.form);
    else
        builds_unshare();
}

static void collect_source(const struct request *request, struct snapshots *snapshots)
{
    const struct stage *stage = request->form.stage;
    size_t size = 0;
    char *source = program_source(request->program, &size);
    if (source != NULL)
        snapshots_add(snapshots, source, size, stage->text, NULL);
    else
        problem(stage->name, "the program was not made from source");
}

/* Adds the module as assembly if the tools for it are there. */
static bool add_spirv_text(const struct stage *stage, const struct view *module, struct snapshots *snapshots)
{
    static const char *const ARGUMENTS_BEFORE[] = {"--no-color", "--raw-id", NULL};
    RELEASED_BY(folder_release) char *folder = folder_make();
    FREED char *path = folder != NULL ? text_format("%s/module.spv", folder) : NULL;
    FREED char *text = folder != NULL ? text_format("%s/module.spvasm", folder) : NULL;
    return path != NULL && text != NULL && file_write(path, module->bytes, module->size) &&
           tool_run("spirv-dis", ARGUMENTS_BEFORE, path, text) && snapshots_add_file(snapshots, text, stage->text, NULL);
}

/* Takes the module from the program's IL or from the binary of what was built. */
static void collect_spirv(const struct request *request, const struct outcome *built, struct snapshots *snapshots)
{
    const struct stage *stage = request->form.stage;
    struct view module = {0}, container = {0};
    FREED char *il = program_il(request->program, &module.size);
    FREED unsigned char *binary = il == NULL && built->program != NULL
                                      ? program_binary(built->program, request->device, &container.size)
                                      : NULL;
    container.bytes = binary;
    module.bytes = (const unsigned char *)il;
    if (il == NULL)
        module = elf_section_of_type(&container, ELF_OPENCL_SPIRV);
    if (module.bytes == NULL)
        problem(stage->name, "neither the program nor its binary holds a SPIR-V module");
    else if (!request->form.text || stage->text == NULL || !add_spirv_text(stage, &module, snapshots))
        snapshots_add_copy(snapshots, module.bytes, module.size, stage->binary, NULL);
}

/* Reads the binary of a build that succeeded; NULL if it has none. */
static unsigned char *binary_of(const struct request *request, const struct outcome *built, size_t *size)
{
    *size = 0;
    return built->program != NULL && built->status == CL_SUCCESS ? program_binary(built->program, request->device, size)
                                                                 : NULL;
}

/* Takes the program's binary, or the part of it that is the stage. */
static void collect_binary(const struct request *request, const struct outcome *built, struct snapshots *snapshots)
{
    const struct stage *stage = request->form.stage;
    struct view container;
    FREED unsigned char *bytes = binary_of(request, built, &container.size);
    container.bytes = bytes;
    struct view part = stage->dump != NULL ? elf_section_named(&container, stage->dump)
                                           : elf_section_of_type(&container, ELF_OPENCL_DEVICE_BINARY);
    if (part.bytes == NULL && stage->dump == NULL)
        part = container;
    bool is_text = stage->binary == NULL;
    while (is_text && part.size > 0 && part.bytes[part.size - 1] == '\0') /* a C string */
        --part.size;
    if (part.bytes != NULL)
        snapshots_add_copy(snapshots, part.bytes, part.size, is_text ? stage->text : stage->binary, NULL);
    else if (built->status != CL_SUCCESS)
        problem(stage->name, "the build failed (%d)", built->status);
    else
        problem(stage->name, "the program's binary does not hold it");
}

/* Takes what the driver's cache has of the program's binary. */
static void collect_cached(const struct request *request, const struct outcome *built, struct snapshots *snapshots)
{
    const struct stage *stage = request->form.stage;
    struct view binary;
    FREED unsigned char *bytes = binary_of(request, built, &binary.size);
    binary.bytes = bytes;
    if (bytes != NULL)
        request->form.compiler->collect(&request->form, NULL, &binary, snapshots);
    if (snapshots->count > 0)
        return;
    if (built->status != CL_SUCCESS)
        problem(stage->name, "the build failed (%d)", built->status);
    else
        problem(stage->name, "the driver's cache has no entry, or several, of exactly this program");
}

/* Tells the user that the build failed before it came to the stage. */
static void tell_failure(const struct request *request, cl_int status)
{
    problem(request->form.stage->name, "the build failed (%d) before it came to this stage", status);
}

/* Takes what the compiler left in a folder. `answer` says why a second build failed, if it did; else it is empty. */
static void collect_dumps(const struct request *request, const char *folder, const char *answer,
                          const struct outcome *built, struct snapshots *snapshots)
{
    const struct stage *stage = request->form.stage;
    if (folder_full(folder)) {
        problem(stage->name, "the folder for the compiler's files is full (%s)", folder);
        return;
    }
    bool needs_binary = stage->per_kernel && !request->form.compiler->kernels_on_query;
    struct view binary = {0};
    FREED unsigned char *bytes = needs_binary ? binary_of(request, built, &binary.size) : NULL;
    binary.bytes = bytes;
    request->form.compiler->collect(&request->form, folder, &binary, snapshots);
    if (snapshots->count > 0)
        return;
    if (built->status != CL_SUCCESS)
        tell_failure(request, built->status);
    else if (answer[0] != '\0')
        problem(stage->name, "the second build failed: %s", answer);
    else
        problem(stage->name, "the compiler wrote nothing for it%s",
                strcmp(stage->name, "debug") == 0 ? "; debug data needs -g or -gline-tables-only" : "");
}

/* Tells whether the application's build was to keep the stage and did not. */
static bool own_yielded_nothing(const struct serving *serving)
{
    return serving->own_begun && serving->own_folder == NULL;
}

static void collect_from_compiler(struct serving *serving, const struct outcome *built, struct snapshots *snapshots)
{
    if (serving->own_folder != NULL)
        collect_dumps(&serving->request, serving->own_folder, "", built, snapshots);
    else if (own_yielded_nothing(serving) && built->status != CL_SUCCESS)
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
    if (own_yielded_nothing(serving) && built->status == CL_SUCCESS)
        start_second_build(serving, building); /* the driver's cache answered the application's build */
    switch (request->form.stage->origin) {
    case ORIGIN_SOURCE:
        collect_source(request, &snapshots);
        break;
    case ORIGIN_SPIRV:
        if (serving->own_folder != NULL || serving->second != NULL)
            collect_from_compiler(serving, built, &snapshots);
        if (snapshots.count == 0)
            collect_spirv(request, built, &snapshots);
        break;
    case ORIGIN_BINARY:
        collect_binary(request, built, &snapshots);
        break;
    case ORIGIN_CACHE:
        collect_cached(request, built, &snapshots);
        break;
    case ORIGIN_COMPILER:
        collect_from_compiler(serving, built, &snapshots);
        break;
    }
    /* Nothing is held while the application is called: it may itself build programs. */
    second_build_free(serving->second);
    serving->second = NULL;
    folder_release(&serving->own_folder);
    serving->own_folder = NULL;
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
