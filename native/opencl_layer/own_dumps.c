#define _GNU_SOURCE
#include "own_dumps.h"

#include "files.h"
#include "igc_settings.h"
#include "layer.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t ROOM_WANTED = UINT64_C(1) << 28;

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* The CPU runtime's variables. They are in the environment from when the layer is loaded, as the runtime reads the first of them
 * only once; to switch a dump on, one letter is changed: setenv() might move the environment while another thread reads it. */
enum { VARIABLES = 4, VARIABLE_SIZE = 512 };
static char variables[VARIABLES][VARIABLE_SIZE];
static const char *const VARIABLE_NAMES[VARIABLES] = {"CL_CONFIG_DUMP_FILE_NAME_PREFIX", "CL_CONFIG_DUMP_ASM",
                                                      "CL_CONFIG_DUMP_BIN", "CL_CONFIG_DUMP_DISASSEMBLY"};

static pthread_rwlock_t building = PTHREAD_RWLOCK_INITIALIZER; /* held alone by a build that keeps a stage */
static char *folder; /* for its files; always the same, as both compilers keep the name they got first */
static struct igc_settings_before *before;
static bool variables_read;
static unsigned taken_before; /* folders */
static _Thread_local unsigned passing; /* how often this thread holds it with others */

/* Whether these variables are the user's, not those that this layer put into a parent process's environment. */
static bool variables_of_the_user(void)
{
    const char *prefix = getenv(VARIABLE_NAMES[0]);
    bool set = prefix != NULL;
    for (int index = 1; index < VARIABLES; ++index)
        set = set || getenv(VARIABLE_NAMES[index]) != NULL;
    return set && (prefix == NULL || strstr(prefix, FOLDER_MARK) == NULL);
}

__attribute__((constructor)) static void put_variables(void)
{
    folder = folder_name();
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
}

bool own_dumps_setting(const char *setting)
{
    return (uintptr_t)setting >= (uintptr_t)variables && (uintptr_t)setting < (uintptr_t)(variables + VARIABLES);
}

/* Copies the settings' last letters: "0" or "1". */
static bool set_variables(const struct environment *wanted)
{
    for (int index = 1; index < VARIABLES; ++index)
        for (size_t setting = 0; setting < wanted->count; ++setting) {
            size_t length = strlen(variables[index]);
            if (strncmp(wanted->settings[setting], variables[index], length - 1) == 0)
                variables[index][length - 1] = wanted->settings[setting][length - 1];
        }
    return !wanted->failed;
}

static void clear_variables(void)
{
    for (int index = 1; index < VARIABLES; ++index)
        variables[index][strlen(variables[index]) - 1] = '0';
}

/* Whether the user has IGC make dumps for himself; they are left alone. */
static bool igc_dumps_of_the_user(void)
{
    static const char *const NAMES[] = {
        "IGC_DumpToCustomDir",  "IGC_DumpToCurrentDir", "IGC_ShaderDumpEnable",   "IGC_ShaderDumpEnableAll",
        "IGC_DumpLLVMIR",       "IGC_EnableCosDump",    "IGC_DumpOCLProgramInfo", "IGC_EnableVISAOutput",
        "IGC_EnableVISABinary", "IGC_EnableCapsDump",   "IGC_DumpPatchTokens",    "IGC_EnableVISADumpCommonISA"};
    for (size_t index = 0; index < COUNT(NAMES); ++index)
        if (getenv(NAMES[index]) != NULL)
            return true;
    return false;
}

static bool igc_possible(const struct stage *stage)
{
    (void)stage;
    return !igc_dumps_of_the_user() && igc_settings_found();
}

/* Has IGC 1 read its variables, which it does at a process's first compile: read later, they would undo what is changed. A
 * question about the specialization constants of an empty SPIR-V module is enough. */
static void read_variables(cl_program program)
{
    enum { MAGIC = 0x07230203, VERSION = 0x00010000, CAPABILITY = 2 << 16 | 17, MEMORY_MODEL = 3 << 16 | 14 };
    enum { ADDRESSES = 4, KERNEL = 6, PHYSICAL64 = 2, OPENCL = 2 };
    static const uint32_t MODULE[] = {MAGIC,  VERSION,      0,          1,     0, CAPABILITY, ADDRESSES, CAPABILITY,
                                      KERNEL, MEMORY_MODEL, PHYSICAL64, OPENCL};
    cl_context context = NULL;
    if (variables_read || below == NULL || below->clCreateProgramWithIL == NULL ||
        below->clSetProgramSpecializationConstant == NULL ||
        below->clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
        return;
    variables_read = true;
    cl_program empty = below->clCreateProgramWithIL(context, MODULE, sizeof MODULE, NULL);
    if (empty == NULL)
        return;
    below->clSetProgramSpecializationConstant(empty, 0, sizeof *MODULE, MODULE); /* it has none: refused, once read */
    below->clReleaseProgram(empty);
}

static bool igc_begin(const struct request *request, const struct environment *wanted)
{
    read_variables(request->program);
    before = igc_settings_change(wanted);
    return before != NULL;
}

static bool igc_end(void)
{
    struct file_names names;
    igc_settings_restore(before);
    before = NULL;
    bool one = file_names_read(folder, &names) && igc_one_program(&names);
    file_names_free(&names);
    return one;
}

static bool cpu_possible(const struct stage *stage)
{
    return variables[0][0] != '\0' && !stage->changes_binary;
}

static bool cpu_begin(const struct request *request, const struct environment *wanted)
{
    (void)request;
    return set_variables(wanted);
}

static bool cpu_end(void)
{
    clear_variables();
    return true;
}

/* How each compiler is told, and after the build no longer; `end` says whether what is kept is the build's. */
static const struct way {
    const struct compiler *compiler;
    bool (*possible)(const struct stage *stage);
    bool (*begin)(const struct request *request, const struct environment *wanted);
    bool (*end)(void);
} WAYS[] = {
    {&igc_compiler, igc_possible, igc_begin, igc_end},
    {&cpu_compiler, cpu_possible, cpu_begin, cpu_end},
};

static const struct way *way_of(const struct compiler *compiler)
{
    for (size_t index = 0; index < COUNT(WAYS); ++index)
        if (WAYS[index].compiler == compiler)
            return &WAYS[index];
    return NULL;
}

/* Whether the user wants the process's own compiler left alone. */
static bool refused(void)
{
    const char *wanted = getenv("KERNLENS_SNAPSHOT_OWN_BUILD");
    return wanted != NULL && strcmp(wanted, "0") == 0;
}

bool own_dumps_possible(const struct request *request)
{
    const struct way *way = way_of(request->compiler);
    return way != NULL && folder != NULL && !refused() && way->possible(request->stage);
}

static bool switch_on(const struct request *request)
{
    struct environment wanted = {0};
    request->compiler->set_dumps(&wanted, request->stage, request->text, folder);
    bool on = way_of(request->compiler)->begin(request, &wanted);
    environment_free(&wanted);
    return on;
}

/* A child process has one thread and none of its parent's builds. Its IGC keeps the parent's folder, which it must not use. */
static void after_fork(void)
{
    building = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    for (unsigned count = 0; count < passing; ++count) /* forked in a callback of a build, which goes on here too */
        pthread_rwlock_rdlock(&building);
    igc_settings_after_fork();
    if (before != NULL)
        igc_settings_restore(before);
    before = NULL;
    if (variables[0][0] != '\0')
        clear_variables();
    folder = NULL;
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork);
}

/* The name is this process's alone: a folder that is there could not be removed once, for want of a descriptor for example. */
static bool make_folder(void)
{
    if (folder_make_named(folder))
        return true;
    if (errno != EEXIST)
        return false;
    folder_remove(folder);
    return folder_make_named(folder);
}

bool own_dumps_begin(const struct request *request)
{
    /* Not waiting for other builds: one of them may wait for this one, which a callback of its may have begun. */
    if (!own_dumps_possible(request) || pthread_rwlock_trywrlock(&building) != 0)
        return false;
    if (make_folder()) {
        /* IGC 1 ends the process when it cannot write some files, IGC 2 then calls the build a failure. */
        if (folder_room(folder) >= ROOM_WANTED && switch_on(request))
            return true;
        folder_remove(folder);
    }
    pthread_rwlock_unlock(&building);
    return false;
}

char *own_dumps_end(const struct request *request)
{
    struct file_names names = {0};
    bool kept = way_of(request->compiler)->end();
    char *taken = kept ? text_format("%s.%u", folder, ++taken_before) : NULL;
    kept = taken != NULL && rename(folder, taken) == 0;
    if (!kept)
        folder_remove(folder);
    pthread_rwlock_unlock(&building);
    bool some = kept && file_names_read(taken, &names) && names.count > 0;
    file_names_free(&names);
    if (some)
        return taken;
    if (kept)
        folder_remove(taken);
    free(taken);
    return NULL;
}

void own_dumps_pass_begin(void)
{
    /* A thread that holds it may take it again: a callback of a build may begin another. */
    while (pthread_rwlock_rdlock(&building) == EAGAIN)
        ;
    ++passing;
}

void own_dumps_pass_end(void)
{
    --passing;
    pthread_rwlock_unlock(&building);
}
