/* Launches in contexts that overlap: each is made before the one before it goes, and has two programs of the same source. Prints what each
 * launch computed, and what rand() gives after all builds. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITEMS = 32, CONTEXTS = 4 };
static cl_device_id device;

static void check(cl_int status)
{
    if (status == CL_SUCCESS)
        return;
    printf("status %d\n", status);
    exit(1);
}

static void launch(cl_context context, cl_command_queue queue, cl_int by)
{
    const char *text = "kernel void count(global int *a, int by) { a[get_global_id(0)] += by; }";
    cl_int status, values[ITEMS] = {0};
    size_t items = ITEMS;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status);
    check(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "count", &status);
    check(status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof values, values, &status);
    check(status);
    check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    check(clSetKernelArg(kernel, 1, sizeof by, &by));
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL));
    printf("%d\n", values[0] + values[ITEMS - 1]);
    check(clReleaseMemObject(buffer));
    check(clReleaseKernel(kernel));
    check(clReleaseProgram(program));
}

int main(void)
{
    cl_platform_id platform;
    cl_context contexts[CONTEXTS];
    srand(7);
    check(clGetPlatformIDs(1, &platform, NULL));
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    for (int number = 0; number < CONTEXTS; ++number) {
        cl_int status;
        contexts[number] = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
        check(status);
        if (number > 0)
            check(clReleaseContext(contexts[number - 1]));
        cl_command_queue queue = clCreateCommandQueue(contexts[number], device, 0, &status);
        check(status);
        launch(contexts[number], queue, number + 1);
        launch(contexts[number], queue, -number);
        check(clReleaseCommandQueue(queue));
    }
    check(clReleaseContext(contexts[CONTEXTS - 1]));
    int first = rand();
    printf("%d %d\n", first, rand());
    return 0;
}
