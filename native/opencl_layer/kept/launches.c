/* A launch that is kept: its memory is read before it and after it by commands of the same queue, so in the order in which the
 * application's own run. What follows the launch waits for that too (followers.c). Once the last command is done, the driver calls back,
 * and the launch is written. */
#define _GNU_SOURCE
#include "opencl_layer/kept/launches.h"

#include "base/ending.h"
#include "base/locks.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/kept/parts.h"
#include "opencl_layer/recorder/parts.h"
#include "recording/kept_files.h"
#include "recording/spool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct kept_launch {
    struct given_kernel *given_kernel;
    struct reached_list reached;
    char *file;
    struct reading reading;
    bool is_ordered, is_simulated, is_own_event, is_failed;
    cl_event own_event, *event; /* where the driver puts the launch's: the application's place, or the former */
    cl_event launch_event;      /* held; NULL: not needed */
    cl_event *waits;            /* the application's, and the last command's */
    struct followed *followed;  /* NULL: nothing is read after it */
    struct kept_launch *next;
};

static cl_icd_dispatch behind;
static bool is_on;
static struct kept_launch *unwritten; /* LOCK_RECORDER: launches that have not been written */
static atomic_uint being_written;

static void after_fork(bool (*damaged)(enum lock lock))
{
    (void)damaged;
    unwritten = NULL; /* they are the parent's */
    atomic_store(&being_written, 0);
}

static void release(struct kept_launch *launch)
{
    followed_end(launch->followed);
    if (launch->reading.last != NULL)
        below->clReleaseEvent(launch->reading.last);
    if (launch->launch_event != NULL && launch->is_own_event)
        below->clReleaseEvent(launch->launch_event);
    else if (launch->launch_event != NULL)
        event_give_back(launch->launch_event);
    reached_free(&launch->reached);
    given_free(launch->given_kernel);
    free(launch->file);
    free(launch->waits);
    free(launch);
}

static uint64_t time_of(cl_event event)
{
    cl_ulong start = 0, end = 0;
    if (event == NULL ||
        below->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) != CL_SUCCESS ||
        below->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) != CL_SUCCESS || end < start)
        return 0;
    return end - start;
}

/* Writes a launch whose commands are done, or drops it. */
static void write_launch(struct kept_launch *launch, bool is_done)
{
    uint64_t nanoseconds = is_done ? time_of(launch->launch_event) : 0, former_size = 0;
    FREED char *former = NULL;
    bool is_kept = is_done && !launch->is_failed;
    if (is_kept && launch->given_kernel->if_slowest) {
        lock_take(LOCK_RECORDER);
        is_kept = chosen_is_slowest(launch->given_kernel->name, nanoseconds, launch->file, launch->reached.size, &former, &former_size);
        lock_give(LOCK_RECORDER);
    }
    if (!is_kept)
        kept_file_drop(launch->file, false);
    else if (!kept_file_end(launch->file, &launch->reached, nanoseconds))
        is_kept = false;
    if (is_kept && former != NULL)
        kept_file_drop(former, true);
    kept_room_back(is_kept ? former_size : launch->reached.size);
}

/* Takes the launch off the list, for who writes it; false if another has, who frees it. */
static bool take(const struct kept_launch *launch)
{
    lock_take(LOCK_RECORDER);
    struct kept_launch **place = &unwritten;
    while (*place != NULL && *place != launch)
        place = &(*place)->next;
    bool is_here = *place != NULL;
    if (is_here) {
        *place = launch->next;
        atomic_fetch_add(&being_written, 1);
    }
    lock_give(LOCK_RECORDER);
    return is_here;
}

/* Writes a launch that was taken off the list, and frees it. */
static void finish(struct kept_launch *launch, bool is_done)
{
    int before = errno;
    write_launch(launch, is_done);
    release(launch);
    errno = before;
    atomic_fetch_sub(&being_written, 1);
}

static void CL_CALLBACK commands_ended(cl_event event, cl_int status, void *context)
{
    (void)event;
    if (take(context))
        finish(context, status == CL_COMPLETE);
}

static cl_event last_of(const struct kept_launch *launch)
{
    return launch->reading.last != NULL ? launch->reading.last : launch->launch_event;
}

/* At the process's end: the driver may not have called back for what has ended, and writes for others still. What has not ended stays as
 * it is, for commands that still run write to its memory. */
static void write_rest(void)
{
    enum { TENTHS = 600 };
    lock_take(LOCK_RECORDER);
    struct kept_launch *rest = unwritten;
    unwritten = NULL;
    lock_give(LOCK_RECORDER);
    while (rest != NULL) {
        struct kept_launch *launch = rest;
        cl_int status = CL_QUEUED;
        rest = launch->next;
        below->clGetEventInfo(last_of(launch), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        if (status > CL_COMPLETE)
            continue;
        atomic_fetch_add(&being_written, 1);
        finish(launch, status == CL_COMPLETE);
    }
    for (unsigned tenth = 0; atomic_load(&being_written) > 0 && tenth < TENTHS; ++tenth)
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

static void write_rest_at_the_end(void)
{
    in_other_thread(write_rest);
}

void launches_settle(void)
{
    enum { TIMES = 50 };
    for (unsigned time = 0; time < TIMES; ++time) {
        lock_take(LOCK_RECORDER);
        bool is_settled = unwritten == NULL && atomic_load(&being_written) == 0;
        lock_give(LOCK_RECORDER);
        if (is_settled)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* Finds what the launch reaches, takes room for it, and begins its file; false if it cannot be kept. */
static bool prepare(struct kept_launch *launch, const struct launching *launching)
{
    cl_context context = NULL;
    below->clGetCommandQueueInfo(launching->queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    launch->reading = (struct reading){.queue = launching->queue, .context = context};
    if (!reached_find(&launch->reached, context, launching->kernel, launch->given_kernel))
        return false;
    if (launch->is_simulated)
        reached_by_nothing(&launch->reached);
    reached_count(&launch->reached);
    launch->file = kept_file_begin(launch->given_kernel, &launch->reached, known_queue_device(launching->queue),
                                   launching->dimensions, launching->offset, launching->global, launching->local);
    return launch->file != NULL;
}

/* Has the launch wait for what is read before it. */
static void wait_for_reading(struct kept_launch *launch, struct launching *launching)
{
    if (launch->reading.last == NULL || launch->is_ordered)
        return;
    launch->waits = calloc((size_t)launching->count + 1, sizeof(cl_event));
    if (launch->waits == NULL) {
        launch->is_failed = true; /* what was read may be later */
        return;
    }
    if (launching->count > 0)
        memcpy(launch->waits, launching->events, launching->count * sizeof(cl_event));
    launch->waits[launching->count++] = launch->reading.last;
    launching->events = launch->waits;
}

struct kept_launch *kept_launch_begin(struct launching *launching)
{
    struct given_kernel *own = is_on ? given_for_launch(launching->kernel) : NULL;
    struct kept_launch *launch = own != NULL ? calloc(1, sizeof *launch) : NULL;
    if (launch == NULL)
        return given_free(own), NULL;
    launch->given_kernel = own;
    launch->is_ordered = is_in_order(launching->queue);
    launch->is_simulated = is_simulated(known_queue_device(launching->queue));
    if (!prepare(launch, launching)) {
        release(launch);
        return NULL;
    }
    if (launch->is_simulated)
        reached_peek(&launch->reached); /* a command of the driver's would read what lies there, which is no content */
    for (size_t index = 0; !launch->is_simulated && index < launch->reached.count; ++index) {
        struct reached *memory = &launch->reached.items[index];
        contents_read(&launch->reading, memory, &memory->before, &memory->refused_before, launching->count, launching->events);
    }
    wait_for_reading(launch, launching);
    launch->is_own_event = launching->event == NULL;
    launch->event = launching->event != NULL ? launching->event : &launch->own_event;
    launching->event = launch->event;
    return launch;
}

/* Puts the launch where it is written once its last command is done. */
static void watch(struct kept_launch *launch)
{
    static atomic_flag is_known = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&is_known))
        atexit(write_rest_at_the_end); /* before what the driver has done at the end, as that asked for it earlier */
    lock_take(LOCK_RECORDER);
    launch->next = unwritten;
    unwritten = launch;
    lock_give(LOCK_RECORDER);
    if (below->clSetEventCallback(last_of(launch), CL_COMPLETE, commands_ended, launch) != CL_SUCCESS)
        spool_missing("launches of a driver that does not tell of their end", 0);
}

void kept_launch_end(struct kept_launch *launch, cl_int status)
{
    if (launch == NULL)
        return;
    launch->is_failed = launch->is_failed || status != CL_SUCCESS;
    cl_event event = status == CL_SUCCESS ? *launch->event : NULL;
    if (event != NULL && (launch->is_own_event || event_hold_for_capture(event)))
        launch->launch_event = event;
    for (size_t index = 0; !launch->is_failed && index < launch->reached.count; ++index) {
        struct reached *memory = &launch->reached.items[index];
        if (index == 0 && launch->reading.last != NULL) {
            below->clReleaseEvent(launch->reading.last); /* the launch follows it */
            launch->reading.last = NULL;
        }
        if (memory->is_written)
            contents_read(&launch->reading, memory, &memory->after, &memory->refused_after, event != NULL, &event);
    }
    if (last_of(launch) == NULL) {
        write_launch(launch, false);
        release(launch);
        return;
    }
    if (event != NULL && launch->reading.last != NULL)
        launch->followed = followed_begin(&launch->reading, launch->is_ordered, event);
    below->clFlush(launch->reading.queue); /* other queues wait for what is read here, which they do not know */
    watch(launch);
}

void *kept_launches_function(cl_platform_id platform, const char *name, void *of_platform)
{
    return is_on ? unified_function(platform, name, of_platform) : of_platform;
}

void kept_launches_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *next)
{
    if (!chosen_open())
        return;
    is_on = true;
    held_events_hook(dispatch, next);
    behind = *dispatch;
    forks_watch(after_fork);
    kernels_hook(dispatch, &behind);
    objects_hook(dispatch, &behind);
    references_hook(dispatch, &behind);
    followers_hook(dispatch, &behind);
}
