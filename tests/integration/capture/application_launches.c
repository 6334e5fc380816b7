/* Less usual launches of the application (application.c), and ends in the middle of it. */
#define _GNU_SOURCE
#include "application.h"

#include <CL/cl_icd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    clCreateCommandBufferKHR_fn create;
    clCommandNDRangeKernelKHR_fn append;
    clFinalizeCommandBufferKHR_fn finalize;
    clEnqueueCommandBufferKHR_fn enqueue;
    clReleaseCommandBufferKHR_fn release;
} command_buffers;

static void find_command_buffers(void)
{
    static const char *const NAMES[] = {"clCreateCommandBufferKHR", "clCommandNDRangeKernelKHR", "clFinalizeCommandBufferKHR",
                                        "clEnqueueCommandBufferKHR", "clReleaseCommandBufferKHR"};
    cl_platform_id platform;
    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    for (int index = 0; index < 5; ++index)
        ((void **)&command_buffers)[index] = clGetExtensionFunctionAddressForPlatform(platform, NAMES[index]);
}

/* The function that makes command buffers, from the driver's own table, which each object of its begins with: no layer hears of it. */
static void find_creation_past_layers(void)
{
    cl_platform_id platform;
    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    const struct _cl_icd_dispatch *driver = *(struct _cl_icd_dispatch **)(void *)platform;
    *(void **)&command_buffers.create = driver->clGetExtensionFunctionAddressForPlatform(platform, "clCreateCommandBufferKHR");
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

void launch_in_command_buffer(int past_layers)
{
    find_command_buffers();
    if (past_layers)
        find_creation_past_layers();
    if (command_buffers.create != NULL)
        command_buffer();
    else
        puts("no command buffers");
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

static void CL_CALLBACK abort_in_callback(cl_event event, cl_int status, void *user_data)
{
    (void)event, (void)status, (void)user_data;
    abort();
}

/* Ends, past all destructors, as soon as the last of its launches has: in a callback, or by itself. */
void end_at_once(int in_callback)
{
    cl_mem memory;
    cl_kernel kernel = adding(built(SOURCE, ""), &memory);
    size_t global = 64;
    cl_event last;
    for (int index = 0; index < 50; ++index)
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, index == 49 ? &last : NULL);
    if (in_callback)
        clSetEventCallback(last, CL_COMPLETE, abort_in_callback, NULL);
    clWaitForEvents(1, &last);
    if (!in_callback)
        _exit(3);
    for (;;)
        pause();
}
