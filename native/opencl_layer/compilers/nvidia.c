/* NVIDIA's driver: the program's binary is PTX, and the machine code that it made of that is in its compute cache.
 *
 * An entry of the cache is a file of a header (0x41, the sizes of key and result, a checksum: 4 and three times 8 bytes), the key,
 * and the result. The key of machine code has the compiler's date, "HOST64sm_90", the PTX up to a zero byte, and options. The format
 * has no public description: formats/compute_cache.py reads the same, and says how it was told. */
#define _GNU_SOURCE
#include "base/bytes.h"
#include "base/files.h"
#include "base/owned.h"
#include "opencl_layer/compilers/stages.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct stage NVIDIA_STAGES[] = {
    {.name = "source", .text = ".cl", .text_first = true, .origin = ORIGIN_SOURCE},
    {.name = "ptx", .text = ".ptx", .text_first = true, .origin = ORIGIN_BINARY},
    {.name = "sass", .binary = ".cubin", .origin = ORIGIN_CACHE},
};

enum { HEADER = 28, MAGIC = 0x41, STAMP = 64, LARGEST_ENTRY = 1 << 28, MOST_ENTRIES = 1 << 16 };

/* The walk over the cache that runs in this thread: nftw() calls with no pointer of ours. */
static _Thread_local struct {
    struct file_names *paths;
    off_t least;
} walk;

static int keep_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    bool fits = kind == FTW_F && place->level == 3 && status->st_size > walk.least && status->st_size < LARGEST_ENTRY;
    if (fits && (walk.paths->count >= MOST_ENTRIES || !file_names_add(walk.paths, path)))
        return 1;
    return 0;
}

/* Names the folder of the cache; NULL if the driver keeps none. Free it. */
static char *cache_folder(void)
{
    const char *disabled = getenv("CUDA_CACHE_DISABLE"), *path = getenv("CUDA_CACHE_PATH"), *home = getenv("HOME");
    if (disabled != NULL && strcmp(disabled, "1") == 0)
        return NULL;
    if (path != NULL && path[0] != '\0')
        return strdup(path);
    return home != NULL && home[0] != '\0' ? text_format("%s/.nv/ComputeCache", home) : NULL;
}

static uint64_t number_at(const char *bytes)
{
    uint64_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

/* Finds the machine code in an entry that was made of this PTX; empty if it is none. */
static struct view code_of(const char *entry, size_t size, const struct view *ptx)
{
    uint32_t magic;
    if (size < HEADER)
        return (struct view){0};
    memcpy(&magic, entry, sizeof magic);
    uint64_t key_size = number_at(entry + 4), result_size = number_at(entry + 12);
    if (magic != MAGIC || key_size > size - HEADER || result_size != size - HEADER - key_size)
        return (struct view){0};
    const char *key = entry + HEADER, *result = key + key_size;
    size_t stamp = key_size < STAMP ? (size_t)key_size : STAMP;
    const char *host = memmem(key, stamp, "HOST", 4);
    const char *text = host != NULL ? memmem(host, (size_t)(key + key_size - host), ptx->bytes, ptx->size) : NULL;
    /* Only the architecture stands between, and a zero byte behind. */
    if (text == NULL || (size_t)(text - host) > STAMP || text + ptx->size >= result || text[ptx->size] != '\0' ||
        result_size < 4 || memcmp(result, "\177ELF", 4) != 0)
        return (struct view){0};
    return (struct view){.bytes = (const unsigned char *)result, .size = (size_t)result_size};
}

/* Adds the machine code that the driver made of the PTX, if the cache has it, and only one. */
static void collect(const struct stage_form *form, const char *folder, const struct view *binary,
                    struct snapshots *snapshots)
{
    (void)folder;
    enum { DESCRIPTORS = 16 };
    struct view ptx = *binary;
    while (ptx.size > 0 && ptx.bytes[ptx.size - 1] == '\0')
        --ptx.size;
    FREED char *cache = cache_folder();
    if (cache == NULL || ptx.size == 0)
        return;
    RELEASED_BY(file_names_free) struct file_names paths = {0};
    walk.paths = &paths;
    walk.least = (off_t)(HEADER + ptx.size);
    if (nftw(cache, keep_entry, DESCRIPTORS, FTW_PHYS) != 0)
        return;
    for (size_t index = 0; index < paths.count; ++index) {
        size_t size = 0;
        FREED char *entry = file_read(paths.items[index], &size);
        struct view code = entry != NULL ? code_of(entry, size, &ptx) : (struct view){0};
        if (code.bytes == NULL)
            continue;
        const struct snapshot *before = snapshots->count > 0 ? &snapshots->items[0] : NULL;
        if (before == NULL) {
            snapshots_add_copy(snapshots, code.bytes, code.size, form->stage->binary, NULL);
        } else if (before->size != code.size || memcmp(before->bytes, code.bytes, code.size) != 0) {
            snapshots_free(snapshots); /* of another driver, or for another GPU: which of them runs is not told */
            return;
        }
    }
}

const struct compiler nvidia_compiler = {
    .name = "nvidia",
    .stages = NVIDIA_STAGES,
    .count = sizeof NVIDIA_STAGES / sizeof *NVIDIA_STAGES,
    .collect = collect,
};
