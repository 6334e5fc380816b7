/* Intel's GPU compiler (IGC): what makes it write a stage, and which of the files it wrote is the stage. */
#define _GNU_SOURCE
#include "files.h"
#include "igc_own.h"
#include "stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

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
    const char *given = getenv("IGC_VISAOptions");
    environment_set(environment, "IGC_VISAOptions", "%s%s%s", given ? given : "", given ? " " : "", options);
}

/* What each stage needs and no more: all that IGC_ShaderDumpEnable stands for as a variable costs up to two fifths of a build. */
static void set_dumps(struct environment *environment, const struct stage *stage, bool text, const char *folder)
{
    const char *name = stage->name;
    environment_set(environment, "IGC_DumpToCustomDir", "%s/", folder);
    if (stage->dump != NULL) {
        char expression[64];
        snprintf(expression, sizeof expression, ".*_%s.*", stage->dump);
        environment_set(environment, "IGC_DumpLLVMIR", "1");
        environment_set(environment, "IGC_ShowFullVectorsInShaderDumps", "1"); /* else a warning goes to standard error */
        set_filter(environment, expression);
    } else if (strcmp(name, "gen-assembly") == 0 || strcmp(name, "debug") == 0) {
        environment_set(environment, "IGC_EnableVISAOutput", "1");
        environment_set(environment, "IGC_EnableVISABinary", "1");
        environment_set(environment, "IGC_ElfDumpEnable", "%d", strcmp(name, "debug") == 0);
        set_finalizer_options(environment, "-emitLocation");
        set_filter(environment, ".*(dat|[0-9].asm|elf)");
    } else if (strcmp(name, "visa") == 0) {
        environment_set(environment, "IGC_EnableVISASlowpath", "1");
        environment_set(environment, "IGC_EnableVISABinary", "1");
        set_finalizer_options(environment, text ? "-dumpcommonisa" : "-dumpcommonisa -dumpvisa");
        set_filter(environment, text ? ".*(dat|visaasm)" : ".*(dat|visaasm|isa)");
    } else {
        environment_set(environment, "IGC_ShaderDumpEnable", "1");
        environment_set(environment, "IGC_EnableVISABinary", "1");
        environment_set(environment, "IGC_EnableCosDump", "%d", strcmp(name, "resources") == 0);
        environment_set(environment, "IGC_DumpPatchTokens", "%d", strcmp(name, "resources") == 0);
        environment_set(environment, "IGC_SpvAsmDumpEnable", "%d", stage->origin == ORIGIN_SPIRV && text);
        set_filter(environment, stage->origin == ORIGIN_SPIRV            ? ".*spvasm"
                                : strcmp(name, "visa-llvm-map") == 0 ? ".*(dat|visa.ll)"
                                                                     : ".*(dat|cos|kernbin|zeinfo)");
    }
    /* Not IGC's: the driver's cache would answer without compiling, and its simulation would overwrite the application's
     * file of the same name. */
    environment_set(environment, "NEO_CACHE_PERSISTENT", "0");
    if (getenv("cl_cache_dir") != NULL) /* the same of older drivers: an empty folder holds no answer */
        environment_set(environment, "cl_cache_dir", "%s", folder);
    environment_set(environment, "AUBDumpSubCaptureMode", "2");
}

/* A dump of one kernel: which try at compiling the module, at which SIMD width, which kernel. */
struct kernel_dump {
    unsigned try, simd, entry;
    const char *ending; /* within the file's name */
};

/* What follows "OCL_asm" and the hashes of 16 digits: "_1_simd8_entry_0001.asm". NULL if it is another file. */
static const char *after_hashes(const char *name)
{
    static const char PREFIX[] = "OCL_asm", DIGITS[] = "0123456789abcdef";
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0)
        return NULL;
    name += sizeof PREFIX - 1;
    if (strspn(name, DIGITS) != 16)
        return NULL;
    name += 16;
    while (name[0] == '_' && strspn(name + 1, DIGITS) == 16)
        name += 17;
    return name;
}

bool igc_one_program(const struct file_names *names)
{
    const char *program = NULL;
    for (size_t index = 0; index < names->count; ++index) {
        const char *rest = after_hashes(names->names[index]);
        size_t size = rest != NULL ? (size_t)(rest - names->names[index]) : 0;
        if (size != sizeof "OCL_asm" - 1 + 16)
            continue;
        if (program != NULL && strncmp(program, names->names[index], size) != 0)
            return false;
        program = names->names[index];
    }
    return true;
}

static bool parse_kernel_dump(const char *name, struct kernel_dump *dump)
{
    const char *rest = after_hashes(name);
    int length = 0;
    if (rest == NULL)
        return false;
    *dump = (struct kernel_dump){0};
    if (sscanf(rest, "_simd%u_entry_%u%n", &dump->simd, &dump->entry, &length) != 2 &&
        sscanf(rest, "_%u_simd%u_entry_%u%n", &dump->try, &dump->simd, &dump->entry, &length) != 3 &&
        sscanf(rest, "_entry_%u%n", &dump->entry, &length) != 1)
        return false;
    dump->ending = rest + length;
    return true;
}

/* The program's kernels: for each, the try whose instructions stand in the program's binary. */
struct kernels {
    struct kernel_dump *items; /* by entry */
    size_t count;
};

enum { MOVE = 16, CONSTANT = 4, MOVE_OPCODE = 0x61, MOVES = 4 };

/* Whether instructions end with the four moves of a constant that IGC 2 appends: the halves of a hash of its input, 0, and the
 * kernel's number. */
static bool ends_with_hash(const unsigned char *instructions, size_t size)
{
    if (size < MOVES * MOVE || instructions[size - MOVES * MOVE] != MOVE_OPCODE)
        return false;
    const unsigned char *first = instructions + size - MOVES * MOVE;
    for (size_t index = 1; index < MOVES; ++index)
        if (memcmp(first, first + index * MOVE, MOVE - CONSTANT) != 0)
            return false;
    return true;
}

/* Whether a kernel's instructions stand in a binary, byte by byte but for that hash: it is another one if the application's
 * binary comes from the driver's cache and was compiled with -g in another folder. `stands_in` of pipeline/igc_dump.py is the
 * same rule. */
static bool contains(const struct binary *binary, const unsigned char *instructions, size_t size)
{
    const unsigned char *place = binary->bytes, *end = binary->bytes + binary->size;
    bool hashed = ends_with_hash(instructions, size);
    size_t second = size - (MOVES - 1) * MOVE, third = second + MOVE, before = hashed ? second - CONSTANT : size;
    while (before > 0 && (place = memmem(place, (size_t)(end - place), instructions, before)) != NULL) {
        if (!hashed || ((size_t)(end - place) >= size &&
                        memcmp(place + second, instructions + second, MOVE - CONSTANT) == 0 &&
                        memcmp(place + third, instructions + third, size - third) == 0))
            return true;
        ++place;
    }
    return false;
}

static bool stands_in(const struct binary *binary, const char *folder, const char *name)
{
    char *path = text_format("%s/%s", folder, name);
    size_t size = 0;
    char *instructions = path != NULL ? file_read(path, &size) : NULL;
    bool found = instructions != NULL && contains(binary, (const unsigned char *)instructions, size);
    free(instructions);
    free(path);
    return found;
}

static void keep_kernel(struct kernels *kernels, const struct kernel_dump *dump)
{
    for (size_t index = 0; index < kernels->count; ++index)
        if (kernels->items[index].entry == dump->entry) {
            if (dump->try >= kernels->items[index].try)
                kernels->items[index] = *dump;
            return;
        }
    struct kernel_dump *grown = realloc(kernels->items, (kernels->count + 1) * sizeof *grown);
    if (grown != NULL) {
        kernels->items = grown;
        kernels->items[kernels->count++] = *dump;
    }
}

static int by_entry(const void *left, const void *right)
{
    unsigned first = ((const struct kernel_dump *)left)->entry, second = ((const struct kernel_dump *)right)->entry;
    return (first > second) - (first < second);
}

static struct kernels find_kernels(const char *folder, const struct file_names *names, const struct binary *binary)
{
    struct kernels kernels = {0};
    for (size_t index = 0; index < names->count; ++index) {
        struct kernel_dump dump;
        if (parse_kernel_dump(names->names[index], &dump) && strcmp(dump.ending, ".dat") == 0 &&
            stands_in(binary, folder, names->names[index]))
            keep_kernel(&kernels, &dump);
    }
    if (kernels.count > 0)
        qsort(kernels.items, kernels.count, sizeof *kernels.items, by_entry);
    return kernels;
}

/* Of this kernel, the file with this ending. The resources' files count tries otherwise than the instructions' files, or
 * not at all: of them the last one is it. */
static const char *kernel_file(const struct file_names *names, const struct kernel_dump *kernel, const char *ending)
{
    bool any_try = strcmp(ending, ".cos") == 0, any_width = strcmp(ending, ".kernbin") == 0;
    const char *found = NULL;
    unsigned last_try = 0;
    for (size_t index = 0; index < names->count; ++index) {
        struct kernel_dump dump;
        if (!parse_kernel_dump(names->names[index], &dump) || strcmp(dump.ending, ending) != 0 ||
            dump.entry != kernel->entry || (dump.simd != kernel->simd && !any_width) ||
            (dump.try != kernel->try && !any_try && !any_width) || (found != NULL && dump.try < last_try))
            continue;
        found = names->names[index];
        last_try = dump.try;
    }
    return found;
}

/* Where kernel files name their kernel: the mark before the name, and what ends it. */
static const struct name_place {
    const char *ending, *mark, *end;
} NAME_PLACES[] = {
    {".asm", "//.kernel ", " \r\n"},
    {".visaasm", ".kernel \"", "\""},
    {".visa.ll", " @", "( "},
    {".cos", "Kernel Name = ", " "},
};

/* The kernel's name; NULL if no file of it says it. */
static char *kernel_name(const char *folder, const struct file_names *names, const struct kernel_dump *kernel)
{
    char *name = NULL;
    for (size_t index = 0; index < COUNT(NAME_PLACES) && name == NULL; ++index) {
        const struct name_place *place = &NAME_PLACES[index];
        const char *file = kernel_file(names, kernel, place->ending);
        char *path = file != NULL ? text_format("%s/%s", folder, file) : NULL;
        size_t size = 0;
        char *text = path != NULL ? file_read(path, &size) : NULL;
        const char *mark = text != NULL ? strstr(text, place->mark) : NULL;
        if (mark != NULL) {
            mark += strlen(place->mark);
            name = strndup(mark, strcspn(mark, place->end));
        }
        free(text);
        free(path);
    }
    return name;
}

static bool add_file(struct snapshots *snapshots, const char *folder, const char *file, const char *ending,
                     const char *kernel)
{
    char *path = file != NULL ? text_format("%s/%s", folder, file) : NULL;
    bool added = path != NULL && snapshots_add_file(snapshots, path, ending, kernel);
    free(path);
    return added;
}

static void collect_kernels(const char *ending, const char *other_ending, const char *folder,
                            const struct file_names *names, const struct binary *binary, struct snapshots *snapshots)
{
    struct kernels kernels = find_kernels(folder, names, binary);
    for (size_t index = 0; index < kernels.count; ++index) {
        const struct kernel_dump *kernel = &kernels.items[index];
        char *name = kernel_name(folder, names, kernel);
        if (!add_file(snapshots, folder, kernel_file(names, kernel, ending), ending, name) && other_ending != NULL)
            add_file(snapshots, folder, kernel_file(names, kernel, other_ending), other_ending, name);
        free(name);
    }
    free(kernels.items);
}

/* The number of the try in "_optimized.ll" (0), "_optimized_1.ll" (IGC 1) or "_1_optimized.ll" (IGC 2); -1 if the name is
 * not that of this stage. */
static int module_try(const char *name, const char *stage)
{
    const char *rest = after_hashes(name);
    unsigned try = 0;
    char first[64], again[64], again_before[64];
    if (rest == NULL || (sscanf(rest, "_%u_", &try) != 1 && sscanf(rest, "_%*[A-Za-z_]%u.ll", &try) != 1))
        try = 0;
    snprintf(first, sizeof first, "_%s.ll", stage);
    snprintf(again, sizeof again, "_%s_%u.ll", stage, try);
    snprintf(again_before, sizeof again_before, "_%u_%s.ll", try, stage);
    if (rest == NULL || (strcmp(rest, first) != 0 && strcmp(rest, again) != 0 && strcmp(rest, again_before) != 0))
        return -1;
    return (int)try;
}

static void collect_modules(const struct stage *stage, const char *folder, const struct file_names *names,
                            struct snapshots *snapshots)
{
    bool found = true;
    for (int try = 0; found; ++try) {
        found = false;
        for (size_t index = 0; index < names->count && !found; ++index)
            if (module_try(names->names[index], stage->dump) == try)
                found = add_file(snapshots, folder, names->names[index], stage->text, NULL);
    }
}

/* The only file with this ending that belongs to the whole program. */
static const char *program_file(const struct file_names *names, const char *ending)
{
    for (size_t index = 0; index < names->count; ++index) {
        const char *rest = after_hashes(names->names[index]);
        if (rest != NULL && strcmp(rest, ending) == 0)
            return names->names[index];
    }
    return NULL;
}

static void collect(const struct stage *stage, bool text, const char *folder, const struct binary *binary,
                    struct snapshots *snapshots)
{
    struct file_names names;
    if (!file_names_read(folder, &names))
        return;
    if (stage->dump != NULL)
        collect_modules(stage, folder, &names, snapshots);
    else if (!stage->per_kernel)
        add_file(snapshots, folder, program_file(&names, stage->text), stage->text, NULL);
    else if (strcmp(stage->name, "resources") == 0 && program_file(&names, ".zeinfo") != NULL)
        add_file(snapshots, folder, program_file(&names, ".zeinfo"), ".zeinfo", NULL);
    else if (binary->bytes != NULL)
        collect_kernels(text ? stage->text : stage->binary, stage->text, folder, &names, binary, snapshots);
    file_names_free(&names);
}

const struct compiler igc_compiler = {
    .name = "igc",
    .stages = IGC_STAGES,
    .count = COUNT(IGC_STAGES),
    .set_dumps = set_dumps,
    .collect = collect,
    .own_possible = igc_own_possible,
    .own_begin = igc_own_begin,
    .own_end = igc_own_end,
};
