/* What a capture notes of a call that builds. */
#define _GNU_SOURCE
#include "base/owned.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct build_event {
    struct event event;
    const char *operation;
    struct elsewhere elsewhere;
    cl_uint count;
    cl_device_id devices[]; /* none: all that the program has */
};

struct build_event *build_event_begin(const char *operation, cl_uint count, const cl_device_id *devices,
                                      const char *options, const char *added, const char *sent)
{
    count = devices != NULL ? count : 0;
    struct build_event *event = calloc(1, sizeof *event + count * sizeof *devices);
    if (event == NULL) {
        spool_missing("a build", ENOMEM);
        return NULL;
    }
    if (count > 0)
        memcpy(event->devices, devices, count * sizeof *devices);
    event->count = count;
    event->operation = operation;
    event_begin(&event->event, operation);
    if (options != NULL)
        field_text(&event->event.fields, "options", options);
    const char *driver_options = sent != NULL ? sent : options;
    event->elsewhere.options = driver_options != NULL ? strdup(driver_options) : NULL;
    FREED char *whole = added != NULL ? text_format("%s%s%s", options != NULL ? options : "",
                                                    options != NULL && options[0] != '\0' ? " " : "", added)
                                      : NULL;
    if (whole != NULL)
        field_text(&event->event.fields, "given options", whole);
    return event;
}

static void add_owned(struct build_event *event, const char *field, char *bytes, size_t size)
{
    if (bytes != NULL)
        field_bytes(&event->event.fields, field, bytes, size);
    free(bytes);
}

void build_event_input(struct build_event *event, cl_program program)
{
    if (event == NULL)
        return;
    event_program(&event->event, "input", counters_identity(program));
    elsewhere_input(&event->elsewhere, program, event->count > 0 ? event->devices[0] : NULL);
}

void build_event_observed(struct build_event *event, const char *number)
{
    field_text(&event->event.fields, "observed", number);
}

void build_event_header(struct build_event *event, cl_program program, const char *name)
{
    if (event == NULL)
        return;
    size_t size = 0;
    field_text(&event->event.fields, "header", name);
    char *source = program_source(program, &size);
    add_owned(event, "header source", source, size);
}

/* Tells whether the call was one: these say that its arguments are none, so nothing may be asked of them either. Whatever else a driver
 * answers is the end of a build; they have answers of their own for the same refusal. */
static bool was_call(cl_int status)
{
    return status != CL_INVALID_PROGRAM && status != CL_INVALID_DEVICE && status != CL_INVALID_CONTEXT && status != CL_INVALID_VALUE;
}

static void add_device(struct build_event *event, cl_device_id device)
{
    enum { IP_VERSION_INTEL = 0x4250 };
    char text[512];
    cl_uint version;
    field_number(&event->event.fields, "device", (uint64_t)(uintptr_t)device);
    if (below->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof text, text, NULL) == CL_SUCCESS)
        field_text(&event->event.fields, "device name", text);
    if (below->clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof text, text, NULL) == CL_SUCCESS)
        field_text(&event->event.fields, "driver version", text);
    if (below->clGetDeviceInfo(device, IP_VERSION_INTEL, sizeof version, &version, NULL) == CL_SUCCESS)
        field_number(&event->event.fields, "device ip", version);
    if (platform_name(device, text, sizeof text))
        field_text(&event->event.fields, "platform", text);
}

static void add_log(struct build_event *event, cl_program program, cl_device_id device)
{
    size_t size = 0;
    if (below->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS || size == 0)
        return;
    char *log = calloc(1, size);
    if (log != NULL &&
        below->clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL) != CL_SUCCESS)
        size = 0;
    add_owned(event, "log", log, size);
}

static bool is_meant(const struct build_event *event, cl_device_id device)
{
    for (cl_uint index = 0; index < event->count; ++index)
        if (event->devices[index] == device)
            return true;
    return event->count == 0;
}

/* Adds the binary of a program that the driver compiled and does not load: its log does not say why, the binary does. */
static void add_refused(struct build_event *event, cl_program program, cl_device_id device)
{
    size_t size = 0;
    FREED unsigned char *binary = program_binary(program, device, &size);
    if (binary != NULL)
        field_bytes(&event->event.fields, "refused", binary, size);
}

/* Adds the binary of a program that this process does not ask the driver for. */
static void add_elsewhere(struct build_event *event, cl_program program, cl_device_id device)
{
    size_t size = 0;
    FREED char *reason = NULL;
    char *binary = binary_elsewhere(&event->elsewhere, program, device, &size, &reason);
    if (binary == NULL)
        field_text(&event->event.fields, "unasked", reason != NULL ? reason : "no memory");
    add_owned(event, "binary", binary, size);
}

/* Tells whether the program was made from a binary: the code of its kernels is in that. */
static bool is_from_binary(const struct build_event *event, cl_program program)
{
    size_t size = 0;
    FREED char *source = program_source(program, &size);
    FREED char *il = source == NULL ? program_il(program, &size) : NULL;
    return strcmp(event->operation, "build") == 0 && source == NULL && il == NULL;
}

/* Adds what the program holds for each device that was built for. */
static void add_devices(struct build_event *event, cl_program program, cl_int result)
{
    bool successful = result == CL_SUCCESS;
    size_t count = 0;
    FREED cl_device_id *devices = program_devices(program, &count);
    FREED bool *built = devices != NULL ? calloc(count, sizeof *built) : NULL;
    if (built == NULL)
        return;
    for (size_t index = 0; index < count; ++index) {
        cl_build_status status = CL_BUILD_NONE;
        built[index] = below->clGetProgramBuildInfo(program, devices[index], CL_PROGRAM_BUILD_STATUS, sizeof status,
                                                    &status, NULL) == CL_SUCCESS &&
                       status == CL_BUILD_SUCCESS;
    }
    RELEASED_BY(program_parts_free) struct program_parts binaries = {0}, debug = {0};
    bool elsewhere = successful && program_binary_may_abort(program) && !is_from_binary(event, program);
    bool has_binaries = successful && !elsewhere && program_read_binaries(program, built, count, &binaries);
    /* What clCompileProgram makes is an object, which has none of the driver's debug data. */
    bool has_debug = successful && strcmp(event->operation, "compile") != 0 &&
                     program_read_debug(program, built, count, &debug);
    for (size_t index = 0; index < count; ++index) {
        if (!is_meant(event, devices[index]))
            continue;
        add_device(event, devices[index]);
        field_number(&event->event.fields, "built", successful && built[index]);
        if (result != CL_INVALID_OPERATION) /* nothing was begun: the log is that of another build, which may go on */
            add_log(event, program, devices[index]);
        if (result == CL_OUT_OF_RESOURCES || (successful && !built[index])) /* a notification comes before the answer */
            add_refused(event, program, devices[index]);
        if (has_binaries && built[index])
            field_bytes(&event->event.fields, "binary", binaries.items[index].bytes, binaries.items[index].size);
        if (elsewhere && built[index])
            add_elsewhere(event, program, devices[index]);
        if (has_debug && built[index])
            field_bytes(&event->event.fields, "debug", debug.items[index].bytes, debug.items[index].size);
    }
}

static void add_source(struct build_event *event, cl_program program)
{
    event_program(&event->event, "program", counters_identity(program));
    size_t size = 0;
    char *source = program_source(program, &size);
    if (source != NULL) {
        add_owned(event, "source", source, size);
    } else {
        char *il = program_il(program, &size);
        if (il == NULL && modules_are_translated())
            il = own_answers_il(program, &size);
        add_owned(event, "spirv", il, size);
        constants_add(&event->event, program);
    }
}

void build_event_start(struct build_event *event, cl_program program)
{
    if (event == NULL)
        return;
    size_t size = event->event.fields.size, count = event->count;
    FREED cl_device_id *own = program != NULL && count == 0 ? program_devices(program, &count) : NULL;
    const cl_device_id *devices = own != NULL ? own : event->devices;
    if (program != NULL)
        add_source(event, program);
    for (size_t index = 0; index < count; ++index)
        add_device(event, devices[index]);
    event_start(&event->event, size);
}

/* Notes the end of one: the driver's answer, and what the program holds. */
static void describe(struct build_event *event, cl_program program, cl_int status)
{
    event_ended(&event->event, status);
    if (program != NULL) {
        add_source(event, program);
        add_devices(event, program, status);
    }
    for (cl_uint index = 0; program == NULL && index < event->count; ++index)
        add_device(event, event->devices[index]);
}

void build_event_end(struct build_event *event, cl_program program, cl_int status)
{
    if (event == NULL)
        return;
    if (was_call(status)) {
        describe(event, program, status);
        event_write(&event->event);
    }
    build_event_drop(event);
}

void build_event_notified(struct build_event *event, cl_program program)
{
    describe(event, program, CL_SUCCESS);
    event_hold(&event->event);
}

void build_event_settle(struct build_event *event, cl_int status)
{
    if (status == CL_SUCCESS) {
        event_keep(&event->event);
    } else if (was_call(status)) {
        event_answer(&event->event, status);
        event_write(&event->event);
    }
    build_event_drop(event);
}

void build_event_drop(struct build_event *event)
{
    if (event == NULL)
        return;
    event_free(&event->event);
    elsewhere_free(&event->elsewhere);
    free(event);
}
