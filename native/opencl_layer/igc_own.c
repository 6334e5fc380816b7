#define _GNU_SOURCE
#include "igc_own.h"

#include "files.h"
#include "igc_settings.h"
#include "layer.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Of the one build that keeps a stage (own_dumps.h). */
static struct igc_settings_before *before;
static bool variables_read;

/* Whether the user has IGC make dumps for himself; they are left alone. */
static bool dumps_of_the_user(void)
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

bool igc_own_possible(const struct stage *stage)
{
    (void)stage;
    return !dumps_of_the_user() && igc_settings_found();
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
    if (variables_read || below->clCreateProgramWithIL == NULL || below->clSetProgramSpecializationConstant == NULL ||
        below->clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
        return;
    variables_read = true;
    cl_program empty = below->clCreateProgramWithIL(context, MODULE, sizeof MODULE, NULL);
    if (empty == NULL)
        return;
    below->clSetProgramSpecializationConstant(empty, 0, sizeof *MODULE, MODULE); /* it has none: refused, once read */
    below->clReleaseProgram(empty);
}

bool igc_own_begin(cl_program program, const struct environment *wanted)
{
    read_variables(program);
    before = igc_settings_change(wanted);
    return before != NULL;
}

static void put_back(void)
{
    if (before != NULL)
        igc_settings_restore(before);
    before = NULL;
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, put_back); /* a child's builds keep nothing */
}

bool igc_own_end(const char *folder)
{
    struct file_names names;
    put_back();
    bool one = file_names_read(folder, &names) && igc_one_program(&names);
    file_names_free(&names);
    return one;
}
