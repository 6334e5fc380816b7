#define _GNU_SOURCE
#include "recording/current_calls.h"

#include "base/locks.h"
#include "recording/spool.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As files have it (kernlens/verbs/capture/spooled.py). */
struct current_call {
    atomic_uint busy;
    uint32_t process, thread, unused;
    char name[CALL_NAME];
};
static_assert(sizeof(struct current_call) == 64, "a line of the cache, and the file's layout");
/* More calls at once are not noted. */
enum { CALLS = 256, TRIES = 8 };

static _Atomic(struct current_call *) calls; /* NULL: no file yet */
static atomic_bool is_refused;               /* there can be none */
static atomic_uint threads;
static uint32_t process;
static _Thread_local uint32_t thread, place; /* thread is 0 before its first call */

static void after_fork(bool (*damaged)(enum lock lock))
{
    (void)damaged;
    calls = NULL; /* that memory is the parent's */
    is_refused = false;
    thread = 0;
}

static struct current_call *open_calls(void)
{
    if (is_refused)
        return NULL;
    lock_take(LOCK_RECORDER);
    struct current_call *opened = calls;
    if (opened == NULL && !is_refused) {
        void *memory = spool_memory("calls", CALLS * sizeof *opened);
        is_refused = memory == MAP_FAILED;
        opened = is_refused ? NULL : memory;
        process = (uint32_t)getpid();
        calls = opened;
    }
    lock_give(LOCK_RECORDER);
    return opened;
}

struct current_call *call_entered(const char *name)
{
    struct current_call *all = calls;
    if (all == NULL && (all = open_calls()) == NULL)
        return NULL;
    if (thread == 0) {
        thread = (uint32_t)syscall(SYS_gettid);
        place = atomic_fetch_add(&threads, 1);
    }
    for (uint32_t tried = 0; tried < TRIES; ++tried) {
        struct current_call *call = &all[(place + tried) % CALLS];
        unsigned unused = 0;
        if (!atomic_compare_exchange_strong(&call->busy, &unused, 1))
            continue;
        call->process = process;
        call->thread = thread;
        memcpy(call->name, name, CALL_NAME);
        return call;
    }
    return NULL;
}

void call_left(struct current_call *call)
{
    if (call != NULL)
        atomic_store_explicit(&call->busy, 0, memory_order_release);
}

void calls_watch(void)
{
    forks_watch(after_fork);
}
