/* Intel's OpenCL runtime for CPUs: what makes it write a stage, and which file is the stage. */
#define _GNU_SOURCE
#include "files.h"
#include "own_dumps.h"
#include "stages.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
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

/* The CPU runtime's variables. They are in the environment from when the layer is loaded, as the runtime reads the first of them
 * only once; to switch a dump on, one letter is changed: setenv() might move the environment while another thread reads it. */
enum { VARIABLES = 4, VARIABLE_SIZE = 512 };
static char variables[VARIABLES][VARIABLE_SIZE];
static const char *const VARIABLE_NAMES[VARIABLES] = {"CL_CONFIG_DUMP_FILE_NAME_PREFIX", "CL_CONFIG_DUMP_ASM",
                                                      "CL_CONFIG_DUMP_BIN", "CL_CONFIG_DUMP_DISASSEMBLY"};

/* Whether these variables are the user's, not those that this layer put into a parent process's environment. */
static bool variables_of_the_user(void)
{
    const char *prefix = getenv(VARIABLE_NAMES[0]);
    bool set = prefix != NULL;
    for (int index = 1; index < VARIABLES; ++index)
        set = set || getenv(VARIABLE_NAMES[index]) != NULL;
    return set && (prefix == NULL || strstr(prefix, FOLDER_MARK) == NULL);
}

static void clear_variables(void)
{
    for (int index = 1; index < VARIABLES; ++index)
        variables[index][strlen(variables[index]) - 1] = '0';
}

__attribute__((constructor)) static void put_variables(void)
{
    const char *folder = own_dumps_folder();
    if (folder == NULL || variables_of_the_user())
        return;
    int length = snprintf(variables[0], VARIABLE_SIZE, "%s=%s/program", VARIABLE_NAMES[0], folder);
    if (length >= VARIABLE_SIZE) {
        variables[0][0] = '\0';
        return;
    }
    for (int index = 1; index < VARIABLES; ++index)
        snprintf(variables[index], VARIABLE_SIZE, "%s=0", VARIABLE_NAMES[index]);
    for (int index = 0; index < VARIABLES; ++index)
        putenv(variables[index]);
    pthread_atfork(NULL, NULL, clear_variables);
}

bool cpu_setting(const char *setting)
{
    return (uintptr_t)setting >= (uintptr_t)variables && (uintptr_t)setting < (uintptr_t)(variables + VARIABLES);
}

static bool own_possible(const struct stage *stage)
{
    return variables[0][0] != '\0' && !stage->changes_binary;
}

/* Copies the settings' last letters: "0" or "1". */
static bool own_begin(cl_program program, const struct environment *wanted)
{
    (void)program;
    for (int index = 1; index < VARIABLES; ++index)
        for (size_t setting = 0; setting < wanted->count; ++setting) {
            size_t length = strlen(variables[index]);
            if (strncmp(wanted->settings[setting], variables[index], length - 1) == 0)
                variables[index][length - 1] = wanted->settings[setting][length - 1];
        }
    return !wanted->failed;
}

static bool own_end(const char *folder)
{
    (void)folder;
    clear_variables();
    return true;
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
    .own_possible = own_possible,
    .own_begin = own_begin,
    .own_end = own_end,
};
