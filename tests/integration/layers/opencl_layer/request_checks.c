/* The extension's name, the two functions and their errors. */
#include "checks.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char EXTENSION[] = CL_CODEPLAY_PROGRAM_SNAPSHOT_EXTENSION_NAME;

/* Whether the name stands once, at the end, after one blank. */
static bool listed(const char *list)
{
    const char *place = strstr(list, EXTENSION);
    return place != NULL && strstr(place + 1, EXTENSION) == NULL &&
           (place == list || (place[-1] == ' ' && place[-2] != ' ')) && strlen(place) == strlen(EXTENSION);
}

void check_extension_strings(void)
{
    checking("extension strings");
    char list[16384], small[8];
    size_t size = 0, size_given = 0;
    CHECK_EQUAL(clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS, sizeof list, list, &size), CL_SUCCESS);
    CHECK(listed(list) && size == strlen(list) + 1);
    CHECK_EQUAL(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &size), CL_SUCCESS);
    CHECK_EQUAL(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, size, list, &size_given), CL_SUCCESS);
    CHECK(listed(list) && size == strlen(list) + 1 && size_given == size);
    CHECK_EQUAL(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof small, small, NULL), CL_INVALID_VALUE);
    CHECK_EQUAL(clGetDeviceInfo(NULL, CL_DEVICE_EXTENSIONS, sizeof list, list, NULL), CL_INVALID_DEVICE);
    cl_name_version versions[256];
    if (clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, sizeof versions, versions, &size) == CL_SUCCESS) {
        const cl_name_version *last = &versions[size / sizeof *versions - 1];
        CHECK(strcmp(last->name, EXTENSION) == 0 && last->version == CL_MAKE_VERSION(2, 0, 0));
    }
    if (clGetPlatformInfo(platform, CL_PLATFORM_EXTENSIONS_WITH_VERSION, sizeof versions, versions, &size) == CL_SUCCESS)
        CHECK(strcmp(versions[size / sizeof *versions - 1].name, EXTENSION) == 0);
}

void check_list(void)
{
    checking("list");
    cl_program program = program_with(SOURCE);
    const char *stages[32] = {0};
    cl_uint count = 0;
    CHECK_EQUAL(request_list(program, device, NULL, &count), CL_SUCCESS);
    CHECK_EQUAL(count, expected_count);
    const cl_uint all = 32, two = 2, zero = 0; /* const: a list request never writes the number when it has an array */
    CHECK_EQUAL(request_list(program, device, stages, (cl_uint *)&all), CL_SUCCESS);
    for (cl_uint index = 0; index < expected_count; ++index)
        CHECK(stages[index] != NULL && strcmp(stages[index], expected[index].name) == 0);
    CHECK(stages[expected_count] == NULL && all == 32);
    const char *some[3] = {0};
    CHECK_EQUAL(request_list(program, device, some, (cl_uint *)&two), CL_SUCCESS);
    CHECK(some[0] == stages[0] && some[1] == stages[1] && some[2] == NULL);
    const char *again[32] = {0};
    CHECK_EQUAL(request_list(program, device, again, NULL), CL_SUCCESS);
    CHECK(memcmp(again, stages, sizeof stages) == 0);

    CHECK_EQUAL(request_list(NULL, NULL, NULL, NULL), CL_INVALID_PROGRAM);
    CHECK_EQUAL(request_list(program, NULL, NULL, NULL), CL_INVALID_DEVICE);
    CHECK_EQUAL(request_list(program, device, NULL, NULL), CL_INVALID_ARG_VALUE);
    CHECK_EQUAL(request_list(program, device, stages, (cl_uint *)&zero), CL_INVALID_VALUE);

    cl_uint without_debug = expected_count;
    for (cl_uint index = 0; index < expected_count; ++index)
        without_debug -= strcmp(expected[index].name, "debug") == 0;
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    CHECK_EQUAL(request_list(program, device, NULL, &count), CL_SUCCESS);
    CHECK_EQUAL(count, without_debug);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "-DX -g", NULL, NULL), CL_SUCCESS);
    CHECK_EQUAL(request_list(program, device, NULL, &count), CL_SUCCESS);
    CHECK_EQUAL(count, expected_count);
    clReleaseProgram(program);
}

/* Devices that are none, of a program that is one. */
static void check_wrong_devices(struct received *none)
{
    static void *nothing[8];
    cl_uint count = 0;
    cl_program program = program_with(SOURCE);
    const void *wrong[] = {context, platform, program, nothing, (const void *)8, (const void *)~(uintptr_t)7};
    for (size_t index = 0; index < sizeof wrong / sizeof *wrong; ++index) {
        cl_device_id other;
        memcpy(&other, &wrong[index], sizeof other);
        CHECK_EQUAL(request_list(program, other, NULL, &count), CL_INVALID_DEVICE);
        CHECK_EQUAL(request(program, other, "source", 0, receive, none), CL_INVALID_DEVICE);
    }
    clReleaseProgram(program);
}

/* Numbers by chance, and addresses within and beside a program that is one. */
static void check_random_handles(struct received *none)
{
    cl_uint count = 0;
    cl_program program = program_with(SOURCE);
    uint64_t number = 88172645463325252u;
    for (int index = 0; index < 2000; ++index) {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        uintptr_t beside = (number % 2048 + 1) * 8;
        uintptr_t address = index % 3 == 0   ? (uintptr_t)number
                            : index % 3 == 1 ? (uintptr_t)program + beside
                                             : (uintptr_t)program - beside;
        cl_program wrong;
        memcpy(&wrong, &address, sizeof wrong);
        CHECK_EQUAL(request_list(wrong, device, NULL, &count), CL_INVALID_PROGRAM);
        CHECK_EQUAL(request(wrong, device, "source", 0, receive, none), CL_INVALID_PROGRAM);
    }
    CHECK_EQUAL(request_list(program, device, NULL, &count), CL_SUCCESS);
    clReleaseProgram(program);
}

/* Handles that are no program's: another object's, memory that is no object, one that was released. */
void check_wrong_handles(void)
{
    checking("wrong handles");
    static void *nothing[8];
    cl_uint count = 0;
    struct received none = expecting();
    cl_program released = program_with(SOURCE);
    clReleaseProgram(released);
    const void *wrong[] = {context, device, platform, nothing, (const void *)8, released};
    for (size_t index = 0; index < sizeof wrong / sizeof *wrong; ++index) {
        cl_program program;
        memcpy(&program, &wrong[index], sizeof program);
        CHECK_EQUAL(request_list(program, device, NULL, &count), CL_INVALID_PROGRAM);
        CHECK_EQUAL(request(program, device, "source", 0, receive, &none), CL_INVALID_PROGRAM);
    }
    check_wrong_devices(&none);
    check_random_handles(&none);
    CHECK_EQUAL(none.calls, 0);
}

/* A device of another platform or of this one that is not in the context. Needs two devices. */
void check_foreign_device(void)
{
    checking("a foreign device");
    cl_platform_id platforms[8];
    cl_uint count = 0, zero = 0;
    clGetPlatformIDs(8, platforms, &count);
    for (cl_uint index = 0; index < count && index < 8; ++index) {
        cl_device_id foreign;
        const char *stages[1];
        if (platforms[index] == platform ||
            clGetDeviceIDs(platforms[index], CL_DEVICE_TYPE_ALL, 1, &foreign, NULL) != CL_SUCCESS)
            continue;
        cl_program program = program_with(SOURCE);
        CHECK_EQUAL(request_list(program, foreign, NULL, NULL), CL_INVALID_ARG_VALUE);
        CHECK_EQUAL(request_list(program, foreign, stages, &zero), CL_INVALID_DEVICE);
        CHECK_EQUAL(request(program, foreign, NULL, 7, NULL, NULL), CL_INVALID_DEVICE);
        clReleaseProgram(program);
    }
}

void check_request_errors(void)
{
    checking("errors of a request");
    cl_program program = program_with(SOURCE);
    struct received none = expecting();
    CHECK_EQUAL(request(NULL, NULL, NULL, 7, NULL, NULL), CL_INVALID_PROGRAM);
    CHECK_EQUAL(request(program, NULL, NULL, 7, NULL, NULL), CL_INVALID_DEVICE);
    CHECK_EQUAL(request(program, device, NULL, 0, receive, &none), CL_INVALID_ARG_VALUE);
    CHECK_EQUAL(request(program, device, "source", 3, receive, &none), CL_INVALID_ARG_VALUE);
    CHECK_EQUAL(request(program, device, "source", 0, NULL, &none), CL_INVALID_ARG_VALUE);
    CHECK_EQUAL(request(program, device, "no such stage", 0, receive, &none), CL_INVALID_ARG_VALUE);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    CHECK_EQUAL(none.calls, 0);
    CHECK_EQUAL(request(program, device, "no such stage", 0, receive, &none), CL_INVALID_ARG_VALUE);
    CHECK_EQUAL(request(program, device, "source", 0, receive, &none), CL_INVALID_PROGRAM_EXECUTABLE);
    clReleaseProgram(program);

    program = program_with(SOURCE);
    CHECK_EQUAL(clCompileProgram(program, 1, &device, "", 0, NULL, NULL, NULL, NULL), CL_SUCCESS);
    CHECK_EQUAL(request(program, device, "source", 0, receive, &none), CL_INVALID_PROGRAM_EXECUTABLE);
    clReleaseProgram(program);
}

void check_latest(void)
{
    checking("the latest request");
    cl_program program = program_with(SOURCE);
    struct received first = expecting(), second = expecting();
    const struct expected_stage *last = &expected[expected_count - 1];
    CHECK_EQUAL(request(program, device, last->name, 0, receive, &first), CL_SUCCESS);
    CHECK_EQUAL(request(program, device, "source", 0, receive, &second), CL_SUCCESS);
    CHECK_EQUAL(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), CL_SUCCESS);
    CHECK_EQUAL(first.calls, 0);
    CHECK_EQUAL(second.calls, 1);
    CHECK(strcmp(second.ending, ".cl") == 0);
    clReleaseProgram(program);

    checking("a released program's request");
    program = program_with(SOURCE);
    CHECK_EQUAL(request(program, device, last->name, 0, receive, &first), CL_SUCCESS);
    clReleaseProgram(program);
    for (int count = 0; count < 4; ++count) { /* one of these may get the released one's handle */
        program = program_with(SOURCE);
        CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
        clReleaseProgram(program);
    }
    CHECK_EQUAL(first.calls, 0);
    forget(&second);
}
