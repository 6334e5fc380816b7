#include "opencl_layer/layer/collecting.h"

#include "base/elf_sections.h"
#include "base/files.h"
#include "base/folders.h"
#include "base/owned.h"
#include "base/problems.h"
#include "base/text.h"
#include "base/tools.h"
#include "opencl_layer/program_queries.h"

#include <string.h>

void collect_source(const struct request *request, struct snapshots *snapshots)
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
    static const char *const TOOLS[] = {"spirv-dis", NULL};
    static const char *const ARGUMENTS_BEFORE[] = {"--no-color", "--raw-id", NULL};
    RELEASED_BY(folder_release) char *folder = folder_make();
    FREED char *path = folder != NULL ? text_format("%s/module.spv", folder) : NULL;
    FREED char *text = folder != NULL ? text_format("%s/module.spvasm", folder) : NULL;
    return path != NULL && text != NULL && file_write(path, module->bytes, module->size) &&
           tool_run(TOOLS, ARGUMENTS_BEFORE, path, text) && snapshots_add_file(snapshots, text, stage->text, NULL);
}

void collect_spirv(const struct request *request, const struct outcome *built, struct snapshots *snapshots)
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

void collect_binary(const struct request *request, const struct outcome *built, struct snapshots *snapshots)
{
    const struct stage *stage = request->form.stage;
    struct view container;
    FREED unsigned char *bytes = binary_of(request, built, &container.size);
    container.bytes = bytes;
    struct view part = stage->dump != NULL ? elf_section_named(&container, stage->dump)
                                           : elf_section_of_type(&container, ELF_OPENCL_DEVICE_BINARY);
    if (part.bytes == NULL && stage->dump == NULL)
        part = container;
    if (part.bytes != NULL)
        snapshots_add_copy(snapshots, part.bytes, part.size, stage->binary, NULL);
    else if (built->status != CL_SUCCESS)
        problem(stage->name, "the build failed (%d)", built->status);
    else
        problem(stage->name, "the program's binary does not hold it");
}

void tell_failure(const struct request *request, cl_int status)
{
    problem(request->form.stage->name, "the build failed (%d) before it came to this stage", status);
}

void collect_dumps(const struct request *request, const char *folder, const char *answer,
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
