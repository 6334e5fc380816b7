/* An application that crashes in a driver's function: it has that write to an address where nothing is. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *const NOWHERE = (void *)(uintptr_t)8;

int main(int count, char **words)
{
    const char *where = count > 1 ? words[1] : "", *source = "kernel void k(global int *a) { a[0] = 1; }\n";
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    if (strcmp(where, "before") == 0)
        clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, NOWHERE, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
        return 1;
    cl_kernel kernel = clCreateKernel(program, "k", NULL);
    if (strcmp(where, "after") == 0)
        clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 64, NOWHERE, NULL);
    if (strcmp(where, "argument") == 0)
        clSetKernelArg(kernel, 0, sizeof(cl_mem), NOWHERE);
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL);
    if (strcmp(where, "fill") == 0)
        clEnqueueFillBuffer(queue, buffer, NOWHERE, 4, 0, 64, 0, NULL, NULL);
    if (strcmp(where, "outside") == 0)
        abort();
    return 0;
}
