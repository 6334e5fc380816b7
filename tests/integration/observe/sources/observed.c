/* An application whose kernels are observed: the first word says what it does. It prints what its kernels computed. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 64, COUNT = WIDTH * WIDTH };

static const char KERNELS[] = "kernel void transpose(global const int *in, global int *out)\n"
                              "{\n"
                              "    int x = get_global_id(0), y = get_global_id(1);\n"
                              "    out[x * 64 + y] = in[y * 64 + x];\n"
                              "}\n"
                              "kernel void add(global const int *in, global int *out)\n"
                              "{\n"
                              "    out[get_global_id(0)] += in[get_global_id(0)];\n"
                              "}\n"
                              "kernel void idle(global const int *in, global int *out) { out[0] = in[0]; }\n";
static const char FAULTS[] = "kernel void k(global const int *in, global int *out)\n"
                             "{\n"
                             "    out[get_global_id(0) + 4090] = in[0];\n"
                             "}\n";
static const char FLAGS[] = "kernel void k(global const int *in, global int *out)\n"
                            "{\n"
                            "    int l = get_local_id(0);\n"
                            "    local int s[64];\n"
                            "    s[l] = in[l];\n"
                            "    if (l == 3)\n"
                            "        s[l] += in[l + 1];\n"
                            "    out[get_global_id(0)] = s[l ^ 63];\n"
                            "}\n";
static const char LOCKSTEP[] = "kernel void k(global const int *in, global int *out)\n"
                               "{\n"
                               "    volatile local int s[64];\n"
                               "    int l = get_local_id(0);\n"
                               "    s[l] = in[l];\n"
                               "    if (l < 16)\n"
                               "        s[l] += s[l + 16];\n"
                               "    out[l] = s[l];\n"
                               "}\n";
static const char UNKNOWN[] = "kernel void k(global const int *in, global int *out)\n"
                              "{\n"
                              "    out[get_global_id(0)] = sub_group_reduce_add(in[0]);\n"
                              "}\n";
static const char FATAL[] = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
                            "kernel void k(global const int *in, global int *out)\n"
                            "{\n"
                            "    half h = vload_half(0, (global half *)in);\n"
                            "    out[0] = (float)(h + h);\n"
                            "}\n";
static const char ENDLESS[] = "kernel void k(global const int *in, global int *out)\n"
                              "{\n"
                              "    while (out[0] >= 0)\n"
                              "        out[1] = in[0];\n"
                              "}\n";

static cl_context context;
static cl_device_id device;
static cl_mem_flags first_buffer = CL_MEM_READ_WRITE;
static int waits = 1;

static void check(cl_int status, const char *what)
{
    if (status != CL_SUCCESS) {
        printf("%s: %d\n", what, status);
        exit(3);
    }
}

static cl_program build(const char *source, const char *options)
{
    cl_int status;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "source");
    check(clBuildProgram(program, 1, &device, options, NULL, NULL), "build");
    char told[256] = "";
    check(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof told, told, NULL), "options");
    printf("options: %s\n", strstr(told, "-DWORD") != NULL ? "-DWORD" : "");
    if (strstr(told, "KERNLENS") != NULL || strstr(told, "opt-disable") != NULL)
        printf("others: %s\n", told);
    return program;
}

static cl_program build_linked(void)
{
    static const char *parts[] = {"int twice(int v);\nkernel void k(global const int *in, global int *out)\n"
                                  "{\n    out[get_global_id(0)] = twice(in[get_global_id(0)]);\n}\n",
                                  "int twice(int v) { return 2 * v; }\n"};
    cl_program compiled[2];
    cl_int status;
    for (int each = 0; each < 2; ++each) {
        compiled[each] = clCreateProgramWithSource(context, 1, &parts[each], NULL, &status);
        check(clCompileProgram(compiled[each], 1, &device, "", 0, NULL, NULL, NULL, NULL), "compile");
    }
    cl_program linked = clLinkProgram(context, 1, &device, "", 2, compiled, NULL, NULL, &status);
    check(status, "link");
    return linked;
}

static long launch(cl_program program, const char *name, cl_uint dimensions, const size_t *local, int times, int start)
{
    static const size_t GLOBAL[2] = {WIDTH, WIDTH}, LINE[1] = {COUNT};
    cl_int status, *numbers = malloc(COUNT * sizeof *numbers);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "queue");
    for (int each = 0; each < COUNT; ++each)
        numbers[each] = each + start;
    cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
    cl_mem memory[2] = {clCreateBuffer(context, first_buffer | CL_MEM_COPY_HOST_PTR, COUNT * sizeof *numbers, numbers, &status),
                        clCreateBuffer(context, flags, COUNT * sizeof *numbers, numbers, &status)};
    cl_kernel kernel = clCreateKernel(program, name, &status);
    check(status, "kernel");
    for (cl_uint each = 0; each < 2; ++each)
        check(clSetKernelArg(kernel, each, sizeof memory[each], &memory[each]), "argument");
    for (int each = 0; each < times; ++each)
        check(clEnqueueNDRangeKernel(queue, kernel, dimensions, NULL, dimensions == 2 ? GLOBAL : LINE, local, 0, NULL, NULL), "launch");
    if (!waits)
        _exit(5);
    check(clEnqueueReadBuffer(queue, memory[1], CL_TRUE, 0, COUNT * sizeof *numbers, numbers, 0, NULL, NULL), "read");
    check(clFinish(queue), "finish");
    long sum = 0;
    for (int each = 0; each < COUNT; ++each)
        sum += (long)numbers[each] * (each % 7);
    free(numbers);
    return sum;
}

static void *in_thread(void *number)
{
    long *answer = number;
    static const size_t TILE[2] = {16, 16};
    cl_program program = build(KERNELS, NULL);
    *answer = launch(program, "transpose", 2, TILE, 3, (int)*answer) + launch(program, "add", 1, NULL, 2, 1);
    return NULL;
}

static void *kill_soon(void *unused)
{
    (void)unused;
    sleep(3);
    kill(getpid(), SIGKILL);
    return NULL;
}

int main(int count, char **words)
{
    static const size_t TILE[2] = {16, 16}, GROUP[1] = {64};
    const char *word = count > 1 ? words[1] : "";
    cl_platform_id platform;
    cl_uint platforms = 0;
    cl_int status;
    pthread_t threads[4];
    setvbuf(stdout, NULL, _IOLBF, 0);
    check(clGetPlatformIDs(1, &platform, &platforms), "platforms");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "devices");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "context");
    printf("platforms: %u\n", platforms);
    if (strcmp(word, "launches") == 0) {
        cl_program program = build(KERNELS, "-DWORD");
        printf("transpose %ld\n", launch(program, "transpose", 2, TILE, 12, 0));
        printf("add %ld\n", launch(program, "add", 1, NULL, 2, 0));
    } else if (strcmp(word, "threads") == 0) {
        long answers[4] = {1, 2, 3, 4};
        for (int each = 0; each < 4; ++each)
            pthread_create(&threads[each], NULL, in_thread, &answers[each]);
        for (int each = 0; each < 4; ++each)
            pthread_join(threads[each], NULL);
        printf("%ld %ld %ld %ld\n", answers[0], answers[1], answers[2], answers[3]);
    } else if (strcmp(word, "link") == 0) {
        printf("k %ld\n", launch(build_linked(), "k", 1, GROUP, 1, 0));
    } else if (strcmp(word, "killed") == 0) {
        printf("add %ld\n", launch(build(KERNELS, NULL), "add", 1, GROUP, 1, 0));
        pthread_create(&threads[0], NULL, kill_soon, NULL);
        launch(build(ENDLESS, NULL), "k", 1, GROUP, 1, 0);
    } else if (strcmp(word, "unwaited") == 0) {
        waits = 0;
        launch(build(KERNELS, NULL), "add", 1, GROUP, 1, 0);
    } else if (strcmp(word, "flags") == 0) {
        first_buffer = CL_MEM_WRITE_ONLY;
        launch(build(FLAGS, NULL), "k", 1, GROUP, 1, 0);
    } else {
        const char *source =
            strcmp(word, "faults") == 0 ? FAULTS : strcmp(word, "lockstep") == 0 ? LOCKSTEP : strcmp(word, "fatal") == 0 ? FATAL : UNKNOWN;
        launch(build(source, NULL), "k", 1, GROUP, 1, 0);
    }
    return 7;
}
