/* The device's time of launches. Queues are made with profiling events, and nothing that the application asks shows it: a queue has the
 * properties that the application gave it, its events have no times, and one that is kept here until its launch has ended has one
 * reference less. The events that the application asks for are used; where it asks for none, the driver makes one.
 *
 * A launch's time is read once it has ended: at one of the next launches, when the application waits, or at its end. */
#include "base/locks.h"
#include "base/owned.h"
#include "base/records.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/parts.h"
#include "recording/launch_times.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A queue that has profiling events which the application did not ask for. */
struct timed_queue {
    struct record record;
    cl_queue_properties *given; /* the application's, up to the zero behind them; NULL: it made the queue without such a list */
    size_t given_size;
};

/* A launch that has not been seen to end. */
struct pending {
    struct record record; /* by its event */
    struct counter *counter;
    cl_event event;
    bool is_own; /* no other has the event */
    struct pending *next;
};

/* More launches than these are not waited for: an application that never finishes one has no endless list. */
enum { PENDING = 1 << 16, AT_A_LAUNCH = 2 };

static bool is_on;
static const cl_icd_dispatch *next;
static struct records queues, events; /* LOCK_RECORDER */
static struct pending *first, **end = &first;
static size_t pending_count;
static atomic_bool is_reading; /* by one thread at a time */

static void after_fork(bool (*damaged)(enum lock lock))
{
    /* The launches are the parent's. */
    if (damaged(LOCK_RECORDER))
        queues = (struct records){0};
    events = (struct records){0};
    first = NULL;
    end = &first;
    pending_count = 0;
    atomic_store(&is_reading, false);
}

static struct timed_queue *find_queue(cl_command_queue queue)
{
    return (struct timed_queue *)(void *)records_find(&queues, queue);
}

/* Forgets a queue of this handle, and remembers the new one if it is timed. */
static void note_queue(cl_command_queue queue, struct timed_queue *timed)
{
    lock_take(LOCK_RECORDER);
    struct timed_queue *former = (struct timed_queue *)(void *)records_remove(&queues, queue);
    if (timed != NULL) {
        timed->record.handle = queue;
        records_add(&queues, &timed->record);
    }
    lock_give(LOCK_RECORDER);
    if (former != NULL)
        free(former->given);
    free(former);
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                                 cl_int *error_ret)
{
    FREED struct timed_queue *timed = properties & CL_QUEUE_PROFILING_ENABLE ? NULL : calloc(1, sizeof *timed);
    cl_command_queue queue = NULL;
    if (timed != NULL)
        queue = next->clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE, error_ret);
    bool is_timed = queue != NULL;
    if (queue == NULL)
        queue = next->clCreateCommandQueue(context, device, properties, error_ret);
    if (queue != NULL)
        note_queue(queue, is_timed ? GIVE(timed) : NULL);
    return queue;
}

/* Returns the bits that a list of properties gives a queue, and the number of its words, the zero included. */
static cl_command_queue_properties bits_of(const cl_queue_properties *properties, size_t *count)
{
    cl_command_queue_properties bits = 0;
    for (*count = 0; properties != NULL && properties[*count] != 0; *count += 2)
        if (properties[*count] == CL_QUEUE_PROPERTIES)
            bits = properties[*count + 1];
    *count += properties != NULL;
    return bits;
}

/* Makes the properties with profiling events from the application's; NULL if they are there, or cannot be: queues on a device. */
static cl_queue_properties *with_profiling(const cl_queue_properties *properties, size_t *count)
{
    cl_command_queue_properties bits = bits_of(properties, count);
    if (bits & (CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_ON_DEVICE))
        return NULL;
    cl_queue_properties *more = calloc(*count + 3, sizeof *more);
    if (more == NULL)
        return NULL;
    more[0] = CL_QUEUE_PROPERTIES;
    more[1] = bits | CL_QUEUE_PROFILING_ENABLE;
    size_t used = 2;
    for (size_t place = 0; place + 1 < *count; place += 2) {
        if (properties[place] == CL_QUEUE_PROPERTIES)
            continue;
        more[used++] = properties[place];
        more[used++] = properties[place + 1];
    }
    return more;
}

static cl_command_queue CL_API_CALL create_queue_with(cl_context context, cl_device_id device, const cl_queue_properties *properties,
                                                      cl_int *error_ret)
{
    size_t count = 0;
    FREED cl_queue_properties *more = with_profiling(properties, &count);
    FREED struct timed_queue *timed = more != NULL ? calloc(1, sizeof *timed) : NULL;
    FREED cl_queue_properties *given = timed != NULL && count > 0 ? calloc(count, sizeof *given) : NULL;
    cl_command_queue queue = NULL;
    if (timed != NULL && (given != NULL || count == 0))
        queue = next->clCreateCommandQueueWithProperties(context, device, more, error_ret);
    bool is_timed = queue != NULL;
    if (queue == NULL)
        queue = next->clCreateCommandQueueWithProperties(context, device, properties, error_ret);
    if (is_timed) {
        timed->given_size = count * sizeof *given;
        if (count > 0)
            memcpy(given, properties, timed->given_size);
        timed->given = GIVE(given);
    }
    if (queue != NULL)
        note_queue(queue, is_timed ? GIVE(timed) : NULL);
    return queue;
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue queue, cl_command_queue_info name, size_t room, void *value,
                                         size_t *size_ret)
{
    if (name != CL_QUEUE_PROPERTIES && name != CL_QUEUE_PROPERTIES_ARRAY)
        return next->clGetCommandQueueInfo(queue, name, room, value, size_ret);
    lock_take(LOCK_RECORDER);
    const struct timed_queue *timed = find_queue(queue);
    size_t size = timed != NULL ? timed->given_size : 0;
    FREED void *given = size > 0 ? malloc(size) : NULL;
    if (given != NULL)
        memcpy(given, timed->given, size);
    bool is_timed = timed != NULL;
    lock_give(LOCK_RECORDER);
    if (is_timed && name == CL_QUEUE_PROPERTIES_ARRAY) {
        size_t known = 0; /* an older driver does not know the question */
        cl_int status = next->clGetCommandQueueInfo(queue, name, 0, NULL, &known);
        return status == CL_SUCCESS ? info_answer(given, size, room, value, size_ret) : status;
    }
    cl_int status = next->clGetCommandQueueInfo(queue, name, room, value, size_ret);
    if (is_timed && status == CL_SUCCESS && value != NULL)
        *(cl_command_queue_properties *)value &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
    return status;
}

static bool is_of_timed_queue(cl_event event)
{
    cl_command_queue queue = NULL;
    if (records_none(&queues) ||
        below->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(cl_command_queue), (void *)&queue, NULL) != CL_SUCCESS)
        return false;
    lock_take(LOCK_RECORDER);
    bool is_timed = find_queue(queue) != NULL;
    lock_give(LOCK_RECORDER);
    return is_timed;
}

static cl_int CL_API_CALL get_profiling_info(cl_event event, cl_profiling_info name, size_t room, void *value, size_t *size_ret)
{
    return is_of_timed_queue(event) ? CL_PROFILING_INFO_NOT_AVAILABLE
                                    : next->clGetEventProfilingInfo(event, name, room, value, size_ret);
}

static bool is_kept(cl_event event)
{
    lock_take(LOCK_RECORDER);
    bool kept = records_find(&events, event) != NULL;
    lock_give(LOCK_RECORDER);
    return kept;
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info name, size_t room, void *value, size_t *size_ret)
{
    if (name != CL_EVENT_REFERENCE_COUNT)
        return next->clGetEventInfo(event, name, room, value, size_ret);
    cl_int status;
    bool was_kept;
    do { /* another thread may give the event back meanwhile */
        was_kept = is_kept(event);
        status = next->clGetEventInfo(event, name, room, value, size_ret);
    } while (was_kept != is_kept(event));
    if (status == CL_SUCCESS && value != NULL && was_kept)
        --*(cl_uint *)value;
    return status;
}

/* Takes a launch off the list. With LOCK_RECORDER held. */
static struct pending *take(struct pending **place)
{
    struct pending *taken = *place;
    *place = taken->next;
    if (end == &taken->next)
        end = place;
    --pending_count;
    if (!taken->is_own)
        records_remove(&events, taken->event);
    return taken;
}

static cl_ulong moment(cl_event event, cl_profiling_info what)
{
    cl_ulong nanoseconds = 0;
    return below->clGetEventProfilingInfo(event, what, sizeof nanoseconds, &nanoseconds, NULL) == CL_SUCCESS ? nanoseconds : 0;
}

/* Counts a launch that has ended; `status` is its event's. Frees it. */
static void count(struct pending *launch, cl_int status)
{
    cl_ulong start = moment(launch->event, CL_PROFILING_COMMAND_START), stop = moment(launch->event, CL_PROFILING_COMMAND_END);
    lock_take(LOCK_RECORDER);
    if (status == CL_COMPLETE && stop >= start && stop != 0)
        launch_time(launch->counter, stop - start);
    lock_give(LOCK_RECORDER);
    below->clReleaseEvent(launch->event);
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
        atexit(read_all); /* before what the driver has done at the end, as that asked for it earlier */
    FREED struct pending *launch = calloc(1, sizeof *launch);
    if (launch == NULL || (!is_own && below->clRetainEvent(event) != CL_SUCCESS)) {
        if (is_own)
            below->clReleaseEvent(event);
        return;
    }
    *launch = (struct pending){.record.handle = event, .event = event, .is_own = is_own};
    lock_take(LOCK_RECORDER);
    launch->counter = counters_find(kernel, device);
    bool is_counted = launch->counter != NULL;
    if (is_counted) {
        if (!is_own)
            records_add(&events, &launch->record);
        *end = GIVE(launch);
        end = &(*end)->next;
        ++pending_count;
    }
    lock_give(LOCK_RECORDER);
    if (!is_counted)
        below->clReleaseEvent(event);
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
    cl_uint references = 0;
    if (!is_on)
        return;
    read_all();
    below->clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL);
    if (references == 1)
        note_queue(queue, NULL);
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
    dispatch->clCreateCommandQueue = create_queue;
    dispatch->clCreateCommandQueueWithProperties = create_queue_with;
    dispatch->clGetCommandQueueInfo = get_queue_info;
    dispatch->clGetEventProfilingInfo = get_profiling_info;
    dispatch->clGetEventInfo = get_event_info;
    dispatch->clFinish = finish;
    dispatch->clWaitForEvents = wait_for_events;
    dispatch->clReleaseContext = release_context;
}
