/* PoCL: what makes it keep a stage's files, and where they are. */
#define _GNU_SOURCE
#include "base/bytes.h"
#include "base/files.h"
#include "base/owned.h"
#include "base/children.h"
#include "opencl_layer/compilers/stages.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static void set_dumps(struct environment *environment, const struct stage_form *form, const char *folder)
{
    (void)form;
    environment_set(environment, "POCL_CACHE_DIR", "%s", folder); /* a cache with the program in it makes no stages */
    environment_set(environment, "POCL_KERNEL_CACHE", "1");
    environment_set(environment, "POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES", "1");
}

/* The walk over a folder that runs in this thread: nftw() calls with no pointer of ours. */
static _Thread_local struct {
    const char *end;
    struct file_names *paths;
} walk;

static int keep_path(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)place;
    return kind == FTW_F && text_ends_with(path, walk.end) && !file_names_add(walk.paths, path);
}

/* Finds the paths below a folder that end as a stage's do, sorted. */
static void find_paths(const char *folder, const char *end, struct file_names *paths)
{
    enum { DESCRIPTORS = 16 };
    walk.end = end;
    walk.paths = paths;
    nftw(folder, keep_path, DESCRIPTORS, FTW_PHYS);
    file_names_sort(paths);
}

static bool earlier(struct timespec left, struct timespec right)
{
    return left.tv_sec < right.tv_sec || (left.tv_sec == right.tv_sec && left.tv_nsec < right.tv_nsec);
}

static const char *newest_path(const struct file_names *paths)
{
    const char *newest = NULL;
    struct timespec time = {0};
    for (size_t index = 0; index < paths->count; ++index) {
        struct stat status;
        if (stat(paths->items[index], &status) != 0 || (newest != NULL && earlier(status.st_mtim, time)))
            continue;
        newest = paths->items[index];
        time = status.st_mtim;
    }
    return newest;
}

/* Names the folder two above a kernel's file: .../KERNEL/0-0-0/parallel.bc. Free it. */
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
    static const char DISASSEMBLERS[] = "llvm-dis-15 llvm-dis-14 llvm-dis-16 llvm-dis-17 llvm-dis-18 llvm-dis-19 llvm-dis";
    static const char *const TO_OUTPUT[] = {"-o", "-", NULL};
    static const char *const DISASSEMBLE[] = {"-d", "-r", NULL};
    FREED char *text = text_format("%s.text", path);
    if (text == NULL || !tool_run(bitcode ? DISASSEMBLERS : "objdump", bitcode ? TO_OUTPUT : DISASSEMBLE, path, text))
        return NULL;
    return GIVE(text);
}

static void add_path(const struct stage_form *form, const char *path, struct snapshots *snapshots)
{
    const struct stage *stage = form->stage;
    FREED char *kernel = stage->per_kernel ? kernel_of(path) : NULL;
    FREED char *as_text = form->text ? text_form(path, strcmp(stage->binary, ".bc") == 0) : NULL;
    snapshots_add_file(snapshots, as_text ? as_text : path, as_text ? stage->text : stage->binary, kernel);
}

static void collect(const struct stage_form *form, const char *folder, const struct view *binary,
                    struct snapshots *snapshots)
{
    (void)binary;
    RELEASED_BY(file_names_free) struct file_names paths = {0};
    find_paths(folder, form->stage->dump, &paths);
    const char *newest = newest_path(&paths); /* a link's inputs have modules in the cache as well: the linked one is last */
    for (size_t index = 0; index < paths.count; ++index)
        if (form->stage->per_kernel || paths.items[index] == newest)
            add_path(form, paths.items[index], snapshots);
}

const struct compiler pocl_compiler = {
    .name = "pocl",
    .stages = POCL_STAGES,
    .count = sizeof POCL_STAGES / sizeof *POCL_STAGES,
    .kernels_on_query = true,
    .set_dumps = set_dumps,
    .collect = collect,
};
