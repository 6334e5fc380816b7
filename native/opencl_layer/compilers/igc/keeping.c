#include "opencl_layer/compilers/igc/keeping.h"

#include "base/files.h"
#include "base/owned.h"
#include "opencl_layer/compilers/igc/dump_names.h"
#include "opencl_layer/compilers/igc/settings.h"

#include <stdlib.h>

/* Tells whether the user has IGC make dumps for himself; they are left alone. */
static bool dumps_of_the_user(void)
{
    static const char *const NAMES[] = {
        "IGC_DumpToCustomDir",  "IGC_DumpToCurrentDir", "IGC_ShaderDumpEnable",   "IGC_ShaderDumpEnableAll",
        "IGC_DumpLLVMIR",       "IGC_EnableCosDump",    "IGC_DumpOCLProgramInfo", "IGC_EnableVISAOutput",
        "IGC_EnableVISABinary", "IGC_EnableCapsDump",   "IGC_DumpPatchTokens",    "IGC_EnableVISADumpCommonISA"};
    for (size_t index = 0; index < sizeof NAMES / sizeof *NAMES; ++index)
        if (getenv(NAMES[index]) != NULL)
            return true;
    return false;
}

bool igc_can_keep(void)
{
    return !dumps_of_the_user() && igc_settings_found();
}

bool igc_begin_keeping(const struct environment *wanted)
{
    return igc_settings_change(wanted);
}

bool igc_end_keeping(const char *folder)
{
    igc_settings_restore();
    RELEASED_BY(file_names_free) struct file_names names = {0};
    return file_names_read(folder, &names) && dumps_of_one_program(&names);
}
