#include "opencl_layer/compilers/igc/dump_names.h"

#include <stdio.h>
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

bool kernel_dump_parse(const char *name, struct kernel_dump *dump)
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
