#define _GNU_SOURCE
#include "opencl_layer/layer/own_build.h"

#include "base/bytes.h"
#include "base/files.h"
#include "base/folders.h"
#include "base/locks.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/layer/layer.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For the compiler's files. IGC 1 ends the process when it cannot write some of them, IGC 2 then calls the build a failure; a file
 * that becomes larger than its process may write ends it with a signal, whichever compiler it is. */
static const uint64_t ROOM_WANTED = UINT64_C(1) << 28;

static unsigned taken_before; /* folders */

/* The folder into which this process's own compiler writes while it keeps a stage: always the same, as compilers keep the name that
 * they got first. It exists during such a build only. NULL if it has no name, which is so in forked children: their compilers know
 * the parent's, which they must not use. */
static char *own_folder;

static void forget_folder(bool (*damaged)(enum lock lock))
{
    (void)damaged;
    own_folder = NULL;
}

/* Runs when the layer is loaded: the environment still says what the user wants, and there is one thread as a rule. */
__attribute__((constructor)) static void name_folder(void)
{
    folders_sweep();
    own_folder = folder_name();
    forks_watch(forget_folder);
}

/* Tells whether the user wants the process's own compiler left alone. */
static bool refused(void)
{
    const char *setting = getenv("KERNLENS_SNAPSHOT_OWN_BUILD");
    return setting != NULL && strcmp(setting, "0") == 0;
}

bool own_build_possible(const struct stage_form *form)
{
    return form->compiler->can_keep != NULL && own_folder != NULL && !refused() &&
           file_size_limit() >= ROOM_WANTED && form->compiler->can_keep();
}

/* Has IGC 1 read its variables, which it does at a process's first compile: read later, they would undo what is changed. A
 * question about the specialization constants of an empty SPIR-V module is enough. */
static void have_variables_read(cl_program program)
{
    enum { MAGIC = 0x07230203, VERSION = 0x00010000, CAPABILITY = 2 << 16 | 17, MEMORY_MODEL = 3 << 16 | 14 };
    enum { ADDRESSES = 4, KERNEL = 6, PHYSICAL64 = 2, OPENCL = 2 };
    static const uint32_t MODULE[] = {MAGIC,  VERSION,      0,          1,     0, CAPABILITY, ADDRESSES, CAPABILITY,
                                      KERNEL, MEMORY_MODEL, PHYSICAL64, OPENCL};
    static bool read;
    cl_context context = NULL;
    if (read || below->clCreateProgramWithIL == NULL || below->clSetProgramSpecializationConstant == NULL ||
        below->clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
        return;
    read = true;
    cl_program empty = below->clCreateProgramWithIL(context, MODULE, sizeof MODULE, NULL);
    if (empty == NULL)
        return;
    below->clSetProgramSpecializationConstant(empty, 0, sizeof *MODULE, MODULE); /* it has none: refused, once read */
    below->clReleaseProgram(empty);
}

static bool switch_on(cl_program program, const struct stage_form *form)
{
    RELEASED_BY(environment_free) struct environment dumps = {0};
    form->compiler->set_dumps(&dumps, form, own_folder);
    if (form->compiler->variables_at_first_compile)
        have_variables_read(program);
    return form->compiler->begin_keeping(&dumps);
}

/* The name is this process's alone: a folder that is there could not be removed once, for want of a descriptor for example. */
static bool make_folder(const char *folder)
{
    if (folder_make_named(folder))
        return true;
    if (errno != EEXIST)
        return false;
    folder_remove(folder);
    return folder_make_named(folder);
}

bool own_build_begin(cl_program program, const struct stage_form *form)
{
    /* Not waiting for other builds: one of them may wait for this one, which a callback of its may have begun. */
    if (!own_build_possible(form) || !builds_take_alone())
        return false;
    const char *folder = own_folder;
    if (make_folder(folder)) {
        if (folder_room(folder) >= ROOM_WANTED && switch_on(program, form))
            return true;
        folder_remove(folder);
    }
    builds_give_alone();
    return false;
}

/* Moves the files away from the folder that the next such build needs. */
static char *take_folder(const char *folder)
{
    FREED char *taken = text_format("%s.%u", folder, ++taken_before);
    return taken != NULL && rename(folder, taken) == 0 ? GIVE(taken) : NULL;
}

char *own_build_end(const struct stage_form *form)
{
    const char *folder = own_folder;
    bool is_whole = folder != NULL && form->compiler->end_keeping(folder); /* a forked child has none, and keeps nothing */
    RELEASED_BY(folder_release) char *taken = is_whole ? take_folder(folder) : NULL;
    if (taken == NULL)
        folder_remove(folder);
    builds_give_alone();
    RELEASED_BY(file_names_free) struct file_names names = {0};
    return taken != NULL && file_names_read(taken, &names) && names.count > 0 ? GIVE(taken) : NULL;
}

struct own_build {
    struct stage_form form;
    char *folder; /* after the build: what it kept; NULL if nothing */
};

EXPORTED void kernlens_own_build_use(__typeof__(&clGetProgramInfo) get_info, __typeof__(&clCreateProgramWithIL) create,
                                     __typeof__(&clSetProgramSpecializationConstant) set,
                                     __typeof__(&clReleaseProgram) release)
{
    static cl_icd_dispatch functions;
    functions.clGetProgramInfo = get_info;
    functions.clCreateProgramWithIL = create;
    functions.clSetProgramSpecializationConstant = set;
    functions.clReleaseProgram = release;
    if (below == NULL)
        below = &functions;
}

EXPORTED struct own_build *kernlens_own_build_begin(cl_program program, const char *stage, int text)
{
    FREED struct own_build *build = calloc(1, sizeof *build);
    if (build == NULL)
        return NULL;
    build->form = (struct stage_form){
        .compiler = &igc_compiler, .stage = stage_named(&igc_compiler, stage), .text = text != 0};
    bool begun =
        build->form.stage != NULL && stage_needs_dumps(&build->form) && own_build_begin(program, &build->form);
    return begun ? GIVE(build) : NULL;
}

EXPORTED void kernlens_own_build_over(struct own_build *build)
{
    build->folder = own_build_end(&build->form);
}

EXPORTED void kernlens_own_build_take(struct own_build *build, const unsigned char *binary, size_t size,
                                      cl_codeplay_snapshot_callback_t callback, void *user_data)
{
    RELEASED_BY(snapshots_free) struct snapshots snapshots = {0};
    struct view program = {.bytes = binary, .size = size};
    if (build->folder != NULL)
        igc_compiler.collect(&build->form, build->folder, &program, &snapshots);
    folder_release(&build->folder);
    free(build);
    for (size_t index = 0; index < snapshots.count; ++index)
        callback(snapshots.items[index].size, snapshots.items[index].bytes, snapshots.items[index].label, user_data);
}
