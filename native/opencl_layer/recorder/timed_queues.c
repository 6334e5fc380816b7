/* Queues that a capture makes with profiling events. A queue has the properties that the application gave it, whenever it asks. */
#include "base/locks.h"
#include "base/owned.h"
#include "base/records.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/parts.h"

#include <stdlib.h>
#include <string.h>

/* A queue that has profiling events which the application did not ask for. */
struct timed_queue {
    struct record record;
    cl_queue_properties *own; /* the application's, up to the zero behind them; NULL: it made the queue without such a list */
    size_t own_size;
};

static const cl_icd_dispatch *next; /* NULL: launches are not timed */
static struct records queues; /* LOCK_RECORDER */

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_RECORDER))
        queues = (struct records){0};
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
        free(former->own);
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
    FREED cl_queue_properties *own = timed != NULL && count > 0 ? calloc(count, sizeof *own) : NULL;
    cl_command_queue queue = NULL;
    if (timed != NULL && (own != NULL || count == 0))
        queue = next->clCreateCommandQueueWithProperties(context, device, more, error_ret);
    bool is_timed = queue != NULL;
    if (queue == NULL)
        queue = next->clCreateCommandQueueWithProperties(context, device, properties, error_ret);
    if (is_timed) {
        timed->own_size = count * sizeof *own;
        if (count > 0)
            memcpy(own, properties, timed->own_size);
        timed->own = GIVE(own);
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
    size_t size = timed != NULL ? timed->own_size : 0;
    FREED void *own = size > 0 ? malloc(size) : NULL;
    if (own != NULL)
        memcpy(own, timed->own, size);
    bool is_timed = timed != NULL;
    lock_give(LOCK_RECORDER);
    if (is_timed && name == CL_QUEUE_PROPERTIES_ARRAY) {
        size_t known = 0; /* an older driver does not know the question */
        cl_int status = next->clGetCommandQueueInfo(queue, name, 0, NULL, &known);
        return status == CL_SUCCESS ? info_answer(own, size, room, value, size_ret) : status;
    }
    cl_int status = next->clGetCommandQueueInfo(queue, name, room, value, size_ret);
    if (is_timed && status == CL_SUCCESS && value != NULL)
        *(cl_command_queue_properties *)value &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
    return status;
}

bool queue_is_timed_of(cl_event event)
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

void timed_queue_forget(cl_command_queue queue)
{
    cl_uint references = 0;
    if (next == NULL)
        return;
    below->clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL);
    if (references == 1)
        note_queue(queue, NULL);
}

void timed_queues_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind)
{
    next = behind;
    forks_watch(after_fork);
    dispatch->clCreateCommandQueue = create_queue;
    dispatch->clCreateCommandQueueWithProperties = create_queue_with;
    dispatch->clGetCommandQueueInfo = get_queue_info;
}
