/* Commands that may come behind a launch that is kept. What is read after the launch is what it left, so whatever follows it also waits
 * for that reading: what waits for the launch's event, and what is enqueued once that is complete. A barrier in the launch's queue would
 * be less to write, but would hang an application that waits for a later command before it sets the user event that the launch waits for. */
#include "base/locks.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/kept/parts.h"
#include "opencl_layer/recorder/parts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A launch that may have ended, and what is still read after it. */
struct followed {
    struct followed *next;
    cl_context context;
    cl_command_queue queue; /* NULL: it has no order */
    cl_event launch, reading;
    unsigned holders; /* LOCK_RECORDER */
};

/* A command that is being enqueued: what it waits for. */
struct follower {
    cl_uint count;
    const cl_event *events;
    cl_event *all; /* the application's and others; NULL: those alone */
    struct followed **held;
    size_t held_count;
};

static const cl_icd_dispatch *next;
static struct followed *all_followed; /* LOCK_RECORDER */
static atomic_uint followed_count;

static void after_fork(bool (*damaged)(enum lock lock))
{
    (void)damaged; /* the launches are the parent's */
    all_followed = NULL;
    atomic_store(&followed_count, 0);
}

static void let_go(struct followed *followed)
{
    lock_take(LOCK_RECORDER);
    bool is_last = --followed->holders == 0;
    lock_give(LOCK_RECORDER);
    if (!is_last)
        return;
    event_give_back(followed->launch);
    below->clReleaseEvent(followed->reading);
    free(followed);
}

struct followed *followed_begin(const struct reading *reading, bool is_ordered, cl_event launch)
{
    struct followed *followed = calloc(1, sizeof *followed);
    if (followed == NULL || !event_hold_for_capture(launch))
        return free(followed), NULL;
    below->clRetainEvent(reading->last);
    *followed = (struct followed){
        .context = reading->context, .queue = is_ordered ? reading->queue : NULL, .launch = launch, .reading = reading->last, .holders = 1};
    lock_take(LOCK_RECORDER);
    followed->next = all_followed;
    all_followed = followed;
    lock_give(LOCK_RECORDER);
    atomic_fetch_add(&followed_count, 1);
    return followed;
}

void followed_end(struct followed *followed)
{
    if (followed == NULL)
        return;
    atomic_fetch_sub(&followed_count, 1);
    lock_take(LOCK_RECORDER);
    struct followed **place = &all_followed;
    while (*place != NULL && *place != followed)
        place = &(*place)->next;
    if (*place != NULL)
        *place = followed->next;
    lock_give(LOCK_RECORDER);
    let_go(followed);
}

/* Holds what a command of this queue may follow; drivers are asked without the lock, as they call back with locks of their own. */
static void hold_all(struct follower *follower, cl_command_queue queue)
{
    size_t count = 0;
    lock_take(LOCK_RECORDER);
    for (const struct followed *each = all_followed; each != NULL; each = each->next)
        count += each->queue != queue;
    follower->held = count > 0 ? calloc(count, sizeof(struct followed *)) : NULL;
    for (struct followed *each = follower->held != NULL ? all_followed : NULL; each != NULL; each = each->next) {
        if (each->queue == queue)
            continue;
        ++each->holders;
        follower->held[follower->held_count++] = each;
    }
    lock_give(LOCK_RECORDER);
}

static bool follows(cl_command_queue queue, const struct followed *followed, cl_uint count, const cl_event *events)
{
    for (cl_uint index = 0; index < count; ++index) {
        if (events[index] == followed->launch)
            return true;
    }
    cl_context context = NULL;
    cl_int status = CL_QUEUED;
    below->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    below->clGetEventInfo(followed->launch, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return context == followed->context && status == CL_COMPLETE;
}

static struct follower follower_begin(cl_command_queue queue, cl_uint count, const cl_event *events)
{
    struct follower follower = {.count = count, .events = events};
    if (atomic_load(&followed_count) == 0 || (count == 0) != (events == NULL))
        return follower;
    hold_all(&follower, queue);
    follower.all = follower.held_count > 0 ? calloc((size_t)count + follower.held_count, sizeof(cl_event)) : NULL;
    if (follower.all == NULL)
        return follower;
    if (count > 0)
        memcpy(follower.all, events, count * sizeof(cl_event));
    for (size_t index = 0; index < follower.held_count; ++index) {
        if (follows(queue, follower.held[index], count, events))
            follower.all[follower.count++] = follower.held[index]->reading;
    }
    if (follower.count > count)
        follower.events = follower.all;
    return follower;
}

static void follower_end(struct follower *follower)
{
    for (size_t index = 0; index < follower->held_count; ++index)
        let_go(follower->held[index]);
    free(follower->held);
    free(follower->all);
}

/* A function that enqueues a command: its own parameters, each with a comma behind it, stand between the queue and the events. */
#define UNPACKED(...) __VA_ARGS__
#define FOLLOWS(name, arguments, ...)                                                                                            \
    static cl_int CL_API_CALL name##_follows(cl_command_queue queue, __VA_ARGS__ cl_uint count, const cl_event *events, cl_event *event) \
    {                                                                                                                            \
        struct follower follower = follower_begin(queue, count, events);                                                        \
        cl_int status = next->name(queue, UNPACKED arguments follower.count, follower.events, event);                           \
        follower_end(&follower);                                                                                                 \
        return status;                                                                                                           \
    }
#define MAPS(name, arguments, ...)                                                                                               \
    static void *CL_API_CALL name##_follows(cl_command_queue queue, __VA_ARGS__ cl_uint count, const cl_event *events,           \
                                            cl_event *event, cl_int *error)                                                      \
    {                                                                                                                            \
        struct follower follower = follower_begin(queue, count, events);                                                        \
        void *address = next->name(queue, UNPACKED arguments follower.count, follower.events, event, error);                    \
        follower_end(&follower);                                                                                                 \
        return address;                                                                                                          \
    }
#define RECT cl_mem memory, cl_bool blocks, const size_t *at, const size_t *host, const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice,
#define PIXELS cl_mem image, cl_bool blocks, const size_t *at, const size_t *region, size_t row, size_t slice,

FOLLOWS(clEnqueueReadBuffer, (memory, blocks, at, size, to, ), cl_mem memory, cl_bool blocks, size_t at, size_t size, void *to, )
FOLLOWS(clEnqueueWriteBuffer, (memory, blocks, at, size, from, ), cl_mem memory, cl_bool blocks, size_t at, size_t size, const void *from, )
FOLLOWS(clEnqueueReadBufferRect, (memory, blocks, at, host, region, row, slice, host_row, host_slice, to, ), RECT void *to, )
FOLLOWS(clEnqueueWriteBufferRect, (memory, blocks, at, host, region, row, slice, host_row, host_slice, from, ), RECT const void *from, )
FOLLOWS(clEnqueueFillBuffer, (memory, pattern, length, at, size, ), cl_mem memory, const void *pattern, size_t length, size_t at, size_t size, )
FOLLOWS(clEnqueueCopyBuffer, (from, to, from_at, to_at, size, ), cl_mem from, cl_mem to, size_t from_at, size_t to_at, size_t size, )
FOLLOWS(clEnqueueCopyBufferRect, (from, to, at, to_at, region, row, slice, to_row, to_slice, ), cl_mem from, cl_mem to, const size_t *at,
        const size_t *to_at, const size_t *region, size_t row, size_t slice, size_t to_row, size_t to_slice, )
FOLLOWS(clEnqueueReadImage, (image, blocks, at, region, row, slice, to, ), PIXELS void *to, )
FOLLOWS(clEnqueueWriteImage, (image, blocks, at, region, row, slice, from, ), PIXELS const void *from, )
FOLLOWS(clEnqueueFillImage, (image, color, at, region, ), cl_mem image, const void *color, const size_t *at, const size_t *region, )
FOLLOWS(clEnqueueCopyImage, (from, to, at, to_at, region, ), cl_mem from, cl_mem to, const size_t *at, const size_t *to_at, const size_t *region, )
FOLLOWS(clEnqueueCopyImageToBuffer, (from, to, at, region, to_at, ), cl_mem from, cl_mem to, const size_t *at, const size_t *region, size_t to_at, )
FOLLOWS(clEnqueueCopyBufferToImage, (from, to, from_at, at, region, ), cl_mem from, cl_mem to, size_t from_at, const size_t *at, const size_t *region, )
FOLLOWS(clEnqueueUnmapMemObject, (memory, address, ), cl_mem memory, void *address, )
FOLLOWS(clEnqueueMigrateMemObjects, (number, objects, flags, ), cl_uint number, const cl_mem *objects, cl_mem_migration_flags flags, )
FOLLOWS(clEnqueueNDRangeKernel, (kernel, dimensions, offset, global, local, ), cl_kernel kernel, cl_uint dimensions, const size_t *offset,
        const size_t *global, const size_t *local, )
FOLLOWS(clEnqueueTask, (kernel, ), cl_kernel kernel, )
FOLLOWS(clEnqueueNativeKernel, (function, arguments, size, number, objects, places, ), void(CL_CALLBACK *function)(void *), void *arguments,
        size_t size, cl_uint number, const cl_mem *objects, const void **places, )
FOLLOWS(clEnqueueSVMFree, (number, addresses, notify, data, ), cl_uint number, void **addresses,
        void(CL_CALLBACK *notify)(cl_command_queue, cl_uint, void **, void *), void *data, )
FOLLOWS(clEnqueueSVMMemcpy, (blocks, to, from, size, ), cl_bool blocks, void *to, const void *from, size_t size, )
FOLLOWS(clEnqueueSVMMemFill, (to, pattern, length, size, ), void *to, const void *pattern, size_t length, size_t size, )
FOLLOWS(clEnqueueSVMMap, (blocks, flags, address, size, ), cl_bool blocks, cl_map_flags flags, void *address, size_t size, )
FOLLOWS(clEnqueueSVMUnmap, (address, ), void *address, )
FOLLOWS(clEnqueueSVMMigrateMem, (number, addresses, sizes, flags, ), cl_uint number, const void **addresses, const size_t *sizes,
        cl_mem_migration_flags flags, )
MAPS(clEnqueueMapBuffer, (memory, blocks, flags, at, size, ), cl_mem memory, cl_bool blocks, cl_map_flags flags, size_t at, size_t size, )
MAPS(clEnqueueMapImage, (image, blocks, flags, at, region, row, slice, ), cl_mem image, cl_bool blocks, cl_map_flags flags, const size_t *at,
     const size_t *region, size_t *row, size_t *slice, )

/* Without a list these wait for all that was enqueued before, which a list would put an end to. */
#define WAITS(name)                                                                                                              \
    static cl_int CL_API_CALL name##_follows(cl_command_queue queue, cl_uint count, const cl_event *events, cl_event *event)     \
    {                                                                                                                            \
        if (count == 0)                                                                                                          \
            return next->name(queue, count, events, event);                                                                      \
        struct follower follower = follower_begin(queue, count, events);                                                         \
        cl_int status = next->name(queue, follower.count, follower.events, event);                                               \
        follower_end(&follower);                                                                                                 \
        return status;                                                                                                           \
    }

WAITS(clEnqueueMarkerWithWaitList)
WAITS(clEnqueueBarrierWithWaitList)

static cl_int CL_API_CALL clEnqueueWaitForEvents_follows(cl_command_queue queue, cl_uint count, const cl_event *events)
{
    struct follower follower = follower_begin(queue, count, events);
    cl_int status = next->clEnqueueWaitForEvents(queue, follower.count, follower.events);
    follower_end(&follower);
    return status;
}

#define HOOK(name)                                                                                                               \
    if (next->name != NULL)                                                                                                      \
    dispatch->name = name##_follows

void followers_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind)
{
    next = behind;
    forks_watch(after_fork);
    HOOK(clEnqueueReadBuffer);
    HOOK(clEnqueueWriteBuffer);
    HOOK(clEnqueueReadBufferRect);
    HOOK(clEnqueueWriteBufferRect);
    HOOK(clEnqueueFillBuffer);
    HOOK(clEnqueueCopyBuffer);
    HOOK(clEnqueueCopyBufferRect);
    HOOK(clEnqueueReadImage);
    HOOK(clEnqueueWriteImage);
    HOOK(clEnqueueFillImage);
    HOOK(clEnqueueCopyImage);
    HOOK(clEnqueueCopyImageToBuffer);
    HOOK(clEnqueueCopyBufferToImage);
    HOOK(clEnqueueUnmapMemObject);
    HOOK(clEnqueueMigrateMemObjects);
    HOOK(clEnqueueNDRangeKernel);
    HOOK(clEnqueueTask);
    HOOK(clEnqueueNativeKernel);
    HOOK(clEnqueueMarkerWithWaitList);
    HOOK(clEnqueueBarrierWithWaitList);
    HOOK(clEnqueueSVMFree);
    HOOK(clEnqueueSVMMemcpy);
    HOOK(clEnqueueSVMMemFill);
    HOOK(clEnqueueSVMMap);
    HOOK(clEnqueueSVMUnmap);
    HOOK(clEnqueueSVMMigrateMem);
    HOOK(clEnqueueMapBuffer);
    HOOK(clEnqueueMapImage);
    HOOK(clEnqueueWaitForEvents);
}
