/* Checks of the OpenCL layer that adds cl_codeplay_program_snapshot, on the first device of the first platform.
 *
 *     snapshot_test checks MODULE.spv [NAME]...   every check, or those that are named; the module is SPIR-V of support.c's SOURCE
 *     snapshot_test names                prints the names of the checks
 *     snapshot_test brief                a kept build and a second build where the first is possible, for tools that are slow
 *     snapshot_test fork MODULE.spv      builds in child processes while this one builds
 *     snapshot_test offered MODULE.spv   prints the stages that a program from source has, and one from SPIR-V
 *     snapshot_test forks CHILDREN       requests in child processes while two threads of this one request
 *     snapshot_test threads COUNT        builds with and without requests on so many threads
 *     snapshot_test killed FOLDER        ends by a signal as soon as anything is in the folder
 *     snapshot_test child STAGE          prints the environment of two processes started around a build with a request
 *     snapshot_test limited STAGE [refused]        a request that comes to nothing or to something, and to no signal
 *     snapshot_test binary OUTPUT [STAGE] [OPTIONS]   builds, with a request if a stage is named; writes the program's binary
 *     snapshot_test refused STAGE        a request that cannot be served: the build must succeed, with no callback
 *     snapshot_test save STAGE FORMAT OUTPUT OPTIONS  writes the last snapshot that a build yields; prints its ending
 *     snapshot_test table                prints each stage that the layer lists, what it delivers as binary and as text, and its scope
 *     snapshot_test plain                without the layer: nothing of the extension is there
 */
#include "checks.h"

#include <stdlib.h>
#include <string.h>

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

static void save(const char *stage, const char *format, const char *path, const char *options)
{
    cl_program program = program_with(SOURCE);
    struct received received = expecting();
    CHECK_EQUAL(request(program, device, stage, (cl_uint)atoi(format), receive, &received), CL_SUCCESS);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, options, NULL, NULL), CL_SUCCESS);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && received.last != NULL && fwrite(received.last, 1, received.size, file) == received.size);
    CHECK(file != NULL && fclose(file) == 0);
    printf("%s\n", received.ending);
    forget(&received);
    clReleaseProgram(program);
}

static void print_table(void)
{
    const char *stages[32];
    const cl_uint room = 32;
    cl_uint count = 0;
    cl_program program = program_with(SOURCE);
    CHECK_EQUAL(request_list(program, device, NULL, &count), CL_SUCCESS);
    CHECK_EQUAL(request_list(program, device, stages, (cl_uint *)&room), CL_SUCCESS);
    clReleaseProgram(program);
    for (cl_uint index = 0; index < count && index < room; ++index) {
        struct received received = expecting();
        printf("stage %s", stages[index]);
        for (cl_uint format = CL_PROGRAM_BINARY_FORMAT_BINARY_CODEPLAY; format <= CL_PROGRAM_BINARY_FORMAT_TEXT_CODEPLAY;
             ++format) {
            program = program_with(SOURCE);
            CHECK_EQUAL(request(program, device, stages[index], format, receive, &received), CL_SUCCESS);
            CHECK_EQUAL(clBuildProgram(program, 1, &device, "-g", NULL, NULL), CL_SUCCESS);
            printf(" %s", received.ending);
            clReleaseProgram(program);
        }
        printf(" %s\n", received.kernels[0][0] != '\0' ? "kernel" : "program");
        forget(&received);
    }
}

/* Lists the stages of a program, which can be requested, no others. */
static void print_offered(cl_program program)
{
    static const char *const ALL[] = {"source", "spirv", "program"};
    const char *stages[32];
    cl_uint count = 32, counted = 0;
    struct received received = expecting();
    CHECK_EQUAL(request_list(program, device, NULL, &counted), CL_SUCCESS);
    for (cl_uint stage = 0; stage < 32; ++stage)
        stages[stage] = NULL;
    CHECK_EQUAL(request_list(program, device, stages, &count), CL_SUCCESS);
    printf("offered");
    for (cl_uint stage = 0; stage < counted; ++stage)
        printf(" %s", stages[stage]);
    printf("\n");
    CHECK(counted < 32 && stages[counted] == NULL);
    for (size_t name = 0; name < sizeof ALL / sizeof *ALL; ++name) {
        bool offered = false;
        for (cl_uint stage = 0; stage < counted; ++stage)
            offered = offered || strcmp(stages[stage], ALL[name]) == 0;
        CHECK_EQUAL(request(program, device, ALL[name], 0, receive, &received),
                    offered ? CL_SUCCESS : CL_INVALID_ARG_VALUE);
    }
    clReleaseProgram(program);
}

static void print_all_offered(const char *path)
{
    char versions[256] = "";
    print_offered(program_with(SOURCE));
    clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, sizeof versions, versions, NULL);
    if (strstr(versions, "SPIR-V") == NULL)
        return;
    size_t size;
    void *module = file_contents(path, &size);
    print_offered(program_from(module, size));
    free(module);
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

static const struct {
    const char *name;
    void (*run)(void);
    void (*run_on_module)(const char *path);
} CHECKS[] = {
    {.name = "extension-strings", .run = check_extension_strings},
    {.name = "list", .run = check_list},
    {.name = "wrong-handles", .run = check_wrong_handles},
    {.name = "foreign-device", .run = check_foreign_device},
    {.name = "request-errors", .run = check_request_errors},
    {.name = "default-stages", .run = check_default_stages},
    {.name = "binary-stages", .run = check_binary_stages},
    {.name = "text-stages", .run = check_text_stages},
    {.name = "tries", .run = check_tries},
    {.name = "latest", .run = check_latest},
    {.name = "notification", .run = check_notification},
    {.name = "failing-build", .run = check_failing_build},
    {.name = "compile-and-link", .run = check_compile_and_link},
    {.name = "il", .run_on_module = check_il},
    {.name = "binary-program", .run = check_binary_program},
    {.name = "threads", .run = check_threads},
    {.name = "nested", .run = check_nested},
};
enum { ALL_CHECKS = sizeof CHECKS / sizeof *CHECKS };

static bool is_named(const char *name, int count, char **names)
{
    for (int index = 0; index < count; ++index)
        if (strcmp(names[index], name) == 0)
            return true;
    return count == 0;
}

static void run_checks(const char *module, int count, char **names)
{
    int found = 0;
    for (size_t index = 0; index < ALL_CHECKS; ++index) {
        if (!is_named(CHECKS[index].name, count, names))
            continue;
        ++found;
        if (CHECKS[index].run != NULL)
            CHECKS[index].run();
        else
            CHECKS[index].run_on_module(module);
    }
    checking("the names of checks");
    CHECK_EQUAL(found, count == 0 ? ALL_CHECKS : count);
}

int main(int count, char **arguments)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a sanitizer may end the process before what is buffered is written */
    const char *mode = count > 1 ? arguments[1] : "";
    if (strcmp(mode, "names") == 0) {
        for (size_t index = 0; index < ALL_CHECKS; ++index)
            printf("%s\n", CHECKS[index].name);
        return 0;
    }
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
    } else if (strcmp(mode, "save") == 0 && count == 6) {
        save(arguments[2], arguments[3], arguments[4], arguments[5]);
    } else if (strcmp(mode, "checks") == 0 && count >= 3) {
        run_checks(arguments[2], count - 3, arguments + 3);
    } else if (strcmp(mode, "brief") == 0) {
        check_extension_strings();
        check_brief();
    } else if (strcmp(mode, "table") == 0) {
        print_table();
    } else if (strcmp(mode, "fork") == 0 && count == 3) {
        check_fork(arguments[2]);
    } else if (strcmp(mode, "forks") == 0 && count == 3) {
        check_forks(atoi(arguments[2]));
    } else if (strcmp(mode, "threads") == 0 && count == 3) {
        check_many_threads(atoi(arguments[2]));
    } else if (strcmp(mode, "killed") == 0 && count == 3) {
        be_killed(arguments[2]);
    } else if (strcmp(mode, "child") == 0 && count == 3) {
        run_child(arguments[2]);
    } else if (strcmp(mode, "offered") == 0 && count == 3) {
        print_all_offered(arguments[2]);
    } else if (strcmp(mode, "limited") == 0 && count >= 3) {
        check_limited(arguments[2], count > 3);
    } else if (strcmp(mode, "plain") != 0) {
        return 2;
    }
    tear_down();
    printf("%d checks, %d failed\n", checks_done(), checks_failed());
    return checks_failed() != 0;
}
