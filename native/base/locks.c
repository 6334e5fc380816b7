#define _GNU_SOURCE
#include "base/locks.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

enum { WATCHERS = 24, SECONDS_OF_A_FORK = 1 }; /* seventeen files of the OpenCL layer watch */

static pthread_mutex_t locks[LOCKS] = {[0 ... LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local volatile bool held[LOCKS]; /* volatile: a signal's handler that forks looks at it */
static _Thread_local bool held_for_fork[LOCKS];

static pthread_rwlock_t builds = PTHREAD_RWLOCK_INITIALIZER;
static _Thread_local unsigned shares; /* how often this thread holds it with others */
static _Thread_local bool alone;      /* whether this thread holds it alone */

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local unsigned turns; /* how often this thread has taken it */

static void (*watchers[WATCHERS])(bool (*damaged)(enum lock lock));
static size_t watcher_count;

void lock_take(enum lock lock)
{
    pthread_mutex_lock(&locks[lock]);
    held[lock] = true;
}

void lock_give(enum lock lock)
{
    if (!held[lock])
        return; /* a child process forked meanwhile: the lock is new */
    held[lock] = false;
    pthread_mutex_unlock(&locks[lock]);
}

void builds_share(void)
{
    while (pthread_rwlock_rdlock(&builds) == EAGAIN)
        ;
    ++shares;
}

void builds_unshare(void)
{
    --shares;
    pthread_rwlock_unlock(&builds);
}

bool builds_take_alone(void)
{
    alone = pthread_rwlock_trywrlock(&builds) == 0;
    return alone;
}

void builds_give_alone(void)
{
    alone = false;
    pthread_rwlock_unlock(&builds);
}

void turn_take(void)
{
    if (turns++ == 0)
        pthread_mutex_lock(&turn);
}

void turn_give(void)
{
    if (--turns == 0)
        pthread_mutex_unlock(&turn);
}

/* Waits for changes to end, but not for ever: a thread that makes one may itself wait for what the forking thread holds. */
static void before_fork(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += SECONDS_OF_A_FORK;
    for (int lock = 0; lock < LOCKS; ++lock)
        held_for_fork[lock] = !held[lock] && pthread_mutex_timedlock(&locks[lock], &time) == 0;
}

static void after_fork_in_parent(void)
{
    for (int lock = LOCKS; lock-- > 0;)
        if (held_for_fork[lock])
            pthread_mutex_unlock(&locks[lock]);
}

static bool was_damaged(enum lock lock)
{
    return !held_for_fork[lock];
}

static void after_fork_in_child(void)
{
    for (int lock = 0; lock < LOCKS; ++lock) {
        locks[lock] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        held[lock] = false;
    }
    /* Of the parent's builds the child has those that this thread is in: forked in a callback of theirs, or by a driver, they go
     * on here too. */
    builds = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    for (unsigned count = 0; count < shares; ++count)
        pthread_rwlock_rdlock(&builds);
    if (alone)
        pthread_rwlock_wrlock(&builds);
    turn = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    if (turns > 0)
        pthread_mutex_lock(&turn);
    for (size_t index = 0; index < watcher_count; ++index)
        watchers[index](was_damaged);
}

void forks_watch(void (*in_child)(bool (*damaged)(enum lock lock)))
{
    if (watcher_count < WATCHERS)
        watchers[watcher_count++] = in_child;
}

__attribute__((constructor)) static void handle_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
