/* Intel's OpenCL runtime for CPUs: what makes it write a stage, and which file is the stage. */
#define _GNU_SOURCE
#include "base/files.h"
#include "base/folders.h"
#include "base/owned.h"
#include "base/text.h"
#include "opencl_layer/compilers/compilers.h"
#include "opencl_layer/compilers/kept_folder.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The runtime's variables, each of a stage but the first, which names the folder. */
enum { VARIABLES = 4, VARIABLE_SIZE = 512 };
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

/* The same variables in this process. They are in the environment from when the layer is loaded, as the runtime reads the first
 * of them only once; to switch a dump on, one letter is changed: setenv() might move the environment while another thread reads
 * it. */
static char variables[VARIABLES][VARIABLE_SIZE];

/* Tells whether these variables are the user's, not those that this layer put into a parent process's environment. */
static bool variables_of_the_user(void)
{
    const char *prefix = getenv(VARIABLE[0].name);
    bool set = prefix != NULL;
    for (int index = 1; index < VARIABLES; ++index)
        set = set || getenv(VARIABLE[index].name) != NULL;
    return set && (prefix == NULL || strstr(prefix, FOLDER_MARK) == NULL);
}

static void clear_variables(void)
{
    for (int index = 1; index < VARIABLES; ++index)
        variables[index][strlen(variables[index]) - 1] = '0';
}

__attribute__((constructor)) static void put_variables(void)
{
    const char *folder = kept_folder();
    if (folder == NULL || variables_of_the_user())
        return;
    int length = snprintf(variables[0], VARIABLE_SIZE, "%s=%s/program", VARIABLE[0].name, folder);
    if (length >= VARIABLE_SIZE) {
        variables[0][0] = '\0';
        return;
    }
    for (int index = 1; index < VARIABLES; ++index)
        snprintf(variables[index], VARIABLE_SIZE, "%s=0", VARIABLE[index].name);
    for (int index = 0; index < VARIABLES; ++index)
        putenv(variables[index]);
    pthread_atfork(NULL, NULL, clear_variables);
}

bool cpu_runtime_has_put(const char *setting)
{
    return (uintptr_t)setting >= (uintptr_t)variables && (uintptr_t)setting < (uintptr_t)(variables + VARIABLES);
}

static bool can_keep(const struct stage *stage)
{
    return variables[0][0] != '\0' && !stage->changes_binary;
}

/* Copies the settings' last letters: "0" or "1". */
static bool begin_keeping(const struct environment *wanted)
{
    for (int index = 1; index < VARIABLES; ++index)
        for (size_t setting = 0; setting < wanted->count; ++setting) {
            size_t length = strlen(variables[index]);
            if (strncmp(wanted->settings[setting], variables[index], length - 1) == 0)
                variables[index][length - 1] = wanted->settings[setting][length - 1];
        }
    return !wanted->failed;
}

static bool end_keeping(const char *folder)
{
    (void)folder;
    clear_variables();
    return true;
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
    .can_keep = can_keep,
    .begin_keeping = begin_keeping,
    .end_keeping = end_keeping,
};
