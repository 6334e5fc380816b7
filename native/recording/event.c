#define _GNU_SOURCE
#include "recording/event.h"

#include "base/locks.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t nanoseconds(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

void event_begin(struct event *event, const char *operation)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    clock_gettime(CLOCK_MONOTONIC, &event->began);
    field_text(&event->fields, "operation", operation);
    field_number(&event->fields, "time", nanoseconds(&time));
    field_number(&event->fields, "number of process", (uint64_t)getpid());
    field_number(&event->fields, "thread", (uint64_t)syscall(SYS_gettid));
}

void event_program(struct event *event, const char *field, struct program_identity program)
{
    field_bytes(&event->fields, field, &program, sizeof program);
}

void event_start(struct event *event, size_t kept)
{
    lock_take(LOCK_RECORDER);
    event->started = spool_name("started");
    lock_give(LOCK_RECORDER);
    if (event->started != NULL)
        spool_write(event->started, &event->fields); /* if it cannot be, neither can the event, which is told then */
    event->fields.size = kept;
}

void event_ended(struct event *event, int64_t status)
{
    struct timespec ended;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    field_number(&event->fields, "duration", nanoseconds(&ended) - nanoseconds(&event->began));
    field_number(&event->fields, "status", (uint64_t)status);
}

void event_write(const struct event *event)
{
    spool_file("build", &event->fields, "a build");
}

void event_free(struct event *event)
{
    writer_free(&event->fields);
    if (event->started != NULL)
        spool_remove(event->started);
    free(event->started);
}
