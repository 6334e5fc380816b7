#define _GNU_SOURCE
#include "own_dumps.h"

#include "files.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t ROOM_WANTED = UINT64_C(1) << 28;

static pthread_rwlock_t building = PTHREAD_RWLOCK_INITIALIZER; /* held alone by a build that keeps a stage */
static char *folder; /* for its files; always the same, as the compilers keep the name they got first */
static unsigned taken_before; /* folders */
static _Thread_local unsigned passing; /* how often this thread holds it with others */

const char *own_dumps_folder(void)
{
    static bool named;
    if (!named)
        folder = folder_name();
    named = true;
    return folder;
}

/* Whether the user wants the process's own compiler left alone. */
static bool refused(void)
{
    const char *wanted = getenv("KERNLENS_SNAPSHOT_OWN_BUILD");
    return wanted != NULL && strcmp(wanted, "0") == 0;
}

bool own_dumps_possible(const struct request *request)
{
    return request->compiler->own_possible != NULL && own_dumps_folder() != NULL && !refused() &&
           request->compiler->own_possible(request->stage);
}

static bool switch_on(const struct request *request)
{
    struct environment wanted = {0};
    request->compiler->set_dumps(&wanted, request->stage, request->text, folder);
    bool on = request->compiler->own_begin(request->program, &wanted);
    environment_free(&wanted);
    return on;
}

/* A child process has one thread and none of its parent's builds. Its IGC keeps the parent's folder, which it must not use. */
static void after_fork(void)
{
    building = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    for (unsigned count = 0; count < passing; ++count) /* forked in a callback of a build, which goes on here too */
        pthread_rwlock_rdlock(&building);
    folder = NULL;
}

/* When the layer is loaded: the environment still says what the user wants, and there is one thread as a rule. */
__attribute__((constructor)) static void prepare(void)
{
    own_dumps_folder();
    pthread_atfork(NULL, NULL, after_fork);
}

/* The name is this process's alone: a folder that is there could not be removed once, for want of a descriptor for example. */
static bool make_folder(void)
{
    if (folder_make_named(folder))
        return true;
    if (errno != EEXIST)
        return false;
    folder_remove(folder);
    return folder_make_named(folder);
}

bool own_dumps_begin(const struct request *request)
{
    /* Not waiting for other builds: one of them may wait for this one, which a callback of its may have begun. */
    if (!own_dumps_possible(request) || pthread_rwlock_trywrlock(&building) != 0)
        return false;
    if (make_folder()) {
        /* IGC 1 ends the process when it cannot write some files, IGC 2 then calls the build a failure. */
        if (folder_room(folder) >= ROOM_WANTED && switch_on(request))
            return true;
        folder_remove(folder);
    }
    pthread_rwlock_unlock(&building);
    return false;
}

char *own_dumps_end(const struct request *request)
{
    struct file_names names = {0};
    bool kept = request->compiler->own_end(folder);
    char *taken = kept ? text_format("%s.%u", folder, ++taken_before) : NULL;
    kept = taken != NULL && rename(folder, taken) == 0;
    if (!kept)
        folder_remove(folder);
    pthread_rwlock_unlock(&building);
    bool some = kept && file_names_read(taken, &names) && names.count > 0;
    file_names_free(&names);
    if (some)
        return taken;
    if (kept)
        folder_remove(taken);
    free(taken);
    return NULL;
}

void own_dumps_pass_begin(void)
{
    /* A thread that holds it may take it again: a callback of a build may begin another. */
    while (pthread_rwlock_rdlock(&building) == EAGAIN)
        ;
    ++passing;
}

void own_dumps_pass_end(void)
{
    --passing;
    pthread_rwlock_unlock(&building);
}
