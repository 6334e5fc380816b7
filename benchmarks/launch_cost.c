/* Launches a small kernel many times, as an application that is bound by launches does: benchmarks/launch_cost.py. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                     \
    do {                                                \
        if ((call) != CL_SUCCESS) {                     \
            fprintf(stderr, "line %d failed\n", __LINE__); \
            exit(1);                                    \
        }                                               \
    } while (0)

int main(int count, char **words)
{
    const char *source = "kernel void advance(global uint *memory, uint mark) { memory[get_global_id(0)] += mark; }";
    const size_t global = 64;
    const long launches = count > 1 ? atol(words[1]) : 300000;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    CHECK(status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "advance", &status);
    CHECK(status);
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, global * sizeof(cl_uint), NULL, &status);
    CHECK(status);
    CHECK(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    for (long number = 0; number < launches; ++number) {
        const cl_uint mark = (cl_uint)number;
        CHECK(clSetKernelArg(kernel, 1, sizeof mark, &mark));
        CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
        if (number % 100 == 99)
            CHECK(clFinish(queue));
    }
    CHECK(clFinish(queue));
    return 0;
}
