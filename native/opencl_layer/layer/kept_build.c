#define _GNU_SOURCE
#include "opencl_layer/layer/kept_build.h"

#include "base/files.h"
#include "base/folders.h"
#include "base/owned.h"
#include "base/text.h"
#include "opencl_layer/below.h"
#include "opencl_layer/compilers/kept_folder.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t ROOM_WANTED = UINT64_C(1) << 28;

static pthread_rwlock_t building = PTHREAD_RWLOCK_INITIALIZER; /* held alone by a kept build */
static unsigned taken_before; /* folders */
static _Thread_local unsigned shares; /* how often this thread holds it with others */
static _Thread_local bool alone;      /* whether this thread holds it alone */

/* Tells whether the user wants the process's own compiler left alone. */
static bool refused(void)
{
    const char *wanted = getenv("KERNLENS_SNAPSHOT_OWN_BUILD");
    return wanted != NULL && strcmp(wanted, "0") == 0;
}

bool kept_build_possible(const struct stage_form *form)
{
    return form->compiler->can_keep != NULL && kept_folder() != NULL && !refused() &&
           form->compiler->can_keep(form->stage);
}

/* A child process has one thread, and none of its parent's builds but those that this thread is in: forked in a callback of
 * theirs, or by a driver, they go on here too. */
static void after_fork(void)
{
    building = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    for (unsigned count = 0; count < shares; ++count)
        pthread_rwlock_rdlock(&building);
    if (alone)
        pthread_rwlock_wrlock(&building);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork);
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
    if (!kept_build_possible(form) || pthread_rwlock_trywrlock(&building) != 0)
        return false;
    const char *folder = kept_folder();
    if (make_folder(folder)) {
        /* IGC 1 ends the process when it cannot write some files, IGC 2 then calls the build a failure. */
        alone = folder_room(folder) >= ROOM_WANTED && switch_on(program, form);
        if (alone)
            return true;
        folder_remove(folder);
    }
    pthread_rwlock_unlock(&building);
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
    alone = false;
    pthread_rwlock_unlock(&building);
    RELEASED_BY(file_names_free) struct file_names names = {0};
    return taken != NULL && file_names_read(taken, &names) && names.count > 0 ? GIVE(taken) : NULL;
}

void other_build_begin(void)
{
    /* A thread that holds it may take it again: a callback of a build may begin another. */
    while (pthread_rwlock_rdlock(&building) == EAGAIN)
        ;
    ++shares;
}

void other_build_end(void)
{
    --shares;
    pthread_rwlock_unlock(&building);
}
