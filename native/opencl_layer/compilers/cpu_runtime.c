/* Intel's OpenCL runtime for CPUs: what makes it write a stage, and which file is the stage. */
#define _GNU_SOURCE
#include "base/bytes.h"
#include "base/files.h"
#include "base/owned.h"
#include "opencl_layer/compilers/stages.h"

#include <string.h>

/* `dump`: of the stages from the program's binary, the section (NULL: all of it); of the others, the file's ending. */
static const struct stage CPU_STAGES[] = {
    {.name = "source", .text = ".cl", .text_first = true, .origin = ORIGIN_SOURCE},
    {.name = "llvm", .binary = ".bc", .origin = ORIGIN_BINARY, .dump = ".ocl.ir"},
    {.name = "assembly", .text = ".s", .text_first = true, .origin = ORIGIN_COMPILER, .dump = ".s"},
    {.name = "object", .binary = ".o", .origin = ORIGIN_COMPILER, .dump = ".bin"},
    {.name = "disassembly", .text = ".asm", .text_first = true, .origin = ORIGIN_COMPILER, .dump = ".asm"},
    {.name = "program", .binary = ".bin", .origin = ORIGIN_BINARY},
};

/* The runtime's variables, each of a stage but the first, which names the folder. They are for second builds alone: set in the
 * application's environment, they would reach every process that it starts, and the environment may move while another of its
 * threads reads it. */
enum { VARIABLES = 4 };
static const struct {
    const char *name, *stage;
} VARIABLE[VARIABLES] = {
    {"CL_CONFIG_DUMP_FILE_NAME_PREFIX", NULL},
    {"CL_CONFIG_DUMP_ASM", "assembly"},
    {"CL_CONFIG_DUMP_BIN", "object"},
    {"CL_CONFIG_DUMP_DISASSEMBLY", "disassembly"},
};

static void set_dumps(struct environment *environment, const struct stage_form *form, const char *folder)
{
    environment_set(environment, VARIABLE[0].name, "%s/program", folder);
    for (int index = 1; index < VARIABLES; ++index)
        environment_set(environment, VARIABLE[index].name, "%d", strcmp(form->stage->name, VARIABLE[index].stage) == 0);
}

static void collect(const struct stage_form *form, const char *folder, const struct view *binary,
                    struct snapshots *snapshots)
{
    (void)binary;
    RELEASED_BY(file_names_free) struct file_names names = {0};
    file_names_read(folder, &names);
    for (size_t index = 0; index < names.count; ++index) {
        const char *ending = strrchr(names.items[index], '.');
        if (ending == NULL || strcmp(ending, form->stage->dump) != 0)
            continue;
        FREED char *path = text_format("%s/%s", folder, names.items[index]);
        if (path != NULL)
            snapshots_add_file(snapshots, path, form->text ? form->stage->text : form->stage->binary, NULL);
    }
}

const struct compiler cpu_runtime_compiler = {
    .name = "intel-cpu",
    .stages = CPU_STAGES,
    .count = sizeof CPU_STAGES / sizeof *CPU_STAGES,
    .set_dumps = set_dumps,
    .collect = collect,
};
