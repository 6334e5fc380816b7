/* Checks of the OpenCL layer that adds cl_codeplay_program_snapshot, on the first device of the first platform.
 *
 *     snapshot_test checks MODULE.spv    every check; the module is SPIR-V of support.c's SOURCE
 *     snapshot_test binary OUTPUT [STAGE] [OPTIONS]   builds, with a request if a stage is named; writes the program's binary
 *     snapshot_test refused STAGE        a request that cannot be served: the build must succeed, with no callback
 *     snapshot_test plain                without the layer: nothing of the extension is there
 */
#include "support.h"

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

static void check_extension_strings(void)
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

static void check_list(void)
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

    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    CHECK_EQUAL(request_list(program, device, NULL, &count), CL_SUCCESS);
    clReleaseProgram(program);
}

/* A device of another platform or of this one that is not in the context. Needs two devices. */
static void check_foreign_device(void)
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

static void check_request_errors(void)
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

static void check_ending(const struct expected_stage *stage, bool text, const char *ending)
{
    const char *right = text ? stage->text : stage->binary;
    CHECK(strcmp(ending, right) == 0 || (stage->other != NULL && strcmp(ending, stage->other) == 0));
}

/* What every form of a file starts with. */
static void check_contents(const struct received *received)
{
    const char *ending = received->ending;
    const unsigned char *start = received->start;
    if (strcmp(ending, ".bc") == 0)
        CHECK(memcmp(start, "BC\xc0\xde", 4) == 0);
    else if (strcmp(ending, ".spv") == 0)
        CHECK(memcmp(start, "\x03\x02\x23\x07", 4) == 0);
    else if (strcmp(ending, ".elf") == 0 || strcmp(ending, ".so") == 0 || strcmp(ending, ".o") == 0)
        CHECK(memcmp(start, "\x7f" "ELF", 4) == 0);
    else if (strcmp(ending, ".progbin") == 0)
        CHECK(memcmp(start, "CTNI", 4) == 0 || memcmp(start, "\x7f" "ELF", 4) == 0);
    else if (strcmp(ending, ".cl") == 0)
        CHECK(received->size == strlen(SOURCE) && strcmp(received->last, SOURCE) == 0);
    else if (strcmp(ending, ".visaasm") == 0 || strcmp(ending, ".ll") == 0 || strcmp(ending, ".asm") == 0 ||
             strcmp(ending, ".visa.ll") == 0 || strcmp(ending, ".spvasm") == 0 || strcmp(ending, ".s") == 0)
        CHECK(strlen(received->last) == received->size && strstr(received->last, "vmul") != NULL);
}

static void check_stage(const struct expected_stage *stage, cl_uint format)
{
    checking("stage %s, format %u", stage->name, format);
    cl_program program = program_with(SOURCE);
    struct received received = expecting();
    CHECK_EQUAL(request(program, device, stage->name, format, receive, &received), CL_SUCCESS);
    CHECK_EQUAL(received.calls, 0);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, stage->snapshots == 0 ? "-g" : "", NULL, NULL), CL_SUCCESS);
    if (stage->snapshots < 0)
        CHECK(received.calls == 1 || received.calls == 2);
    else
        CHECK_EQUAL(received.calls, stage->snapshots == 0 ? 2 : stage->snapshots);
    CHECK(received.complete && received.on_thread);
    bool text = format == CL_PROGRAM_BINARY_FORMAT_TEXT_CODEPLAY ||
                (format == CL_PROGRAM_BINARY_FORMAT_DEFAULT_CODEPLAY && stage->text_first);
    for (int call = 0; call < received.calls && call < 8; ++call)
        check_ending(stage, text, received.endings[call]);
    if (received.calls == 2) {
        CHECK(strcmp(received.kernels[0], "vadd") == 0);
        CHECK(strcmp(received.kernels[1], "vmul") == 0);
    } else {
        CHECK(received.kernels[0][0] == '\0');
    }
    if (received.calls > 0)
        check_contents(&received);
    forget(&received);
    clReleaseProgram(program);
}

static void check_stages(void)
{
    for (cl_uint index = 0; index < expected_count; ++index)
        for (cl_uint format = 0; format < 3; ++format)
            check_stage(&expected[index], format);
}

static void check_latest(void)
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

/* The last stage that a build without -g yields. */
static const struct expected_stage *late_stage(void)
{
    for (cl_uint index = expected_count; index-- > 0;)
        if (expected[index].snapshots == 2 || strcmp(expected[index].name, "assembly") == 0)
            return &expected[index];
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

static void check_notification(void)
{
    checking("a build with a notification");
    cl_program program = program_with(SOURCE);
    struct received received = expecting();
    notified = (struct notified){.received = &received};
    CHECK_EQUAL(request(program, device, late_stage()->name, 0, receive, &received), CL_SUCCESS);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", notify, &notified), CL_SUCCESS);
    CHECK(received.calls > 0 && received.on_thread);
    CHECK_EQUAL(notified.calls, 1);
    CHECK_EQUAL(notified.snapshots, received.calls);
    forget(&received);
    clReleaseProgram(program);
}

static void check_failing_build(void)
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
}

static void check_compile_and_link(void)
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

static void check_il(const char *path)
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

static void check_binary_program(void)
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

enum { THREADS = 4, ROUNDS = 3 };

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

static void check_threads(void)
{
    checking("several threads");
    pthread_t threads[THREADS];
    for (size_t number = 0; number < THREADS; ++number)
        CHECK_EQUAL(pthread_create(&threads[number], NULL, build_on_thread, (void *)number), 0);
    for (size_t number = 0; number < THREADS; ++number)
        pthread_join(threads[number], NULL);
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

static void check_nested(void)
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

static void write_binary(const char *path, const char *stage, const char *options)
{
    cl_program program = program_with(SOURCE);
    struct received received = expecting();
    if (stage != NULL && stage[0] != '\0')
        CHECK_EQUAL(request(program, device, stage, 0, receive, &received), CL_SUCCESS);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, options != NULL ? options : "", NULL, NULL), CL_SUCCESS);
    CHECK((received.calls > 0) == (stage != NULL && stage[0] != '\0'));
    size_t size;
    unsigned char *binary = binary_of(program, &size);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(binary, 1, size, file) == size && fclose(file) == 0);
    free(binary);
    forget(&received);
    clReleaseProgram(program);
}

static void check_refused(const char *stage)
{
    checking("a snapshot that cannot be made");
    cl_program program = program_with(SOURCE);
    struct received received = expecting();
    CHECK_EQUAL(request(program, device, stage, 0, receive, &received), CL_SUCCESS);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    CHECK_EQUAL(received.calls, 0);
    clReleaseProgram(program);
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    set_up();
    bool plain_binary = strcmp(mode, "binary") == 0 && (count == 3 || (count > 3 && arguments[3][0] == '\0'));
    if (strcmp(mode, "plain") == 0 || plain_binary) {
        if (strcmp(mode, "plain") == 0)
            CHECK(request == NULL && request_list == NULL);
    } else if (request == NULL || request_list == NULL) {
        printf("the extension's functions are not there\n");
        return 1;
    }
    if (strcmp(mode, "binary") == 0 && count >= 3) {
        write_binary(arguments[2], count > 3 ? arguments[3] : NULL, count > 4 ? arguments[4] : NULL);
    } else if (strcmp(mode, "refused") == 0 && count == 3) {
        check_refused(arguments[2]);
    } else if (strcmp(mode, "checks") == 0 && count == 3) {
        check_extension_strings();
        check_list();
        check_foreign_device();
        check_request_errors();
        check_stages();
        check_latest();
        check_notification();
        check_failing_build();
        check_compile_and_link();
        check_il(arguments[2]);
        check_binary_program();
        check_threads();
        check_nested();
    } else if (strcmp(mode, "plain") != 0) {
        return 2;
    }
    tear_down();
    printf("%d checks, %d failed\n", checks_done(), checks_failed());
    return checks_failed() != 0;
}
