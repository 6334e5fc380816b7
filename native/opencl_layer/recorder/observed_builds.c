/* Builds of programs that an interpreter runs, and that a plugin of it counts (native/observer): the compiler is not to optimise, and
 * an option that has no other effect tells the plugin which build a program is of. */
#include "base/locks.h"
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/parts.h"
#include "recording/spool.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static bool is_on;

void observed_builds_open(void)
{
    is_on = getenv("KERNLENS_OBSERVE") != NULL;
}

bool builds_are_observed(void)
{
    return is_on;
}

static bool is_interpreted(cl_program program)
{
    char name[64];
    size_t count = 0;
    FREED cl_device_id *devices = program_devices(program, &count);
    return devices != NULL && count > 0 && platform_name(devices[0], name, sizeof name) && strcmp(name, "Oclgrind") == 0;
}

char *with_observed(char *extended, const char *options, struct build_event *event, cl_program program)
{
    static atomic_ulong builds;
    if (!is_on || event == NULL || program == NULL || !is_interpreted(program))
        return extended;
    lock_take(LOCK_RECORDER);
    uint64_t process = spool_process();
    lock_give(LOCK_RECORDER);
    FREED char *number = text_format("%016" PRIx64 "-%lu", process, atomic_fetch_add(&builds, 1) + 1);
    FREED char *own = with_added(extended != NULL ? extended : options, "-cl-opt-disable", NULL, 0, NULL);
    char *whole = number != NULL && own != NULL ? text_format("%s -DKERNLENS_BUILD=%s", own, number) : NULL;
    if (whole == NULL)
        return extended;
    build_event_observed(event, number);
    free(extended);
    return whole;
}
