/* Calls of functions that build, and their notifications. */
#include "opencl_layer/recorder/parts.h"
#include "recording/spool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* A build with a notification, which may come before or after its function returns. The function and the notification both hold it,
 * and the last to let it go frees it. The notification knows what was built, and the function alone the driver's answer. */
struct notified_build {
    struct build_event *event;
    notification notify;
    void *user_data;
    bool links;
    cl_int status; /* what the function returned, once it has */
    atomic_bool named, claimed; /* claimed: by the notification, or by the function as a refusal */
    atomic_int over, holders; /* how many of both are over */
    struct notified_build *earlier;
};

static struct notified_build *_Atomic refused; /* the last that a driver refused */

static void let_go(struct notified_build *build)
{
    if (atomic_fetch_sub(&build->holders, 1) == 1)
        free(build);
}

/* A link's program is new to the first who hears of it. */
static void name_linked(struct notified_build *build, cl_program linked)
{
    if (build->links && linked != NULL && !atomic_exchange(&build->named, true))
        new_program(linked);
}

/* One of both is over. */
static void one_is_over(struct notified_build *build)
{
    if (atomic_fetch_add(&build->over, 1) == 1)
        build_event_settle(build->event, build->status);
}

static void CL_CALLBACK build_ended(cl_program program, void *user_data)
{
    struct notified_build *build = user_data;
    notification notify = build->notify;
    void *data = build->user_data;
    if (!atomic_exchange(&build->claimed, true)) {
        name_linked(build, program);
        build_event_notified(build->event, program); /* the application may release the program, or not come back */
        one_is_over(build);
        let_go(build);
    }
    notify(program, data);
}

/* Begins one. If there is no memory to stand in for the application's notification, that stays, and the build is not recorded. */
struct build_call build_call_begin(struct build_event *event, bool links, notification notify, void *user_data)
{
    struct build_call call = {.event = event, .notify = notify, .user_data = user_data};
    if (notify == NULL || event == NULL)
        return call;
    call.event = NULL;
    struct notified_build *build = call.notified = malloc(sizeof *build);
    if (build == NULL) {
        spool_missing("a build", ENOMEM);
        build_event_drop(event);
        return call;
    }
    *build = (struct notified_build){.event = event, .notify = notify, .user_data = user_data, .links = links};
    build->holders = 2;
    call.notify = build_ended;
    call.user_data = build;
    return call;
}

/* Ends it. A build that the driver took will notify; one that it refused may, later: what the notification has stays for that. */
void build_call_end(struct build_call *call, cl_program program, cl_int status)
{
    build_event_end(call->event, program, status);
    struct notified_build *build = call->notified;
    if (build == NULL)
        return;
    name_linked(build, program);
    build->status = status;
    if (status != CL_SUCCESS && !atomic_exchange(&build->claimed, true)) {
        build_event_end(build->event, program, status);
        build->earlier = atomic_exchange(&refused, build);
        return;
    }
    one_is_over(build);
    let_go(build);
}
