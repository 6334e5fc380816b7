/* Programs that an interpreter runs, and that a plugin of it counts (native/observer). The compiler is not to optimise them, and an option
 * that has no other effect tells the plugin which build a program is of. Where the application leaves the size of work-groups to the
 * driver, they are not the single work-items that this one would make of them. */
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

void observed_programs_open(void)
{
    is_on = getenv("KERNLENS_OBSERVE") != NULL;
}

bool programs_are_observed(void)
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

/* The greatest divisor of a size up to a limit. */
static size_t divisor(size_t size, size_t limit)
{
    size_t best = 1;
    for (size_t each = 2; each <= limit && each <= size; ++each)
        if (size % each == 0)
            best = each;
    return best;
}

const size_t *observed_local(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *global, const size_t *local,
                             size_t chosen[3])
{
    enum { WORK_ITEMS = 256 };
    char name[64];
    size_t stated[3] = {0, 0, 0};
    cl_device_id device = is_on && local == NULL && global != NULL && dimensions <= 3 ? known_queue_device(queue) : NULL;
    if (device == NULL || !platform_name(device, name, sizeof name) || strcmp(name, "Oclgrind") != 0 ||
        below->clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof stated, stated, NULL) != CL_SUCCESS ||
        stated[0] != 0)
        return local;
    size_t left = WORK_ITEMS;
    for (cl_uint each = 0; each < dimensions; ++each) {
        chosen[each] = divisor(global[each], left);
        left /= chosen[each];
    }
    return chosen;
}
