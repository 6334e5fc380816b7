#define _GNU_SOURCE
#include "base/ending.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

struct call {
    void (*function)(void);
};

static void *run(void *context)
{
    ((const struct call *)context)->function();
    return NULL;
}

void in_other_thread(void (*function)(void))
{
    sigset_t all, before;
    struct call call = {function};
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the application's handlers run in its own threads */
    int failed = pthread_create(&thread, NULL, run, &call);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed == 0)
        pthread_join(thread, NULL);
}
