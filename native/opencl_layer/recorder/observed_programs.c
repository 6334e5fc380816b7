/* Programs that an interpreter runs, and that a plugin of it counts (native/observer). The compiler is not to optimise them, and an option
 * that has no other effect tells the plugin which build a program is of. Where the application leaves the size of work-groups to the
 * driver, they are not the single work-items that this one would make of them. The device says that it is a GPU: by itself it says that
 * it is everything, and applications pass over CPUs. */
#define _GNU_SOURCE
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
static const cl_icd_dispatch *next;

static bool interprets(cl_device_id device)
{
    char name[64];
    return platform_name(device, name, sizeof name) && strcmp(name, "Oclgrind") == 0;
}

bool context_is_interpreted(cl_context context)
{
    cl_device_id devices[64];
    size_t size = 0;
    return below->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &size) == CL_SUCCESS &&
           size >= sizeof *devices && interprets(devices[0]);
}

/* The device takes SPIR-V, as that is translated. */
static cl_int extensions(cl_device_id device, size_t room, void *value, size_t *size_ret)
{
    char own[4096];
    cl_int status = next->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof own, own, NULL);
    FREED char *all = status == CL_SUCCESS ? text_format("%s cl_khr_il_program", own) : NULL;
    return all != NULL ? info_answer(all, strlen(all) + 1, room, value, size_ret)
                       : next->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, room, value, size_ret);
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t room, void *value, size_t *size_ret)
{
    static const cl_device_type type = CL_DEVICE_TYPE_GPU;
    static const char modules[] = "SPIR-V_1.2";
    if (device == NULL || !interprets(device))
        return next->clGetDeviceInfo(device, name, room, value, size_ret);
    if (name == CL_DEVICE_TYPE)
        return info_answer(&type, sizeof type, room, value, size_ret);
    if (name == CL_DEVICE_IL_VERSION && modules_are_translated())
        return info_answer(modules, sizeof modules, room, value, size_ret);
    return name == CL_DEVICE_EXTENSIONS && modules_are_translated() ? extensions(device, room, value, size_ret)
                                                                    : next->clGetDeviceInfo(device, name, room, value, size_ret);
}

void observed_programs_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind)
{
    is_on = getenv("KERNLENS_OBSERVE") != NULL;
    next = behind;
    if (is_on)
        dispatch->clGetDeviceInfo = get_device_info;
}

void observed_turn_begin(void)
{
    if (is_on)
        turn_take();
}

void observed_turn_end(void)
{
    if (is_on)
        turn_give();
}

/* Oclgrind seeds rand() anew in each build (Program::generateUID): the application would draw other numbers afterwards. Meanwhile
 * rand() has a state of ours. */
static char own_state[32];
static char *applications_state;
static unsigned builds_now;

void observed_build_begin(void)
{
    if (!is_on)
        return;
    lock_take(LOCK_RECORDER);
    if (builds_now++ == 0)
        applications_state = initstate(1, own_state, sizeof own_state);
    lock_give(LOCK_RECORDER);
}

void observed_build_end(void)
{
    if (!is_on)
        return;
    lock_take(LOCK_RECORDER);
    if (--builds_now == 0 && applications_state != NULL)
        setstate(applications_state);
    lock_give(LOCK_RECORDER);
}

bool programs_are_observed(void)
{
    return is_on;
}

static bool is_interpreted(cl_program program)
{
    size_t count = 0;
    FREED cl_device_id *devices = program_devices(program, &count);
    return devices != NULL && count > 0 && interprets(devices[0]);
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
    /* Oclgrind does not know what the compiler makes of that word, which changes nothing. */
    FREED char *own = with_added(extended != NULL ? extended : options, "-cl-opt-disable", NULL, 0, NULL);
    char *whole = number != NULL && own != NULL ? text_format("%s -D__builtin_assume(x)= -DKERNLENS_BUILD=%s", own, number) : NULL;
    if (whole == NULL)
        return extended;
    build_event_observed(event, number);
    free(extended);
    return whole;
}

/* Tells whether a list of names, with semicolons between them, has this one. */
static bool is_among(const char *names, const char *name)
{
    size_t length = strlen(name);
    for (const char *each = strstr(names, name); length > 0 && each != NULL; each = strstr(each + 1, name))
        if ((each == names || each[-1] == ';') && (each[length] == '\0' || each[length] == ';'))
            return true;
    return false;
}

void observed_kernel_refused(cl_program program, const char *name)
{
    size_t size = 0;
    if (!is_on || program == NULL || name == NULL || !is_interpreted(program) ||
        below->clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, NULL, &size) != CL_SUCCESS)
        return;
    FREED char *names = calloc(1, size + 1);
    if (names == NULL || below->clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, size, names, NULL) != CL_SUCCESS ||
        !is_among(names, name))
        return;
    RELEASED_BY(writer_free) struct writer fields = {0};
    struct program_identity identity = counters_identity(program);
    field_text(&fields, "kernel", name);
    field_bytes(&fields, "program", &identity, sizeof identity);
    spool_file("refused", &fields, "a kernel that was refused");
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
    size_t stated[3] = {0, 0, 0};
    cl_device_id device = is_on && local == NULL && global != NULL && dimensions <= 3 ? known_queue_device(queue) : NULL;
    if (device == NULL || !interprets(device) ||
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
