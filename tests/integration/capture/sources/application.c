/* An application for the tests of capture: builds in every way there is, launches, forks, and says what came of it.
 *
 * Each word of the command line is one thing to do, in that order. */
#define _GNU_SOURCE
#include "application.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

const char SOURCE[] = "kernel void add(global int *a, int n) { a[get_global_id(0)] += n; }\n"
                      "kernel void multiply(global int *a, int n) { a[get_global_id(0)] *= n; }\n";
static const char PART[] = "#include \"number.h\"\nint seven(void) { return NUMBER; }\n";
static const char MAIN[] = "int seven(void);\nkernel void linked(global int *a) { a[get_global_id(0)] = seven(); }\n";
static const char HEADER[] = "#define NUMBER 7\n";
static const char WRONG[] = "kernel void wrong(global int *a) { a[0] = no_such_name; }\n";

cl_device_id device;
cl_context context;
cl_command_queue queue;
static char **arguments; /* those that are left */

static int next_number(void)
{
    return atoi(*arguments++);
}

void use_platform(cl_platform_id platform)
{
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) {
        puts("no device");
        exit(9);
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
}

static void set_up(void)
{
    cl_platform_id platform = NULL;
    clGetPlatformIDs(1, &platform, NULL);
    use_platform(platform);
}

static cl_program with(const char *source)
{
    return clCreateProgramWithSource(context, 1, &source, NULL, NULL);
}

cl_program built(const char *source, const char *options)
{
    cl_program program = with(source);
    printf("build %d\n", clBuildProgram(program, 1, &device, options, NULL, NULL));
    return program;
}

static unsigned char *binary_of(cl_program program, size_t *size)
{
    clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof *size, size, NULL);
    unsigned char *binary = malloc(*size);
    clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    return binary;
}

static void print_binary(cl_program program)
{
    size_t size;
    unsigned char *binary = binary_of(program, &size);
    uint64_t hash = 14695981039346656037u;
    for (size_t index = 0; index < size; ++index)
        hash = (hash ^ binary[index]) * 1099511628211u;
    printf("binary %zu %016llx\n", size, (unsigned long long)hash);
    free(binary);
}

/* Launches the kernel `times` times, in different sizes, and prints the results' sum. */
static void launch(cl_program program, const char *name, int times)
{
    enum { COUNT = 64 };
    cl_int values[COUNT], number = 3;
    for (int index = 0; index < COUNT; ++index)
        values[index] = index;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof values, values, NULL);
    cl_kernel kernel = clCreateKernel(program, name, NULL);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clSetKernelArg(kernel, 1, sizeof number, &number);
    for (int index = 0; index < times; ++index) {
        size_t global = index % 2 ? COUNT : COUNT / 2, local = 16;
        if (clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, index % 2 ? NULL : &local, 0, NULL, NULL) != CL_SUCCESS)
            puts("not launched");
        if (index % 100 == 99)
            clFinish(queue); /* what waits takes memory, more or less of it as threads come to run */
    }
    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
    long long sum = 0;
    for (int index = 0; index < COUNT; ++index)
        sum += values[index];
    printf("%s %lld\n", name, sum);
    clReleaseKernel(kernel);
    clReleaseMemObject(buffer);
}

/* Builds a program from the IL that a variable names, with two specialization constants. */
static void from_il(void)
{
    FILE *file = fopen(getenv("MODULE"), "rb");
    static unsigned char il[1 << 16];
    size_t size = fread(il, 1, sizeof il, file);
    fclose(file);
    cl_int status;
    cl_program program = clCreateProgramWithIL(context, il, size, &status);
    const int16_t narrow = 7;
    cl_int wide = 5;
    printf("constants %d", clSetProgramSpecializationConstant(program, 1, sizeof narrow, &narrow));
    printf(" %d", clSetProgramSpecializationConstant(program, 0, sizeof wide, &wide));
    wide = -2;
    printf(" %d\n", clSetProgramSpecializationConstant(program, 0, sizeof wide, &wide));
    printf("build %d\n", clBuildProgram(program, 1, &device, "", NULL, NULL));
    print_binary(program);
}

static void link_parts(void)
{
    cl_program header = with(HEADER), parts[] = {with(PART), with(MAIN)};
    const char *name = "number.h";
    cl_int status = clCompileProgram(parts[0], 1, &device, "-DFIRST=1", 1, &header, &name, NULL, NULL);
    printf("compile %d\n", status);
    printf("compile %d\n", clCompileProgram(parts[1], 1, &device, "-DSECOND=2", 0, NULL, NULL, NULL, NULL));
    cl_program linked = clLinkProgram(context, 1, &device, "-cl-fast-relaxed-math", 2, parts, NULL, NULL, &status);
    printf("link %d\n", status);
    cl_kernel kernel;
    cl_uint count = 0;
    printf("kernels %d\n", clCreateKernelsInProgram(linked, 1, &kernel, &count));
    printf("count %u\n", count);
}

static void link_one(void)
{
    cl_program part = with(SOURCE);
    printf("compile %d\n", clCompileProgram(part, 1, &device, "", 0, NULL, NULL, NULL, NULL));
    cl_int status;
    clLinkProgram(context, 1, &device, "", 1, &part, NULL, NULL, &status);
    printf("link %d\n", status);
}

void in_threads(void *(*work)(void *), void *of_all)
{
    pthread_t threads[4];
    for (intptr_t index = 0; index < 4; ++index)
        pthread_create(&threads[index], NULL, work, of_all != NULL ? of_all : (void *)index);
    for (int index = 0; index < 4; ++index)
        pthread_join(threads[index], NULL);
}

static void CL_CALLBACK notified(cl_program program, void *user_data)
{
    cl_build_status status;
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, NULL);
    printf("notified %d\n", status);
    *(volatile int *)user_data = 1;
}

static void build_notifying(const char *source)
{
    volatile int done = 0;
    clBuildProgram(with(source), 1, &device, "-DNOTIFIED", notified, (void *)&done);
    while (!done)
        usleep(1000);
}

static void *build_in_thread(void *number)
{
    char options[32];
    snprintf(options, sizeof options, "-DTHREAD=%d", (int)(intptr_t)number);
    cl_program program = with(SOURCE);
    clBuildProgram(program, 1, &device, options, NULL, NULL);
    for (int index = 0; index < 100; ++index)
        clReleaseKernel(clCreateKernel(program, "add", NULL));
    return NULL;
}

static void build_from_binary(void)
{
    size_t size;
    cl_program program = built(SOURCE, "");
    const unsigned char *binary = binary_of(program, &size);
    cl_program again = clCreateProgramWithBinary(context, 1, &device, &size, &binary, NULL, NULL);
    printf("build %d\n", clBuildProgram(again, 1, &device, "", NULL, NULL));
    launch(again, "multiply", 2);
}

static void many_kernels(void)
{
    int kernels = next_number(), launches = next_number();
    cl_program programs[] = {built(SOURCE, "-DA"), built(SOURCE, "-DB")};
    for (int index = 0; index < kernels; ++index)
        if (clCreateKernel(programs[index % 2], index % 3 ? "add" : "multiply", NULL) == NULL)
            puts("no kernel");
    launch(programs[0], "add", launches);
}

/* Builds so many programs, and says of each that it is built. */
static void churn(void)
{
    int count = next_number();
    for (int index = 0; index < count; ++index) {
        char options[32];
        snprintf(options, sizeof options, "-DNUMBER=%d", index);
        cl_program program = with(SOURCE);
        if (clBuildProgram(program, 1, &device, options, NULL, NULL) == CL_SUCCESS)
            printf("built %s\n", options);
        fflush(stdout);
        clReleaseProgram(program);
    }
    puts("done");
}

/* Forks while threads build and create kernels: the children end without starting another program. */
static void fork_among_threads(void)
{
    int count = next_number();
    pthread_t threads[4];
    for (intptr_t index = 0; index < 4; ++index)
        pthread_create(&threads[index], NULL, build_in_thread, (void *)index);
    for (int index = 0; index < count; ++index) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60); /* one that waits for a lock for ever ends so */
            const char *source = SOURCE;
            cl_platform_id platform;
            clGetPlatformIDs(1, &platform, NULL);
            clFinish(NULL);
            clCreateProgramWithSource(NULL, 1, &source, NULL, NULL);
            clCreateKernel(NULL, "add", NULL);
            clBuildProgram(NULL, 1, &device, "", NULL, NULL);
            _exit(7);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
            printf("child %d\n", status);
        usleep(5000);
    }
    for (int index = 0; index < 4; ++index)
        pthread_join(threads[index], NULL);
    puts("forked");
}

static void in_child(void (*work)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        work();
        exit(0);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", status);
}

static void build_and_launch(void)
{
    set_up();
    launch(built(SOURCE, "-DCHILD"), "add", 4);
}

static void launch_and_wait(void)
{
    launch(built(SOURCE, ""), "add", 10);
    puts("waiting");
    fflush(stdout);
    for (;;)
        pause();
}

static void build_and_print(void)
{
    cl_program program = built(SOURCE, "-cl-fast-relaxed-math");
    print_binary(program);
    launch(program, "add", 5);
}

static void build_wrong(void)
{
    built(WRONG, "-DWRONG");
}

static void build_notified(void)
{
    build_notifying(SOURCE);
    build_notifying(WRONG);
}

static void build_in_threads(void)
{
    in_threads(build_in_thread, NULL);
}

static void build_nothing(void)
{
    printf("refused %d\n", clBuildProgram(NULL, 0, NULL, NULL, NULL, NULL) != CL_SUCCESS);
}

static void limit_files(void)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, RLIM_INFINITY});
}

static void unlimit_files(void)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
}

static void be_another_user(void)
{
    if (setuid(65534) != 0)
        perror("another user");
}

static void print_peak(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("peak %ld\n", usage.ru_maxrss);
}

static const struct {
    const char *word;
    void (*act)(void);
} ACTIONS[] = {
    {"source", build_and_print},
    {"constants", from_il},
    {"link", link_parts},
    {"link-one", link_one},
    {"wrong", build_wrong},
    {"notified", build_notified},
    {"threads", build_in_threads},
    {"binary", build_from_binary},
    {"many", many_kernels},
    {"churn", churn},
    {"build-nothing", build_nothing},
    {"command-buffer", launch_in_command_buffer},
    {"command-buffer-past-layers", launch_in_command_buffer_past_layers},
    {"command-buffers-in-threads", launch_in_command_buffers_of_threads},
    {"groups", launch_groups},
    {"long-name", launch_long_name},
    {"fork-among-threads", fork_among_threads},
    {"fork-and-launch", fork_and_launch},
    {"limited", limit_files},
    {"unlimited", unlimit_files},
    {"other-user", be_another_user},
    {"peak", print_peak},
    {"wait", launch_and_wait},
    {"exit-at-once", exit_at_once},
    {"abort-in-callback", abort_in_callback},
};

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "fork") == 0) { /* before the driver is loaded, which does not survive a fork */
        in_child(build_and_launch);
        return 0;
    }
    set_up();
    for (arguments = words + 1; *arguments != NULL;) {
        const char *word = *arguments++;
        size_t index = 0, actions = sizeof ACTIONS / sizeof *ACTIONS;
        while (index < actions && strcmp(word, ACTIONS[index].word) != 0)
            ++index;
        if (index == actions)
            exit(atoi(word));
        ACTIONS[index].act();
        fflush(stdout);
    }
    return 0;
}
