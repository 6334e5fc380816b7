/* Events of the application that a capture holds beyond their last use by it: whoever asks for their references gets one less for
 * each time. */
#include "base/locks.h"
#include "base/records.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/parts.h"

#include <stdlib.h>

struct held_event {
    struct record record;
    cl_uint times;
};

static const cl_icd_dispatch *next; /* NULL: no event is ever held */
static struct records events;       /* LOCK_RECORDER */

static void after_fork(bool (*damaged)(enum lock lock))
{
    (void)damaged; /* the launches are the parent's */
    events = (struct records){0};
}

static struct held_event *find(cl_event event)
{
    return (struct held_event *)(void *)records_find(&events, event);
}

bool event_hold_for_capture(cl_event event)
{
    struct held_event *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL || below->clRetainEvent(event) != CL_SUCCESS) {
        free(fresh);
        return false;
    }
    fresh->record.handle = event;
    lock_take(LOCK_RECORDER);
    struct held_event *known = find(event);
    if (known == NULL)
        records_add(&events, &fresh->record);
    ++(known != NULL ? known : fresh)->times;
    lock_give(LOCK_RECORDER);
    if (known != NULL)
        free(fresh);
    return true;
}

void event_give_back(cl_event event)
{
    lock_take(LOCK_RECORDER);
    struct held_event *known = find(event);
    if (known != NULL && --known->times == 0)
        free(records_remove(&events, event));
    lock_give(LOCK_RECORDER);
    below->clReleaseEvent(event);
}

static cl_uint times_held(cl_event event)
{
    lock_take(LOCK_RECORDER);
    const struct held_event *known = find(event);
    cl_uint times = known != NULL ? known->times : 0;
    lock_give(LOCK_RECORDER);
    return times;
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info name, size_t room, void *value, size_t *size_ret)
{
    if (name != CL_EVENT_REFERENCE_COUNT)
        return next->clGetEventInfo(event, name, room, value, size_ret);
    cl_int status;
    cl_uint times;
    do { /* another thread may give the event back meanwhile */
        times = times_held(event);
        status = next->clGetEventInfo(event, name, room, value, size_ret);
    } while (times != times_held(event));
    if (status == CL_SUCCESS && value != NULL)
        *(cl_uint *)value -= times;
    return status;
}

void held_events_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind)
{
    if (next != NULL)
        return;
    next = behind;
    forks_watch(after_fork);
    dispatch->clGetEventInfo = get_event_info;
}
