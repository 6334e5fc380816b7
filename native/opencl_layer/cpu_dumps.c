/* Intel's OpenCL runtime for CPUs: what makes it write a stage, and which file is the stage. */
#include "files.h"
#include "stages.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* `dump`: of the stages from the program's binary, the section (NULL: all of it); of the others, the file's ending. */
static const struct stage CPU_STAGES[] = {
    {.name = "source", .text = ".cl", .text_first = true, .origin = ORIGIN_SOURCE},
    {.name = "llvm", .binary = ".bc", .origin = ORIGIN_BINARY, .dump = ".ocl.ir"},
    {.name = "assembly",
     .text = ".s",
     .text_first = true,
     .origin = ORIGIN_COMPILER,
     .changes_binary = true,
     .dump = ".s"},
    {.name = "object", .binary = ".o", .origin = ORIGIN_COMPILER, .dump = ".bin"},
    {.name = "disassembly", .text = ".asm", .text_first = true, .origin = ORIGIN_COMPILER, .dump = ".asm"},
    {.name = "program", .binary = ".bin", .origin = ORIGIN_BINARY},
};

static void set_dumps(struct environment *environment, const struct stage *stage, bool text, const char *folder)
{
    (void)text;
    environment_set(environment, "CL_CONFIG_DUMP_FILE_NAME_PREFIX", "%s/program", folder);
    environment_set(environment, "CL_CONFIG_DUMP_ASM", "%d", strcmp(stage->name, "assembly") == 0);
    environment_set(environment, "CL_CONFIG_DUMP_BIN", "%d", strcmp(stage->name, "object") == 0);
    environment_set(environment, "CL_CONFIG_DUMP_DISASSEMBLY", "%d", strcmp(stage->name, "disassembly") == 0);
}

static void collect(const struct stage *stage, bool text, const char *folder, const struct binary *binary,
                    struct snapshots *snapshots)
{
    (void)binary;
    struct file_names names;
    if (!file_names_read(folder, &names))
        return;
    for (size_t index = 0; index < names.count; ++index) {
        const char *ending = strrchr(names.names[index], '.');
        if (ending == NULL || strcmp(ending, stage->dump) != 0)
            continue;
        char *path = text_format("%s/%s", folder, names.names[index]);
        if (path != NULL)
            snapshots_add_file(snapshots, path, text ? stage->text : stage->binary, NULL);
        free(path);
    }
    file_names_free(&names);
}

const struct compiler cpu_compiler = {
    .name = "intel-cpu",
    .stages = CPU_STAGES,
    .count = COUNT(CPU_STAGES),
    .set_dumps = set_dumps,
    .collect = collect,
};
