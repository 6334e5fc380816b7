#include "base/locks.h"
#include "base/records.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/parts.h"

#include <stdlib.h>

/* The device of a living queue. A queue's end is not known, as its references are the driver's: each release forgets it, and the
 * next launch asks the driver again, so none is remembered for a later queue of the same handle. */
struct known_queue {
    struct record record;
    cl_device_id device;
};

static struct records queues; /* LOCK_RECORDER */
static const cl_icd_dispatch *next;

cl_device_id known_queue_device(cl_command_queue queue)
{
    lock_take(LOCK_RECORDER);
    const struct known_queue *known = (const struct known_queue *)(const void *)records_find(&queues, queue);
    cl_device_id device = known != NULL ? known->device : NULL;
    lock_give(LOCK_RECORDER);
    if (device != NULL || (device = queue_device(queue)) == NULL)
        return device;
    lock_take(LOCK_RECORDER);
    struct known_queue *asked = records_find(&queues, queue) == NULL ? calloc(1, sizeof *asked) : NULL;
    if (asked != NULL) {
        asked->record.handle = queue;
        asked->device = device;
        records_add(&queues, &asked->record);
    }
    lock_give(LOCK_RECORDER);
    return device;
}

static cl_int CL_API_CALL release_queue(cl_command_queue queue)
{
    lock_take(LOCK_RECORDER);
    free(records_remove(&queues, queue));
    lock_give(LOCK_RECORDER);
    timed_queue_releases(queue);
    return next->clReleaseCommandQueue(queue);
}

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_RECORDER))
        queues = (struct records){0};
}

void queues_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind)
{
    next = behind;
    forks_watch(after_fork);
    dispatch->clReleaseCommandQueue = release_queue;
}
