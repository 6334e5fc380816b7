/* Less usual launches of the application (application.c), and ends in the middle of it. */
#define _GNU_SOURCE
#include "application.h"

#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    clCreateCommandBufferKHR_fn create;
    clCommandNDRangeKernelKHR_fn append;
    clFinalizeCommandBufferKHR_fn finalize;
    clEnqueueCommandBufferKHR_fn enqueue;
    clReleaseCommandBufferKHR_fn release;
} command_buffers;

/* Asks every platform for everything, as some programs do, and uses the one that has command buffers. */
static void find_command_buffers(void)
{
    static const char *const NAMES[] = {"clCreateCommandBufferKHR", "clCommandNDRangeKernelKHR", "clFinalizeCommandBufferKHR",
                                        "clEnqueueCommandBufferKHR", "clReleaseCommandBufferKHR"};
    cl_platform_id platforms[8];
    cl_uint count = 0;
    clGetPlatformIDs(8, platforms, &count);
    for (cl_uint place = 0; place < count; ++place) {
        clGetExtensionFunctionAddressForPlatform(platforms[place], "clEnqueueNDCountKernelINTEL");
        if (clGetExtensionFunctionAddressForPlatform(platforms[place], NAMES[0]) == NULL)
            continue;
        use_platform(platforms[place]);
        for (int index = 0; index < 5; ++index)
            ((void **)&command_buffers)[index] = clGetExtensionFunctionAddressForPlatform(platforms[place], NAMES[index]);
    }
}

/* The function that makes command buffers, from the driver's own library: no layer hears of it. */
static void find_creation_past_layers(void)
{
    const struct _cl_icd_dispatch *driver = *(struct _cl_icd_dispatch **)(void *)device;
    Dl_info place;
    dladdr((void *)driver->clGetMemObjectInfo, &place);
    void *library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void *(*find)(const char *name) = (void *(*)(const char *))dlsym(library, "clGetExtensionFunctionAddress");
    void *(*find_for)(cl_platform_id, const char *) =
        (void *(*)(cl_platform_id, const char *))dlsym(library, "clGetExtensionFunctionAddressForPlatform");
    cl_platform_id platform;
    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    *(void **)&command_buffers.create =
        find_for != NULL ? find_for(platform, "clCreateCommandBufferKHR") : find("clCreateCommandBufferKHR");
}

/* The kernel "add", to add 3 to 64 values. */
static cl_kernel adding(cl_program program, cl_mem *memory)
{
    static const cl_int VALUES[64];
    const cl_int number = 3;
    *memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof VALUES, (void *)(uintptr_t)VALUES, NULL);
    cl_kernel kernel = clCreateKernel(program, "add", NULL);
    clSetKernelArg(kernel, 0, sizeof *memory, memory);
    clSetKernelArg(kernel, 1, sizeof number, &number);
    return kernel;
}

/* A command buffer of two launches of "add", enqueued three times. */
static void command_buffer(void)
{
    cl_int status, value = 0;
    cl_mem memory;
    cl_kernel kernel = adding(built(SOURCE, ""), &memory);
    cl_command_buffer_khr buffer = command_buffers.create(1, &queue, NULL, &status);
    printf("command buffer %d\n", status);
    command_buffers.create(0, NULL, NULL, &status);
    printf("of no queue %d\n", status);
    size_t global = 64, local = 16;
    for (int index = 0; index < 2; ++index)
        printf("append %d\n", command_buffers.append(buffer, NULL, NULL, kernel, 1, NULL, &global, &local, 0, NULL, NULL, NULL));
    printf("finalize %d\n", command_buffers.finalize(buffer));
    for (int index = 0; index < 3; ++index) {
        printf("enqueue %d\n", command_buffers.enqueue(0, NULL, buffer, 0, NULL, NULL));
        clFinish(queue);
    }
    clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL);
    printf("sum %d\n", value);
}

void launch_in_command_buffer(void)
{
    find_command_buffers();
    command_buffer();
}

void launch_in_command_buffer_past_layers(void)
{
    find_command_buffers();
    find_creation_past_layers();
    command_buffer();
}

static void *command_buffers_of_thread(void *program)
{
    cl_mem memory;
    cl_kernel kernel = adding(program, &memory);
    cl_command_queue own = clCreateCommandQueue(context, device, 0, NULL);
    size_t global = 64, local = 16;
    for (int index = 0; index < 25; ++index) {
        cl_command_buffer_khr buffer = command_buffers.create(1, &own, NULL, NULL);
        command_buffers.append(buffer, NULL, NULL, kernel, 1, NULL, &global, &local, 0, NULL, NULL, NULL);
        command_buffers.finalize(buffer);
        if (command_buffers.enqueue(0, NULL, buffer, 0, NULL, NULL) != CL_SUCCESS)
            puts("not enqueued");
        clFinish(own);
        command_buffers.release(buffer);
    }
    return NULL;
}

void launch_in_command_buffers_of_threads(void)
{
    find_command_buffers();
    in_threads(command_buffers_of_thread, built(SOURCE, ""));
}

typedef cl_int (*enqueue_groups)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint,
                                 const cl_event *, cl_event *);

/* Launches by numbers of groups, which only Intel's driver for GPUs has; the function is asked for in both ways. */
void launch_groups(void)
{
    cl_platform_id platform;
    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    enqueue_groups ways[2];
    *(void **)&ways[0] = clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueNDCountKernelINTEL");
    *(void **)&ways[1] = clGetExtensionFunctionAddress("clEnqueueNDCountKernelINTEL");
    cl_mem memory;
    cl_kernel kernel = adding(built(SOURCE, ""), &memory);
    const size_t groups = 3, local = 16;
    for (int way = 0; way < 2; ++way)
        printf("groups %d\n", ways[way](queue, kernel, 1, NULL, &groups, &local, 0, NULL, NULL));
}

/* Makes all kernels of a program at once, one of which has a name of 3,000 letters, and launches that. */
void launch_long_name(void)
{
    static char source[4000];
    snprintf(source, sizeof source, "kernel void k%02999d(global int *a) { a[0] = 1; }\n", 0);
    cl_kernel kernel;
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    printf("kernels %d\n", clCreateKernelsInProgram(built(source, ""), 1, &kernel, NULL));
    clSetKernelArg(kernel, 0, sizeof memory, &memory);
    const size_t one = 1;
    printf("launch %d\n", clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
}

static int pipe_to_child[2];

/* The child's first handler of a fork: it waits until its parent has launched. */
static void await_launch(void)
{
    char byte;
    if (pipe_to_child[0] != 0 && read(pipe_to_child[0], &byte, 1) != 1)
        _exit(8);
}

__attribute__((constructor)) static void handle_forks(void)
{
    pthread_atfork(NULL, NULL, await_launch);
}

/* Launches on one device, then forks: parent and child launch the same kernel on another device. */
void fork_and_launch(void)
{
    cl_platform_id platform;
    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    cl_device_id devices[2];
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, NULL);
    context = clCreateContext(NULL, 2, devices, NULL, NULL, NULL);
    const char *source = SOURCE;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    printf("build %d\n", clBuildProgram(program, 2, devices, "", NULL, NULL));
    cl_mem memory;
    cl_kernel kernel = adding(program, &memory);
    const size_t global = 64;
    cl_command_queue other = clCreateCommandQueue(context, devices[1], 0, NULL);
    cl_command_queue first = clCreateCommandQueue(context, devices[0], 0, NULL);
    clEnqueueNDRangeKernel(first, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
    fflush(stdout);
    if (pipe(pipe_to_child) != 0)
        perror("pipe");
    pid_t child = fork();
    clEnqueueNDRangeKernel(other, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
    if (child == 0)
        _exit(7);
    int status = write(pipe_to_child[1], "", 1) == 1 ? 0 : -1;
    waitpid(child, &status, 0);
    printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    clFinish(first); /* PoCL may crash at the end of a process whose kernels still run */
    clFinish(other);
}

static void CL_CALLBACK abort_now(cl_event event, cl_int status, void *user_data)
{
    (void)event, (void)status, (void)user_data;
    abort();
}

/* Launches 50 times, and waits for that, or forever if the end has a callback. */
static void launch_50_times(void(CL_CALLBACK *at_the_end)(cl_event event, cl_int status, void *user_data))
{
    cl_mem memory;
    cl_kernel kernel = adding(built(SOURCE, ""), &memory);
    size_t global = 64;
    cl_event last;
    for (int index = 0; index < 50; ++index)
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, index == 49 ? &last : NULL);
    if (at_the_end != NULL)
        clSetEventCallback(last, CL_COMPLETE, at_the_end, NULL);
    clWaitForEvents(1, &last);
    while (at_the_end != NULL)
        pause();
}

/* These end, past all destructors, as soon as the last of their launches has. */
void exit_at_once(void)
{
    launch_50_times(NULL);
    _exit(3);
}

void abort_in_callback(void)
{
    launch_50_times(abort_now);
}
