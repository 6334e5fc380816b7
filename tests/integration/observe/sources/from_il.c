/* Runs the kernel of a SPIR-V module: from_il MODULE [ext|source]. Prints what it computed; with "ext" it asks the platform for the
 * function, with "source" MODULE is the program's source. */
#define CL_TARGET_OPENCL_VERSION 220
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 64, COUNT = SIDE * SIDE };
typedef cl_program (*create_fn)(cl_context, const void *, size_t, cl_int *);

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s: %d\n", what, status);
    exit(3);
}

int main(int count, char **words)
{
    static unsigned char module[1 << 20], answered[1 << 20];
    FILE *file = fopen(words[1], "rb");
    size_t length = file != NULL ? fread(module, 1, sizeof module, file) : 0, size = 0;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    char text[8192] = "";
    check(clGetPlatformIDs(1, &platform, NULL), "platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    check(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof text, text, NULL), "extensions");
    printf("offered: %d\n", strstr(text, "cl_khr_il_program") != NULL);
    status = clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, sizeof text, text, NULL);
    printf("version: %d\n", status == CL_SUCCESS && strstr(text, "SPIR-V_1.") != NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "context");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "queue");
    create_fn create = clCreateProgramWithIL;
    int is_source = count > 2 && strcmp(words[2], "source") == 0;
    const char *lines = (const char *)module;
    if (count > 2 && !is_source)
        create = (create_fn)clGetExtensionFunctionAddressForPlatform(platform, "clCreateProgramWithILKHR");
    cl_program program = is_source ? clCreateProgramWithSource(context, 1, &lines, &length, &status) : create(context, module, length, &status);
    check(status, "program");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
    if (!is_source)
        check(clGetProgramInfo(program, CL_PROGRAM_IL, sizeof answered, answered, &size), "il");
    printf("il: %d\n", size == length && memcmp(answered, module, length) == 0);
    cl_int values[COUNT], results[COUNT], side = SIDE;
    for (cl_int each = 0; each < COUNT; each++)
        values[each] = each * 7919 % 1009;
    cl_mem in = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof values, values, NULL);
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof results, NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "transpose", &status);
    check(status, "kernel");
    clSetKernelArg(kernel, 0, sizeof in, &in);
    clSetKernelArg(kernel, 1, sizeof out, &out);
    clSetKernelArg(kernel, 2, sizeof side, &side);
    size_t global[] = {SIDE, SIDE}, local[] = {16, 4};
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL), "launch");
    check(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof results, results, 0, NULL, NULL), "read");
    cl_long sum = 0;
    for (cl_int each = 0; each < COUNT; each++)
        sum = sum * 31 % 1000003 + results[each];
    printf("result: %ld\n", (long)sum);
    return 0;
}
