#define _GNU_SOURCE
#include "recording/event.h"

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
    event->time = nanoseconds(&time);
    field_number(&event->fields, "time", event->time);
    field_number(&event->fields, "number of process", (uint64_t)getpid());
    field_number(&event->fields, "thread", (uint64_t)syscall(SYS_gettid));
}

void event_program(struct event *event, const char *field, struct program_identity program)
{
    field_bytes(&event->fields, field, &program, sizeof program);
}

void event_start(struct event *event, size_t size)
{
    spool_add(ENTRY_STARTED, event->time, &event->fields, &event->started); /* if it cannot be, neither can the event */
    event->fields.size = size;
}

void event_ended(struct event *event, int64_t status)
{
    struct timespec ended;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    uint64_t duration = nanoseconds(&ended) - nanoseconds(&event->began);
    event->time += duration;
    field_number(&event->fields, "duration", duration);
    event_answer(event, status);
}

void event_answer(struct event *event, int64_t status)
{
    field_number(&event->fields, "status", (uint64_t)status); /* of several the last counts */
}

void event_hold(struct event *event)
{
    struct spool_entry begun = event->started;
    int error = spool_add(ENTRY_BUILD, event->time, &event->fields, &event->started);
    event->is_held = error == 0;
    if (error != 0) {
        spool_missing("a build", error);
        event->started = begun;
    } else if (begun.file != 0) {
        spool_take_back(&begun);
    }
}

void event_keep(struct event *event)
{
    if (event->is_held)
        event->started.file = 0;
}

void event_write(const struct event *event)
{
    struct spool_entry entry;
    int error = spool_add(ENTRY_BUILD, event->time, &event->fields, &entry);
    if (error != 0)
        spool_missing("a build", error);
}

void event_free(struct event *event)
{
    writer_free(&event->fields);
    if (event->started.file != 0)
        spool_take_back(&event->started);
}
