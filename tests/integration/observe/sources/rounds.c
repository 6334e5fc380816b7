/* Runs the kernel k of each source with counters of its own, and writes these to standard output: rounds ARRAY SOURCE... */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 256, COUNTERS = 4, N = 13, M = 3 };

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", what, status);
    exit(1);
}

static char *content(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        check(-1, path);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = calloc(1, *size + 1);
    if (fread(bytes, 1, *size, file) != *size)
        check(-1, path);
    fclose(file);
    return bytes;
}

static cl_mem buffer(cl_context context, size_t size, void *bytes)
{
    cl_int status;
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE | (bytes != NULL ? CL_MEM_COPY_HOST_PTR : 0), size, bytes, &status);
    check(status, "buffer");
    return memory;
}

int main(int count, char **words)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status, n = N, m = M;
    check(clGetPlatformIDs(1, &platform, NULL), "platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "context");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "queue");
    size_t size;
    char *array = content(words[1], &size);
    cl_mem in = buffer(context, size, array), out = buffer(context, ITEMS * sizeof(cl_float), NULL);
    for (int each = 2; each < count; each++) {
        const char *source = content(words[each], &size);
        cl_int counters[ITEMS * COUNTERS] = {0};
        cl_mem counts = buffer(context, sizeof counters, counters);
        cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
        check(status, "program");
        check(clBuildProgram(program, 1, &device, "-DCOUNTED", NULL, NULL), words[each]);
        cl_kernel kernel = clCreateKernel(program, "k", &status);
        check(status, "kernel");
        check(clSetKernelArg(kernel, 0, sizeof in, &in), "argument");
        check(clSetKernelArg(kernel, 1, sizeof out, &out), "argument");
        check(clSetKernelArg(kernel, 2, sizeof n, &n), "argument");
        check(clSetKernelArg(kernel, 3, sizeof m, &m), "argument");
        check(clSetKernelArg(kernel, 4, sizeof counts, &counts), "argument");
        size_t global = ITEMS, local = 64;
        check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "launch");
        check(clEnqueueReadBuffer(queue, counts, CL_TRUE, 0, sizeof counters, counters, 0, NULL, NULL), "read");
        fwrite(counters, sizeof counters, 1, stdout);
    }
    return 0;
}
