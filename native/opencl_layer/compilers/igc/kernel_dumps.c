#define _GNU_SOURCE
#include "opencl_layer/compilers/igc/kernel_dumps.h"

#include "base/arrays.h"
#include "base/owned.h"
#include "base/text.h"
#include "opencl_layer/compilers/igc/dump_names.h"

#include <stdlib.h>
#include <string.h>

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
    const char *found = NULL;
    unsigned last_attempt = 0;
    for (size_t index = 0; index < kernels->names->count; ++index) {
        const char *name = kernels->names->items[index];
        struct kernel_dump dump;
        if (!kernel_dump_parse(name, &dump) || strcmp(dump.ending, ending) != 0 || dump.entry != kernel->entry ||
            (dump.simd != kernel->simd && !any_width) ||
            (dump.attempt != kernel->attempt && !any_attempt && !any_width) ||
            (found != NULL && dump.attempt < last_attempt))
            continue;
        found = name;
        last_attempt = dump.attempt;
    }
    return found;
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
