/* Builds PROGRAMS programs, launches each of their kernels LAUNCHES times, and prints a hash of all that was computed, which is
 * the same in each run: linked_application PROGRAMS LAUNCHES. Its last line has the seconds that it took.
 * Made with OPENED_LOADER="PATH" it is not linked to OpenCL, but opens that file. */
#define _POSIX_C_SOURCE 200809L
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COUNT = 4096 };

static const char *SOURCE = "kernel void step_on(global float *x, float a)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    x[i] = x[i] * a + VARIANT;\n"
                            "}\n"
                            "kernel void mix_in(global float *x, float a)\n"
                            "{\n"
                            "    size_t i = get_global_id(0);\n"
                            "    x[i] += a * (float)(i % (VARIANT + 2));\n"
                            "}\n";

static void need(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
}

#ifdef OPENED_LOADER
#include <dlfcn.h>

static void *opened(const char *name)
{
    void *loader = dlopen(OPENED_LOADER, RTLD_NOW | RTLD_LOCAL);
    need(loader != NULL && dlsym(loader, name) != NULL, name);
    return dlsym(loader, name);
}
#define CL(name) ((__typeof__(&name))opened(#name))
#else
#define CL(name) name
#endif

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void launch(cl_command_queue queue, cl_program program, cl_mem buffer, int launches)
{
    static const char *names[] = {"step_on", "mix_in"};
    cl_int status;
    for (int each = 0; each < 2; each++) {
        cl_kernel kernel = CL(clCreateKernel)(program, names[each], &status);
        need(status == CL_SUCCESS, "clCreateKernel");
        for (int i = 0; i < launches; i++) {
            cl_float factor = 0.5f + i % 3 * 0.125f;
            size_t size = COUNT;
            CL(clSetKernelArg)(kernel, 0, sizeof buffer, &buffer);
            CL(clSetKernelArg)(kernel, 1, sizeof factor, &factor);
            status = CL(clEnqueueNDRangeKernel)(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL);
            need(status == CL_SUCCESS, "clEnqueueNDRangeKernel");
        }
        CL(clReleaseKernel)(kernel);
    }
}

int main(int count, char **words)
{
    need(count == 3, "linked_application PROGRAMS LAUNCHES");
    int programs = atoi(words[1]), launches = atoi(words[2]);
    double start = seconds();
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    static cl_float values[COUNT];
    uint64_t hash = 14695981039346656037u;
    need(CL(clGetPlatformIDs)(1, &platform, NULL) == CL_SUCCESS, "clGetPlatformIDs");
    need(CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS, "clGetDeviceIDs");
    cl_context context = CL(clCreateContext)(NULL, 1, &device, NULL, NULL, &status);
    need(status == CL_SUCCESS, "clCreateContext");
    cl_command_queue queue = CL(clCreateCommandQueue)(context, device, 0, &status);
    need(status == CL_SUCCESS, "clCreateCommandQueue");
    for (int number = 0; number < programs; number++) {
        char options[64];
        for (int i = 0; i < COUNT; i++)
            values[i] = (float)(i % 97);
        snprintf(options, sizeof options, "-DVARIANT=%d", number);
        cl_mem buffer = CL(clCreateBuffer)(context, CL_MEM_COPY_HOST_PTR, sizeof values, values, &status);
        need(status == CL_SUCCESS, "clCreateBuffer");
        cl_program program = CL(clCreateProgramWithSource)(context, 1, &SOURCE, NULL, &status);
        need(CL(clBuildProgram)(program, 1, &device, options, NULL, NULL) == CL_SUCCESS, "clBuildProgram");
        launch(queue, program, buffer, launches);
        status = CL(clEnqueueReadBuffer)(queue, buffer, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
        need(status == CL_SUCCESS, "clEnqueueReadBuffer");
        for (size_t i = 0; i < sizeof values; i++)
            hash = (hash ^ ((unsigned char *)values)[i]) * 1099511628211u;
        CL(clReleaseMemObject)(buffer);
        CL(clReleaseProgram)(program);
    }
    printf("computed %016llx\nseconds %.6f\n", (unsigned long long)hash, seconds() - start);
    return 0;
}
