/* Intel's GPU compiler (IGC): what makes it write a stage, in a second build or in the application's own, and which of the files it
 * wrote is the stage. */
#include "base/bytes.h"
#include "base/files.h"
#include "base/owned.h"
#include "opencl_layer/compilers/igc/dumps.h"
#include "opencl_layer/compilers/igc/settings.h"
#include "opencl_layer/compilers/stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `dump`: the part of the file's name between hash and ending (LLVM IR); NULL where the endings say it all. */
static const struct stage IGC_STAGES[] = {
    {.name = "source", .text = ".cl", .text_first = true, .origin = ORIGIN_SOURCE},
    {.name = "spirv", .text = ".spvasm", .binary = ".spv", .origin = ORIGIN_SPIRV},
    {.name = "llvm-before-unification",
     .text = ".ll",
     .text_first = true,
     .origin = ORIGIN_COMPILER,
     .dump = "beforeUnification"},
    {.name = "llvm-unified", .text = ".ll", .text_first = true, .origin = ORIGIN_COMPILER, .dump = "afterUnification"},
    {.name = "llvm-optimized", .text = ".ll", .text_first = true, .origin = ORIGIN_COMPILER, .dump = "optimized"},
    {.name = "llvm-push-analysis",
     .text = ".ll",
     .text_first = true,
     .origin = ORIGIN_COMPILER,
     .dump = "push_analysis"},
    {.name = "llvm-codegen", .text = ".ll", .text_first = true, .origin = ORIGIN_COMPILER, .dump = "codegen"},
    {.name = "visa",
     .text = ".visaasm",
     .binary = ".isa",
     .text_first = true,
     .per_kernel = true,
     .origin = ORIGIN_COMPILER},
    {.name = "visa-llvm-map", .text = ".visa.ll", .text_first = true, .per_kernel = true, .origin = ORIGIN_COMPILER},
    {.name = "gen-assembly",
     .text = ".asm",
     .binary = ".dat",
     .text_first = true,
     .per_kernel = true,
     .origin = ORIGIN_COMPILER},
    {.name = "debug", .binary = ".elf", .per_kernel = true, .origin = ORIGIN_COMPILER},
    {.name = "resources",
     .text = ".cos",
     .binary = ".kernbin",
     .text_first = true,
     .per_kernel = true,
     .origin = ORIGIN_COMPILER},
    {.name = "program", .binary = ".progbin", .origin = ORIGIN_BINARY},
};

/* The expression must match the whole name. IGC 1 knows the first variable, IGC 2 the second. */
static void set_filter(struct environment *environment, const char *expression)
{
    environment_set(environment, "IGC_ShaderDumpFilter", "%s", expression);
    environment_set(environment, "IGC_ShaderDumpRegexFilter", "%s", expression);
}

/* The user's own options for the finalizer stay. */
static void set_finalizer_options(struct environment *environment, const char *options)
{
    const char *own = getenv("IGC_VISAOptions");
    environment_set(environment, "IGC_VISAOptions", "%s%s%s", own ? own : "", own ? " " : "", options);
}

static void set_llvm_dumps(struct environment *environment, const char *dump)
{
    char expression[64];
    snprintf(expression, sizeof expression, ".*_%s.*", dump);
    environment_set(environment, "IGC_DumpLLVMIR", "1");
    environment_set(environment, "IGC_ShowFullVectorsInShaderDumps", "1"); /* else a warning goes to standard error */
    set_filter(environment, expression);
}

static void set_assembly_dumps(struct environment *environment, bool debug_data)
{
    environment_set(environment, "IGC_EnableVISAOutput", "1");
    environment_set(environment, "IGC_EnableVISABinary", "1");
    environment_set(environment, "IGC_ElfDumpEnable", "%d", debug_data);
    set_finalizer_options(environment, "-emitLocation");
    set_filter(environment, ".*(dat|[0-9].asm|elf)");
}

static void set_visa_dumps(struct environment *environment, bool text)
{
    environment_set(environment, "IGC_EnableVISASlowpath", "1");
    environment_set(environment, "IGC_EnableVISABinary", "1");
    set_finalizer_options(environment, text ? "-dumpcommonisa" : "-dumpcommonisa -dumpvisa");
    set_filter(environment, text ? ".*(dat|visaasm)" : ".*(dat|visaasm|isa)");
}

static void set_other_dumps(struct environment *environment, const struct stage_form *form)
{
    bool resources = strcmp(form->stage->name, "resources") == 0, spirv = form->stage->origin == ORIGIN_SPIRV;
    environment_set(environment, "IGC_ShaderDumpEnable", "1");
    environment_set(environment, "IGC_EnableVISABinary", "1");
    environment_set(environment, "IGC_EnableCosDump", "%d", resources);
    environment_set(environment, "IGC_DumpPatchTokens", "%d", resources);
    environment_set(environment, "IGC_SpvAsmDumpEnable", "%d", spirv && form->text);
    set_filter(environment, spirv       ? ".*spvasm"
                            : resources ? ".*(dat|cos|kernbin|zeinfo)"
                                        : ".*(dat|visa.ll)");
}

/* Sets what the stage needs and no more: all that IGC_ShaderDumpEnable stands for as a variable costs up to two fifths of a
 * build. */
static void set_dumps(struct environment *environment, const struct stage_form *form, const char *folder)
{
    const char *name = form->stage->name;
    environment_set(environment, "IGC_DumpToCustomDir", "%s/", folder);
    if (form->stage->dump != NULL)
        set_llvm_dumps(environment, form->stage->dump);
    else if (strcmp(name, "gen-assembly") == 0 || strcmp(name, "debug") == 0)
        set_assembly_dumps(environment, strcmp(name, "debug") == 0);
    else if (strcmp(name, "visa") == 0)
        set_visa_dumps(environment, form->text);
    else
        set_other_dumps(environment, form);
    /* Not IGC's: the driver's cache would answer without compiling, and its simulation would overwrite the application's
     * file of the same name. */
    environment_set(environment, "NEO_CACHE_PERSISTENT", "0");
    if (getenv("cl_cache_dir") != NULL) /* the same of older drivers: an empty folder holds no answer */
        environment_set(environment, "cl_cache_dir", "%s", folder);
    environment_set(environment, "AUBDumpSubCaptureMode", "2");
}

static bool add_file(struct snapshots *snapshots, const char *folder, const char *file, const char *ending)
{
    FREED char *path = file != NULL ? text_format("%s/%s", folder, file) : NULL;
    return path != NULL && snapshots_add_file(snapshots, path, ending, NULL);
}

static void collect_modules(const struct stage *stage, const char *folder, const struct file_names *names,
                            struct snapshots *snapshots)
{
    bool added = true;
    for (int attempt = 0; added; ++attempt) {
        added = false;
        for (size_t index = 0; index < names->count && !added; ++index)
            if (module_dump_attempt(names->items[index], stage->dump) == attempt)
                added = add_file(snapshots, folder, names->items[index], stage->text);
    }
}

static void collect(const struct stage_form *form, const char *folder, const struct view *binary,
                    struct snapshots *snapshots)
{
    const struct stage *stage = form->stage;
    RELEASED_BY(file_names_free) struct file_names names = {0};
    if (!file_names_read(folder, &names))
        return;
    const char *resources = strcmp(stage->name, "resources") == 0 ? program_dump(&names, ".zeinfo") : NULL;
    if (stage->dump != NULL)
        collect_modules(stage, folder, &names, snapshots);
    else if (!stage->per_kernel)
        add_file(snapshots, folder, program_dump(&names, stage->text), stage->text);
    else if (resources != NULL)
        add_file(snapshots, folder, resources, ".zeinfo");
    else if (binary->bytes != NULL)
        kernel_dumps_collect(form->text ? stage->text : stage->binary, stage->text, folder, &names, binary,
                             snapshots);
}

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

static bool can_keep(void)
{
    return !dumps_of_the_user() && igc_settings_found();
}

static bool end_keeping(const char *folder)
{
    igc_settings_restore();
    RELEASED_BY(file_names_free) struct file_names names = {0};
    return file_names_read(folder, &names) && dumps_of_one_program(&names);
}

const struct compiler igc_compiler = {
    .name = "igc",
    .stages = IGC_STAGES,
    .count = sizeof IGC_STAGES / sizeof *IGC_STAGES,
    .spirv_from_source = true,
    .variables_at_first_compile = true,
    .set_dumps = set_dumps,
    .collect = collect,
    .can_keep = can_keep,
    .begin_keeping = igc_settings_change,
    .end_keeping = end_keeping,
};
