/* PoCL: what makes it keep a stage's files, and where they are. */
#define _GNU_SOURCE
#include "files.h"
#include "stages.h"
#include "tools.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* `dump`: the end of the file's path in PoCL's cache. */
static const struct stage POCL_STAGES[] = {
    {.name = "source", .text = ".cl", .text_first = true, .origin = ORIGIN_SOURCE},
    {.name = "llvm", .text = ".ll", .binary = ".bc", .origin = ORIGIN_COMPILER, .dump = "/program.bc"},
    {.name = "llvm-parallel",
     .text = ".ll",
     .binary = ".bc",
     .per_kernel = true,
     .origin = ORIGIN_COMPILER,
     .dump = "/parallel.bc"},
    {.name = "object", .text = ".asm", .binary = ".o", .per_kernel = true, .origin = ORIGIN_COMPILER, .dump = ".so.o"},
    {.name = "shared-object",
     .text = ".asm",
     .binary = ".so",
     .per_kernel = true,
     .origin = ORIGIN_COMPILER,
     .dump = ".so"},
};

static void set_dumps(struct environment *environment, const struct stage *stage, bool text, const char *folder)
{
    (void)stage;
    (void)text;
    environment_set(environment, "POCL_CACHE_DIR", "%s", folder); /* a cache with the program in it makes no stages */
    environment_set(environment, "POCL_KERNEL_CACHE", "1");
    environment_set(environment, "POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES", "1");
}

/* The paths below a folder that end as a stage's do. nftw calls with no pointer of ours: one list per thread. */
static _Thread_local struct {
    const char *end;
    char **paths;
    size_t count;
} found;

static int keep_path(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)place;
    size_t length = strlen(path), end = strlen(found.end);
    if (kind != FTW_F || length < end || strcmp(path + length - end, found.end) != 0)
        return 0;
    char **grown = realloc(found.paths, (found.count + 1) * sizeof *grown);
    if (grown == NULL)
        return 1;
    found.paths = grown;
    found.paths[found.count] = strdup(path);
    if (found.paths[found.count] != NULL)
        ++found.count;
    return 0;
}

static int by_path(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static const char *newest_path(void)
{
    const char *newest = NULL;
    struct timespec time = {0};
    for (size_t index = 0; index < found.count; ++index) {
        struct stat status;
        if (stat(found.paths[index], &status) == 0 &&
            (newest == NULL || status.st_mtim.tv_sec > time.tv_sec ||
             (status.st_mtim.tv_sec == time.tv_sec && status.st_mtim.tv_nsec >= time.tv_nsec))) {
            newest = found.paths[index];
            time = status.st_mtim;
        }
    }
    return newest;
}

/* The folder two above a kernel's file: .../KERNEL/0-0-0/parallel.bc. Free it. */
static char *kernel_of(const char *path)
{
    const char *end = strrchr(path, '/');
    end = end != NULL ? memrchr(path, '/', (size_t)(end - path)) : NULL;
    const char *start = end != NULL ? memrchr(path, '/', (size_t)(end - path)) : NULL;
    return start != NULL ? strndup(start + 1, (size_t)(end - start - 1)) : NULL;
}

/* Writes the text form beside the binary one and returns its path; NULL if no tool could. */
static char *text_form(const char *path, bool bitcode)
{
    static const char *const DISASSEMBLERS[] = {"llvm-dis-15", "llvm-dis-14", "llvm-dis-16", "llvm-dis-17",
                                                "llvm-dis-18", "llvm-dis-19", "llvm-dis",    NULL};
    static const char *const TO_OUTPUT[] = {"-o", "-", NULL};
    static const char *const OBJDUMP[] = {"objdump", NULL};
    static const char *const DISASSEMBLE[] = {"-d", "-r", NULL};
    char *text = text_format("%s.text", path);
    if (text != NULL && tool_run(bitcode ? DISASSEMBLERS : OBJDUMP, bitcode ? TO_OUTPUT : DISASSEMBLE, path, text) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static void add_path(const struct stage *stage, bool text, const char *path, struct snapshots *snapshots)
{
    char *kernel = stage->per_kernel ? kernel_of(path) : NULL;
    char *as_text = text ? text_form(path, strcmp(stage->binary, ".bc") == 0) : NULL;
    snapshots_add_file(snapshots, as_text ? as_text : path, as_text ? stage->text : stage->binary, kernel);
    free(as_text);
    free(kernel);
}

static void collect(const struct stage *stage, bool text, const char *folder, const struct binary *binary,
                    struct snapshots *snapshots)
{
    (void)binary;
    found.end = stage->dump;
    found.paths = NULL;
    found.count = 0;
    nftw(folder, keep_path, 16, FTW_PHYS);
    if (found.count > 0)
        qsort(found.paths, found.count, sizeof *found.paths, by_path);
    const char *newest = newest_path(); /* a link's inputs have their modules in the cache as well: the linked one is last */
    for (size_t index = 0; index < found.count; ++index)
        if (stage->per_kernel || found.paths[index] == newest)
            add_path(stage, text, found.paths[index], snapshots);
    for (size_t index = 0; index < found.count; ++index)
        free(found.paths[index]);
    free(found.paths);
}

const struct compiler pocl_compiler = {
    .name = "pocl",
    .stages = POCL_STAGES,
    .count = COUNT(POCL_STAGES),
    .kernels_on_query = true,
    .set_dumps = set_dumps,
    .collect = collect,
};
