#include "capture.h"

#include "constants.h"
#include "elf_sections.h"
#include "files.h"
#include "own_dumps.h"
#include "problems.h"
#include "program_queries.h"
#include "replay.h"
#include "tools.h"

#include <stdlib.h>
#include <string.h>

/* Source or IL of a program to build, the binary of a compiled one to link. False if it has none of them. */
static bool write_program(struct writer *job, enum job_operation operation, cl_program program, cl_device_id device)
{
    size_t size = 0;
    enum program_form form = FORM_BINARY;
    char *bytes = NULL;
    if (operation == JOB_LINK)
        bytes = (char *)program_binary(program, device, &size);
    else if ((bytes = program_source(program, &size)) != NULL)
        form = FORM_SOURCE;
    else if ((bytes = program_il(program, &size)) != NULL)
        form = FORM_IL;
    write_number(job, form);
    write_block(job, bytes, bytes != NULL ? size : 0);
    constants_write(program, job);
    free(bytes);
    return bytes != NULL;
}

static void start_replay(struct request *request, const struct building *building)
{
    struct writer job = {0};
    write_number(&job, building->operation);
    write_number(&job, request->compiler->kernels_on_query && request->stage->per_kernel);
    write_text(&job, building->options != NULL ? building->options : "");
    write_number(&job, building->count);
    bool complete = true;
    for (cl_uint index = 0; index < building->count; ++index)
        complete = write_program(&job, building->operation, building->programs[index], request->device) && complete;
    if (complete && request->replay == NULL)
        request->replay = replay_start(request, true);
    bool started = complete && request->replay != NULL && replay_build(request->replay, &job);
    writer_free(&job);
    if (started)
        return;
    if (!complete && request->stage->origin != ORIGIN_SPIRV)
        problem(request->stage->name, building->operation == JOB_LINK
                                          ? "an input of the link has no binary for this device"
                                          : "the program comes from a binary, so nothing is compiled");
    replay_free(request->replay);
    request->replay = NULL;
}

/* Whether the driver will compile something: a program from a binary is only loaded. */
static bool compiles(const struct building *building)
{
    size_t size = 0;
    char *source = building->operation == JOB_BUILD ? program_source(building->programs[0], &size) : NULL;
    if (building->operation == JOB_BUILD && source == NULL)
        source = program_il(building->programs[0], &size);
    free(source);
    return building->operation == JOB_LINK || source != NULL;
}

void capture_start(struct request *request, const struct building *building, bool alone)
{
    bool needed = replay_needed(request->compiler, request->stage, request->text);
    request->own_folder = NULL;
    request->own_begun = needed && alone && request->replay == NULL && compiles(building) && own_dumps_begin(request);
    if (needed && !request->own_begun)
        start_replay(request, building);
    if (!request->own_begun)
        own_dumps_pass_begin();
}

void capture_built(struct request *request)
{
    if (!request->own_begun) {
        own_dumps_pass_end();
        return;
    }
    request->own_folder = own_dumps_end(request);
}

/* Whether the application's own build was to keep the stage and did not. */
static bool kept_nothing(const struct request *request)
{
    return request->own_begun && request->own_folder == NULL;
}

static void collect_source(const struct request *request, struct snapshots *snapshots)
{
    size_t size = 0;
    char *source = program_source(request->program, &size);
    if (source != NULL)
        snapshots_add(snapshots, source, size, request->stage->text, NULL);
    else
        problem(request->stage->name, "the program was not made from source");
}

/* Adds the module as assembly if the tools for it are there. */
static bool add_spirv_text(const struct request *request, const struct binary *module, struct snapshots *snapshots)
{
    static const char *const TOOLS[] = {"spirv-dis", NULL};
    static const char *const ARGUMENTS_BEFORE[] = {"--no-color", "--raw-id", NULL};
    char *folder = folder_make();
    char *path = folder != NULL ? text_format("%s/module.spv", folder) : NULL;
    char *text = folder != NULL ? text_format("%s/module.spvasm", folder) : NULL;
    bool added = path != NULL && text != NULL && file_write(path, module->bytes, module->size) &&
                 tool_run(TOOLS, ARGUMENTS_BEFORE, path, text) == 0 &&
                 snapshots_add_file(snapshots, text, request->stage->text, NULL);
    if (folder != NULL)
        folder_remove(folder);
    free(text);
    free(path);
    free(folder);
    return added;
}

static void collect_spirv(const struct request *request, cl_program built, struct snapshots *snapshots)
{
    size_t il_size = 0, binary_size = 0;
    char *il = program_il(request->program, &il_size);
    unsigned char *bytes = il == NULL && built != NULL ? program_binary(built, request->device, &binary_size) : NULL;
    struct binary container = {.bytes = bytes, .size = binary_size};
    struct binary module = il != NULL ? (struct binary){.bytes = (unsigned char *)il, .size = il_size}
                                      : elf_section_of_type(&container, ELF_OPENCL_SPIRV);
    if (module.bytes == NULL)
        problem(request->stage->name, "neither the program nor its binary holds a SPIR-V module");
    else if (!request->text || request->stage->text == NULL || !add_spirv_text(request, &module, snapshots))
        snapshots_add_copy(snapshots, module.bytes, module.size, request->stage->binary, NULL);
    free(bytes);
    free(il);
}

static void collect_binary(const struct request *request, cl_program built, cl_int status, struct snapshots *snapshots)
{
    size_t size = 0;
    unsigned char *bytes =
        built != NULL && status == CL_SUCCESS ? program_binary(built, request->device, &size) : NULL;
    struct binary container = {.bytes = bytes, .size = size};
    struct binary part = request->stage->dump != NULL ? elf_section_named(&container, request->stage->dump)
                                                      : elf_section_of_type(&container, ELF_OPENCL_DEVICE_BINARY);
    if (part.bytes == NULL && request->stage->dump == NULL)
        part = container;
    if (part.bytes != NULL)
        snapshots_add_copy(snapshots, part.bytes, part.size, request->stage->binary, NULL);
    else if (status != CL_SUCCESS)
        problem(request->stage->name, "the build failed (%d)", status);
    else
        problem(request->stage->name, "the program's binary does not hold it");
    free(bytes);
}

static void collect_from_compiler(const struct request *request, cl_program built, cl_int status,
                                  struct snapshots *snapshots)
{
    const char *folder = request->own_folder;
    if (kept_nothing(request) && status != CL_SUCCESS)
        problem(request->stage->name, "the build failed (%d) before it came to this stage", status);
    if (folder == NULL && (request->replay == NULL || !replay_wait(request->replay)))
        return;
    if (folder == NULL)
        folder = replay_folder(request->replay);
    size_t size = 0;
    const struct compiler *compiler = request->compiler;
    unsigned char *bytes = request->stage->per_kernel && !compiler->kernels_on_query && built != NULL && status == CL_SUCCESS
                               ? program_binary(built, request->device, &size)
                               : NULL;
    struct binary binary = {.bytes = bytes, .size = size};
    bool full = folder_full(folder);
    if (!full)
        compiler->collect(request->stage, request->text, folder, &binary, snapshots);
    free(bytes);
    if (full)
        problem(request->stage->name, "the folder for the compiler's files is full (%s)", folder);
    else if (snapshots->count == 0 && status != CL_SUCCESS)
        problem(request->stage->name, "the build failed (%d) before it came to this stage", status);
    else if (snapshots->count == 0 && request->replay != NULL && replay_answer(request->replay)[0] != '\0')
        problem(request->stage->name, "the second build failed: %s", replay_answer(request->replay));
    else if (snapshots->count == 0)
        problem(request->stage->name, "the compiler wrote nothing for it%s",
                strcmp(request->stage->name, "debug") == 0 ? "; debug data needs -g or -gline-tables-only" : "");
}

/* Calls back with nothing held: the callback may itself build programs. */
static void deliver(struct request *request, struct snapshots *snapshots)
{
    replay_free(request->replay);
    request->replay = NULL;
    if (request->own_folder != NULL)
        folder_remove(request->own_folder);
    free(request->own_folder);
    request->own_folder = NULL;
    for (size_t index = 0; index < snapshots->count; ++index) {
        const struct snapshot *snapshot = &snapshots->items[index];
        request->callback(snapshot->size, snapshot->bytes, snapshot->label, request->user_data);
    }
    snapshots_free(snapshots);
}

void capture_finish(struct request *request, const struct building *building, cl_program built, cl_int status)
{
    struct snapshots snapshots = {0};
    if (kept_nothing(request) && status == CL_SUCCESS)
        start_replay(request, building);
    switch (request->stage->origin) {
    case ORIGIN_SOURCE:
        collect_source(request, &snapshots);
        break;
    case ORIGIN_SPIRV:
        if (request->own_folder != NULL || request->replay != NULL)
            collect_from_compiler(request, built, status, &snapshots);
        if (snapshots.count == 0)
            collect_spirv(request, built, &snapshots);
        break;
    case ORIGIN_BINARY:
        collect_binary(request, built, status, &snapshots);
        break;
    case ORIGIN_COMPILER:
        collect_from_compiler(request, built, status, &snapshots);
        break;
    }
    deliver(request, &snapshots);
}

bool capture_compiled(struct request *request, cl_int status)
{
    struct snapshots snapshots = {0};
    if (request->stage->origin == ORIGIN_SOURCE)
        collect_source(request, &snapshots);
    else if (request->stage->origin == ORIGIN_SPIRV && status == CL_SUCCESS)
        collect_spirv(request, request->program, &snapshots);
    bool served = snapshots.count > 0;
    if (served)
        request_delivered(request->program);
    deliver(request, &snapshots);
    return served;
}
