#include "decoder/work.h"

#ifdef _WIN32 /* untested: no Windows machine has run this yet */
#include <windows.h>
typedef HANDLE thread;
typedef volatile LONG64 shared_counter;
#define TAKE_NEXT(counter) ((size_t)(InterlockedIncrement64(counter) - 1))
#else
#include <pthread.h>
#include <stdatomic.h>
typedef pthread_t thread;
typedef atomic_size_t shared_counter;
#define TAKE_NEXT(counter) atomic_fetch_add_explicit(counter, 1, memory_order_relaxed)
#endif

enum { MAX_THREADS = 64 };

typedef struct {
    work_step step;
    void *context;
    size_t count;
    shared_counter next;
} work;

static void take_steps(work *shared)
{
    for (;;) {
        size_t index = TAKE_NEXT(&shared->next);
        if (index >= shared->count)
            return;
        shared->step(shared->context, index);
    }
}

#ifdef _WIN32
static DWORD WINAPI run(LPVOID shared)
{
    take_steps(shared);
    return 0;
}

static int start(thread *started, work *shared)
{
    *started = CreateThread(NULL, 0, run, shared, 0, NULL);
    return *started != NULL;
}

static void finish(thread started)
{
    WaitForSingleObject(started, INFINITE);
    CloseHandle(started);
}
#else
static void *run(void *shared)
{
    take_steps(shared);
    return NULL;
}

static int start(thread *started, work *shared)
{
    return pthread_create(started, NULL, run, shared) == 0;
}

static void finish(thread started)
{
    pthread_join(started, NULL);
}
#endif

void work_run(work_step step, void *context, size_t count, unsigned threads)
{
    work shared = {.step = step, .context = context, .count = count};
    thread others[MAX_THREADS];
    unsigned started = 0;
    while (started + 1 < threads && started + 1 < count && started < MAX_THREADS && start(&others[started], &shared))
        started++;
    take_steps(&shared);
    while (started > 0)
        finish(others[--started]);
}
