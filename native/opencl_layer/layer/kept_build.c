#define _GNU_SOURCE
#include "opencl_layer/layer/kept_build.h"

#include "base/files.h"
#include "base/folders.h"
#include "base/locks.h"
#include "base/owned.h"
#include "base/text.h"
#include "opencl_layer/below.h"
#include "opencl_layer/compilers/kept_folder.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For the compiler's files. IGC 1 ends the process when it cannot write some of them, IGC 2 then calls the build a failure; a file
 * that becomes larger than its process may write ends it with a signal, whichever compiler it is. */
static const uint64_t ROOM_WANTED = UINT64_C(1) << 28;

static unsigned taken_before; /* folders */

/* Tells whether the user wants the process's own compiler left alone. */
static bool refused(void)
{
    const char *wanted = getenv("KERNLENS_SNAPSHOT_OWN_BUILD");
    return wanted != NULL && strcmp(wanted, "0") == 0;
}

bool kept_build_possible(const struct stage_form *form)
{
    return form->compiler->can_keep != NULL && kept_folder() != NULL && !refused() &&
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
    RELEASED_BY(environment_free) struct environment wanted = {0};
    form->compiler->set_dumps(&wanted, form, kept_folder());
    if (form->compiler->variables_at_first_compile)
        have_variables_read(program);
    return form->compiler->begin_keeping(&wanted);
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

bool kept_build_begin(cl_program program, const struct stage_form *form)
{
    /* Not waiting for other builds: one of them may wait for this one, which a callback of its may have begun. */
    if (!kept_build_possible(form) || !builds_take_alone())
        return false;
    const char *folder = kept_folder();
    if (make_folder(folder)) {
        if (folder_room(folder) >= ROOM_WANTED && switch_on(program, form))
            return true;
        folder_remove(folder);
    }
    builds_give_alone();
    return false;
}

/* Moves the files away from the folder that the next kept build needs. */
static char *take_folder(const char *folder)
{
    FREED char *taken = text_format("%s.%u", folder, ++taken_before);
    return taken != NULL && rename(folder, taken) == 0 ? GIVE(taken) : NULL;
}

char *kept_build_end(const struct stage_form *form)
{
    const char *folder = kept_folder();
    bool kept = folder != NULL && form->compiler->end_keeping(folder); /* a forked child has none, and keeps nothing */
    RELEASED_BY(folder_release) char *taken = kept ? take_folder(folder) : NULL;
    if (taken == NULL)
        folder_remove(folder);
    builds_give_alone();
    RELEASED_BY(file_names_free) struct file_names names = {0};
    return taken != NULL && file_names_read(taken, &names) && names.count > 0 ? GIVE(taken) : NULL;
}

void other_build_begin(void)
{
    builds_share(); /* again, if this thread is in a callback of a build */
}

void other_build_end(void)
{
    builds_unshare();
}
