/* The device's time of launches, by profiling events (timed_queues.c). Nothing that the application asks shows them: they have no
 * times, and one that is held here until its launch has ended has one reference less. The events that the application asks for are
 * used; where it asks for none, the driver makes one.
 *
 * A launch's time is read once it has ended: at one of the next launches, when the application waits, or at its end. */
#include "base/ending.h"
#include "base/locks.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/parts.h"
#include "recording/launch_times.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* A launch that has not been seen to end. */
struct pending {
    struct counter *counter;
    cl_event event;
    bool is_own; /* no other has the event */
    bool is_first;
    struct pending *next;
};

/* More launches than these are not waited for: an application that never finishes one has no endless list. */
enum { PENDING = 1 << 16, AT_A_LAUNCH = 2 };

static bool is_on;
static const cl_icd_dispatch *next;
static struct pending *first, **end = &first; /* LOCK_RECORDER */
static size_t pending_count;
static atomic_bool is_reading; /* by one thread at a time */

static void after_fork(bool (*damaged)(enum lock lock))
{
    (void)damaged; /* the launches are the parent's */
    first = NULL;
    end = &first;
    pending_count = 0;
    atomic_store(&is_reading, false);
}

static cl_int CL_API_CALL get_profiling_info(cl_event event, cl_profiling_info name, size_t room, void *value, size_t *size_ret)
{
    return queue_is_timed_of(event) ? CL_PROFILING_INFO_NOT_AVAILABLE
                                    : next->clGetEventProfilingInfo(event, name, room, value, size_ret);
}

/* Takes a launch off the list. With LOCK_RECORDER held. */
static struct pending *take(struct pending **place)
{
    struct pending *taken = *place;
    *place = taken->next;
    if (end == &taken->next)
        end = place;
    --pending_count;
    return taken;
}

static cl_ulong moment(cl_event event, cl_profiling_info what)
{
    cl_ulong nanoseconds = 0;
    return below->clGetEventProfilingInfo(event, what, sizeof nanoseconds, &nanoseconds, NULL) == CL_SUCCESS ? nanoseconds : 0;
}

static void give_back(const struct pending *launch)
{
    if (launch->is_own)
        below->clReleaseEvent(launch->event);
    else
        event_give_back(launch->event);
}

/* Counts a launch that has ended; `status` is its event's. Frees it. */
static void count(struct pending *launch, cl_int status)
{
    cl_ulong start = moment(launch->event, CL_PROFILING_COMMAND_START), stop = moment(launch->event, CL_PROFILING_COMMAND_END);
    lock_take(LOCK_RECORDER);
    if (status == CL_COMPLETE && stop >= start && stop != 0)
        launch_time(launch->counter, stop - start, launch->is_first);
    lock_give(LOCK_RECORDER);
    give_back(launch);
    free(launch);
}

/* Reads the times of launches that have ended, among the first ones of the list. */
static void read_times(size_t most)
{
    if (!is_on || atomic_exchange(&is_reading, true))
        return;
    lock_take(LOCK_RECORDER);
    struct pending **place = &first;
    while (most-- > 0 && *place != NULL) {
        cl_event event = (*place)->event; /* none but this thread takes it off the list */
        bool is_too_many = pending_count > PENDING;
        lock_give(LOCK_RECORDER);
        cl_int status = CL_QUEUED;
        below->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        lock_take(LOCK_RECORDER);
        if (status > CL_COMPLETE && !is_too_many) {
            place = &(*place)->next;
            continue;
        }
        struct pending *ended = take(place);
        lock_give(LOCK_RECORDER);
        count(ended, status);
        lock_take(LOCK_RECORDER);
    }
    lock_give(LOCK_RECORDER);
    atomic_store(&is_reading, false);
}

static void read_all(void)
{
    read_times(SIZE_MAX);
}

static void read_all_at_the_end(void)
{
    in_other_thread(read_all);
}

cl_event *timed_event(cl_event *asked, cl_event *own)
{
    return is_on && asked == NULL ? own : asked;
}

void timed_launch(cl_kernel kernel, cl_device_id device, cl_event event, bool is_own)
{
    static atomic_flag is_known = ATOMIC_FLAG_INIT;
    if (!is_on || event == NULL)
        return;
    if (!atomic_flag_test_and_set(&is_known))
        atexit(read_all_at_the_end); /* before what the driver has done at the end, as that asked for it earlier */
    FREED struct pending *launch = calloc(1, sizeof *launch);
    if (launch == NULL || (!is_own && !event_hold_for_capture(event))) {
        if (is_own)
            below->clReleaseEvent(event);
        return;
    }
    *launch = (struct pending){.event = event, .is_own = is_own};
    lock_take(LOCK_RECORDER);
    launch->counter = counters_find(kernel, device);
    bool is_counted = launch->counter != NULL;
    if (is_counted) {
        launch->is_first = counter_begins_times(launch->counter);
        *end = GIVE(launch);
        end = &(*end)->next;
        ++pending_count;
    }
    lock_give(LOCK_RECORDER);
    if (!is_counted)
        give_back(launch);
    read_times(AT_A_LAUNCH);
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    cl_int status = next->clFinish(queue);
    read_all();
    return status;
}

static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *list)
{
    cl_int status = next->clWaitForEvents(count, list);
    read_all();
    return status;
}

void timed_queue_releases(cl_command_queue queue)
{
    if (is_on)
        read_all();
    timed_queue_forget(queue);
}

static cl_int CL_API_CALL release_context(cl_context context)
{
    read_all();
    return next->clReleaseContext(context);
}

void timed_launches_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind)
{
    if (getenv("KERNLENS_CAPTURE_TIME") == NULL)
        return;
    is_on = true;
    next = behind;
    forks_watch(after_fork);
    launch_times_watch();
    timed_queues_hook(dispatch, behind);
    dispatch->clGetEventProfilingInfo = get_profiling_info;
    held_events_hook(dispatch, behind);
    dispatch->clFinish = finish;
    dispatch->clWaitForEvents = wait_for_events;
    dispatch->clReleaseContext = release_context;
}
