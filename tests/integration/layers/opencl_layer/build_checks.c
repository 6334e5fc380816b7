/* The ways to build: with a notification, in vain, by compile and link, from IL and binaries, on threads, in a callback. */
#define _GNU_SOURCE
#include "checks.h"

#include <stdlib.h>
#include <string.h>

/* The last stage that a build without -g yields. */
const struct expected_stage *late_stage(void)
{
    for (cl_uint index = expected_count; index-- > 0;)
        if (expected[index].snapshots == 2 || strcmp(expected[index].name, "assembly") == 0)
            return &expected[index];
    for (cl_uint index = expected_count; index-- > 0;)
        if (expected[index].snapshots > 0)
            return &expected[index]; /* NVIDIA's: of the program's binary */
    return NULL;
}

static struct notified {
    int calls, snapshots;
    struct received *received;
} notified;

static void CL_CALLBACK notify(cl_program program, void *user_data)
{
    struct notified *seen = user_data;
    CHECK(program != NULL);
    ++seen->calls;
    seen->snapshots = seen->received->calls;
}

static void check_notified(const struct expected_stage *stage)
{
    checking("a build with a notification, stage %s", stage->name);
    cl_program program = program_with(SOURCE);
    struct received received = expecting();
    notified = (struct notified){.received = &received};
    CHECK_EQUAL(request(program, device, stage->name, 0, receive, &received), CL_SUCCESS);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", notify, &notified), CL_SUCCESS);
    CHECK(received.calls > 0 && received.on_thread);
    CHECK_EQUAL(notified.calls, 1);
    CHECK_EQUAL(notified.snapshots, received.calls);
    forget(&received);
    clReleaseProgram(program);
}

void check_notification(void)
{
    check_notified(late_stage());
    check_notified(&expected[expected_count - 1]); /* from the program's binary, on most: nothing else to wait for */
}

void check_failing_build(void)
{
    checking("a build that fails");
    cl_program program = program_with("kernel void k(global int *p) { *p = no_such_name; }");
    struct received received = expecting();
    CHECK_EQUAL(request(program, device, late_stage()->name, 0, receive, &received), CL_SUCCESS);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_BUILD_PROGRAM_FAILURE);
    CHECK_EQUAL(received.calls, 0);
    clReleaseProgram(program);
    program = program_with("kernel void k(global int *p) { *p = no_such_name; }");
    CHECK_EQUAL(request(program, device, "source", 0, receive, &received), CL_SUCCESS);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_BUILD_PROGRAM_FAILURE);
    CHECK_EQUAL(received.calls, 1);
    forget(&received);
    clReleaseProgram(program);
    checking("a build that is refused");
    received = expecting();
    program = program_with(SOURCE);
    CHECK_EQUAL(request(program, device, late_stage()->name, 0, receive, &received), CL_SUCCESS);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, &received), CL_INVALID_VALUE); /* data for no function */
    CHECK_EQUAL(received.calls, 0); /* though a second build, which nobody refuses, has every stage */
    forget(&received);
    clReleaseProgram(program);
}

void check_compile_and_link(void)
{
    static const char FIRST[] = "float scaled(float x); kernel void vadd(global float *a) { a[0] = scaled(a[0]); }\n"
                                "kernel void vmul(global float *a) { a[1] *= 2.0f; }\n";
    static const char SECOND[] = "float scaled(float x) { return x * x + 1.0f; }\n";
    for (cl_uint index = 0; index < expected_count; ++index) {
        const struct expected_stage *stage = &expected[index];
        checking("compile and link, stage %s", stage->name);
        cl_int error;
        cl_program inputs[2] = {program_with(FIRST), program_with(SECOND)};
        struct received received = expecting();
        CHECK_EQUAL(request(inputs[0], device, stage->name, 0, receive, &received), CL_SUCCESS);
        for (int input = 0; input < 2; ++input)
            CHECK_EQUAL(clCompileProgram(inputs[input], 1, &device, "", 0, NULL, NULL, NULL, NULL), CL_SUCCESS);
        int compiled = received.calls;
        CHECK_EQUAL(compiled, strcmp(stage->name, "source") == 0 || strcmp(stage->name, "spirv") == 0);
        cl_program linked = clLinkProgram(context, 1, &device, "", 2, inputs, NULL, NULL, &error);
        CHECK_EQUAL(error, CL_SUCCESS);
        if (compiled > 0)
            CHECK_EQUAL(received.calls, compiled);
        else if (stage->snapshots > 0)
            CHECK_EQUAL(received.calls, stage->snapshots);
        CHECK(received.on_thread);
        CHECK_EQUAL(request(linked, device, stage->name, 0, receive, &received), CL_INVALID_PROGRAM_EXECUTABLE);
        forget(&received);
        clReleaseProgram(linked);
        clReleaseProgram(inputs[0]);
        clReleaseProgram(inputs[1]);
    }
}

void check_il(const char *path)
{
    char versions[256] = "";
    clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, sizeof versions, versions, NULL);
    if (strstr(versions, "SPIR-V") == NULL)
        return;
    size_t size;
    void *module = file_contents(path, &size);
    for (cl_uint index = 0; index < expected_count; ++index) {
        checking("a program from IL, stage %s", expected[index].name);
        cl_int error;
        cl_program program = clCreateProgramWithIL(context, module, size, &error);
        CHECK_EQUAL(error, CL_SUCCESS);
        struct received received = expecting();
        CHECK_EQUAL(request(program, device, expected[index].name, 0, receive, &received), CL_SUCCESS);
        CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
        if (strcmp(expected[index].name, "source") == 0)
            CHECK_EQUAL(received.calls, 0);
        else if (expected[index].snapshots > 0)
            CHECK_EQUAL(received.calls, expected[index].snapshots);
        if (strcmp(expected[index].name, "spirv") == 0)
            CHECK(received.size == size && memcmp(received.last, module, size) == 0);
        forget(&received);
        clReleaseProgram(program);
    }
    free(module);
}

void check_binary_program(void)
{
    cl_program built = program_with(SOURCE);
    CHECK_EQUAL(clBuildProgram(built, 1, &device, "", NULL, NULL), CL_SUCCESS);
    size_t size;
    unsigned char *binary = binary_of(built, &size);
    for (cl_uint index = 0; index < expected_count; ++index) {
        checking("a program from a binary, stage %s", expected[index].name);
        cl_int error, status;
        cl_program program = clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)&binary,
                                                       &status, &error);
        CHECK_EQUAL(error, CL_SUCCESS);
        struct received received = expecting();
        CHECK_EQUAL(request(program, device, expected[index].name, 0, receive, &received), CL_SUCCESS);
        CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
        if (strcmp(expected[index].name, "source") == 0 || strcmp(expected[index].name, "gen-assembly") == 0)
            CHECK_EQUAL(received.calls, 0);
        if (strcmp(expected[index].name, "program") == 0)
            CHECK_EQUAL(received.calls, 1);
        forget(&received);
        clReleaseProgram(program);
    }
    free(binary);
    clReleaseProgram(built);
}

enum { ROUNDS = 3, MOST_THREADS = 64 };

static void *build_on_thread(void *argument)
{
    size_t number = (size_t)argument;
    for (int round = 0; round < ROUNDS; ++round) {
        char source[4096];
        const struct expected_stage *stage = &expected[(number * ROUNDS + (size_t)round) % expected_count];
        snprintf(source, sizeof source, "%skernel void own_%zu_%d(global int *p) { *p += %d; }\n", SOURCE, number, round,
                 round);
        cl_program program = program_with(source);
        struct received received = expecting();
        bool asks = number % 4 != 3; /* one thread builds without */
        if (asks)
            CHECK_EQUAL(request(program, device, stage->name, 0, receive, &received), CL_SUCCESS);
        CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
        CHECK(received.on_thread && received.complete);
        if (!asks)
            CHECK_EQUAL(received.calls, 0);
        else if (stage->snapshots > 0)
            CHECK_EQUAL(received.calls, stage->snapshots == 2 ? 3 : 1);
        forget(&received);
        clReleaseProgram(program);
    }
    return NULL;
}

void check_many_threads(int count)
{
    checking("%d threads", count);
    pthread_t threads[MOST_THREADS];
    size_t started = 0;
    while (started < (size_t)count && started < MOST_THREADS &&
           pthread_create(&threads[started], NULL, build_on_thread, (void *)started) == 0)
        ++started;
    CHECK_EQUAL(started, count);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

void check_threads(void)
{
    check_many_threads(4);
}

/* A callback that builds and asks for snapshots itself. */
static void CL_CALLBACK build_within(size_t size, const char *bytes, void *callback_data, void *user_data)
{
    cl_program program = program_with(SOURCE);
    CHECK_EQUAL(request(program, device, late_stage()->name, 0, receive, user_data), CL_SUCCESS);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    CHECK(size > 0 && bytes != NULL && callback_data != NULL);
    clReleaseProgram(program);
}

void check_nested(void)
{
    checking("a callback that builds");
    cl_program program = program_with(SOURCE);
    struct received received = expecting();
    CHECK_EQUAL(request(program, device, "source", 0, build_within, &received), CL_SUCCESS);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    CHECK(received.calls > 0);
    forget(&received);
    clReleaseProgram(program);
}

/* The fewest builds that take every way: a request that is never served, one that the application's build serves, one that a second
 * build serves. */
void check_brief(void)
{
    struct received received = expecting();
    for (int build = 0; build < 3; ++build) {
        checking("build %d of few", build);
        cl_program program = program_with(SOURCE);
        if (build == 2)
            setenv("KERNLENS_SNAPSHOT_OWN_BUILD", "0", 1);
        CHECK_EQUAL(request(program, device, late_stage()->name, 0, receive, &received), CL_SUCCESS);
        if (build > 0)
            CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
        CHECK_EQUAL(received.calls, 2 * build);
        clReleaseProgram(program);
    }
    forget(&received);
}
