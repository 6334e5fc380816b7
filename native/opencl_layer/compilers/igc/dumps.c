#define _GNU_SOURCE
#include "opencl_layer/compilers/igc/dumps.h"

#include "base/arrays.h"
#include "base/bytes.h"
#include "base/owned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PREFIX[] = "OCL_asm";
enum { PREFIX_LENGTH = sizeof PREFIX - 1, HASH_LENGTH = 16 };

/* Finds what follows "OCL_asm" and the hashes: "_1_simd8_entry_0001.asm". NULL if it is another file. */
static const char *after_hashes(const char *name)
{
    static const char DIGITS[] = "0123456789abcdef";
    if (strncmp(name, PREFIX, PREFIX_LENGTH) != 0)
        return NULL;
    name += PREFIX_LENGTH;
    if (strspn(name, DIGITS) != HASH_LENGTH)
        return NULL;
    name += HASH_LENGTH;
    while (name[0] == '_' && strspn(name + 1, DIGITS) == HASH_LENGTH)
        name += 1 + HASH_LENGTH;
    return name;
}

/* A file of one kernel: which attempt at compiling the module, at which SIMD width, which kernel. */
struct kernel_dump {
    unsigned attempt, simd, entry;
    const char *ending; /* within the file's name */
};

static bool kernel_dump_parse(const char *name, struct kernel_dump *dump)
{
    const char *rest = after_hashes(name);
    int length = 0;
    if (rest == NULL)
        return false;
    *dump = (struct kernel_dump){0};
    if (sscanf(rest, "_simd%u_entry_%u%n", &dump->simd, &dump->entry, &length) != 2 &&
        sscanf(rest, "_%u_simd%u_entry_%u%n", &dump->attempt, &dump->simd, &dump->entry, &length) != 3 &&
        sscanf(rest, "_entry_%u%n", &dump->entry, &length) != 1)
        return false;
    dump->ending = rest + length;
    return true;
}

/* The first attempt's is "_optimized.ll", later ones are "_optimized_1.ll" (IGC 1) or "_1_optimized.ll" (IGC 2). */
int module_dump_attempt(const char *name, const char *stage)
{
    const char *rest = after_hashes(name);
    if (rest == NULL)
        return -1;
    unsigned attempt = 0;
    if (sscanf(rest, "_%u_", &attempt) != 1 && sscanf(rest, "_%*[A-Za-z_]%u.ll", &attempt) != 1)
        attempt = 0;
    char first[64], again[64], again_before[64];
    snprintf(first, sizeof first, "_%s.ll", stage);
    snprintf(again, sizeof again, "_%s_%u.ll", stage, attempt);
    snprintf(again_before, sizeof again_before, "_%u_%s.ll", attempt, stage);
    bool is_stage = strcmp(rest, first) == 0 || strcmp(rest, again) == 0 || strcmp(rest, again_before) == 0;
    return is_stage ? (int)attempt : -1;
}

const char *program_dump(const struct file_names *names, const char *ending)
{
    for (size_t index = 0; index < names->count; ++index) {
        const char *rest = after_hashes(names->items[index]);
        if (rest != NULL && strcmp(rest, ending) == 0)
            return names->items[index];
    }
    return NULL;
}

bool dumps_of_one_program(const struct file_names *names)
{
    const char *program = NULL;
    for (size_t index = 0; index < names->count; ++index) {
        const char *name = names->items[index], *rest = after_hashes(name);
        if (rest == NULL || rest - name != PREFIX_LENGTH + HASH_LENGTH)
            continue;
        if (program != NULL && strncmp(program, name, PREFIX_LENGTH + HASH_LENGTH) != 0)
            return false;
        program = name;
    }
    return true;
}

/* A folder's files, and the program's kernels: for each, the attempt and width whose instructions stand in the binary. */
struct kernels {
    const char *folder;
    const struct file_names *names;
    struct kernel_dump *items; /* by entry */
    size_t count, capacity;
};

static char *read_named(const struct kernels *kernels, const char *name, size_t *size)
{
    FREED char *path = name != NULL ? text_format("%s/%s", kernels->folder, name) : NULL;
    return path != NULL ? file_read(path, size) : NULL;
}

enum { MOVE = 16, CONSTANT = 4, MOVE_OPCODE = 0x61, MOVES = 4 };

/* Tells whether instructions end with the four moves of a constant that IGC 2 appends: the halves of a hash of its input, 0, and the
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

/* Tells whether a kernel's instructions stand in a binary, byte by byte but for that hash: it is another one if the application's
 * binary comes from the driver's cache and was compiled with -g in another folder. `stands_in` of pipeline/igc_dump.py is the
 * same rule. */
static bool contains(const struct view *binary, const unsigned char *instructions, size_t size)
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

static bool stands_in(const struct view *binary, const struct kernels *kernels, const char *name)
{
    size_t size = 0;
    FREED char *instructions = read_named(kernels, name, &size);
    return instructions != NULL && contains(binary, (const unsigned char *)instructions, size);
}

/* Keeps the kernel; of two attempts that made the same instructions, the later one. */
static void keep_kernel(struct kernels *kernels, const struct kernel_dump *dump)
{
    for (size_t index = 0; index < kernels->count; ++index)
        if (kernels->items[index].entry == dump->entry) {
            if (dump->attempt >= kernels->items[index].attempt)
                kernels->items[index] = *dump;
            return;
        }
    struct kernel_dump *grown = array_reserve(kernels->items, &kernels->capacity, kernels->count + 1, sizeof *grown);
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

static void find_kernels(struct kernels *kernels, const struct view *binary)
{
    for (size_t index = 0; index < kernels->names->count; ++index) {
        const char *name = kernels->names->items[index];
        struct kernel_dump dump;
        if (kernel_dump_parse(name, &dump) && strcmp(dump.ending, ".dat") == 0 && stands_in(binary, kernels, name))
            keep_kernel(kernels, &dump);
    }
    if (kernels->count > 0)
        qsort(kernels->items, kernels->count, sizeof *kernels->items, by_entry);
}

/* Finds the kernel's file with this ending. The resources' files count attempts otherwise than the instructions' files, or not
 * at all: of them the last one is it. */
static const char *file_of(const struct kernels *kernels, const struct kernel_dump *kernel, const char *ending)
{
    bool any_attempt = strcmp(ending, ".cos") == 0, any_width = strcmp(ending, ".kernbin") == 0;
    const char *file = NULL;
    unsigned last_attempt = 0;
    for (size_t index = 0; index < kernels->names->count; ++index) {
        const char *name = kernels->names->items[index];
        struct kernel_dump dump;
        if (!kernel_dump_parse(name, &dump) || strcmp(dump.ending, ending) != 0 || dump.entry != kernel->entry ||
            (dump.simd != kernel->simd && !any_width) ||
            (dump.attempt != kernel->attempt && !any_attempt && !any_width) ||
            (file != NULL && dump.attempt < last_attempt))
            continue;
        file = name;
        last_attempt = dump.attempt;
    }
    return file;
}

/* Where kernel files name their kernel: the mark before the name, and what ends it. */
static const struct {
    const char *ending, *mark, *end;
} NAME_PLACES[] = {
    {".asm", "//.kernel ", " \r\n"},
    {".visaasm", ".kernel \"", "\""},
    {".visa.ll", " @", "( "},
    {".cos", "Kernel Name = ", " "},
};

/* Reads the kernel's name; NULL if no file of it says it. */
static char *name_of(const struct kernels *kernels, const struct kernel_dump *kernel)
{
    for (size_t index = 0; index < sizeof NAME_PLACES / sizeof *NAME_PLACES; ++index) {
        size_t size = 0;
        FREED char *text = read_named(kernels, file_of(kernels, kernel, NAME_PLACES[index].ending), &size);
        const char *mark = text != NULL ? strstr(text, NAME_PLACES[index].mark) : NULL;
        if (mark == NULL)
            continue;
        mark += strlen(NAME_PLACES[index].mark);
        return strndup(mark, strcspn(mark, NAME_PLACES[index].end));
    }
    return NULL;
}

static bool add(struct snapshots *snapshots, const struct kernels *kernels, const struct kernel_dump *kernel,
                const char *ending, const char *name)
{
    const char *file = file_of(kernels, kernel, ending);
    FREED char *path = file != NULL ? text_format("%s/%s", kernels->folder, file) : NULL;
    return path != NULL && snapshots_add_file(snapshots, path, ending, name);
}

void kernel_dumps_collect(const char *ending, const char *other_ending, const char *folder,
                          const struct file_names *names, const struct view *binary, struct snapshots *snapshots)
{
    struct kernels kernels = {.folder = folder, .names = names};
    find_kernels(&kernels, binary);
    for (size_t index = 0; index < kernels.count; ++index) {
        const struct kernel_dump *kernel = &kernels.items[index];
        FREED char *name = name_of(&kernels, kernel);
        if (!add(snapshots, &kernels, kernel, ending, name) && other_ending != NULL)
            add(snapshots, &kernels, kernel, other_ending, name);
    }
    free(kernels.items);
}
