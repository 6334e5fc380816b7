/* Builds kernels whose code PoCL cannot link, without a launch of them or a question for their binary: PoCL ends the process then. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <stdlib.h>

static const char GOOD[] = "kernel void good(global int *a) { a[get_global_id(0)] += 1; }\n";
static const char BAD[] = "kernel void bad(global int *a) { __asm__ volatile(\".hidden nowhere\\n call nowhere\"); a[0] = 1; }\n";

static cl_device_id device;
static cl_context context;

static cl_program with(const char *source)
{
    return clCreateProgramWithSource(context, 1, &source, NULL, NULL);
}

static int linked(const char *source)
{
    cl_program part = with(source);
    cl_int status = CL_SUCCESS;
    if (clCompileProgram(part, 1, &device, "", 0, NULL, NULL, NULL, NULL) != CL_SUCCESS)
        return 1;
    clLinkProgram(context, 1, &device, NULL, 1, &part, NULL, NULL, &status);
    return status != CL_SUCCESS;
}

static int from_binary(cl_program program)
{
    size_t size = 0;
    clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    unsigned char *binary = malloc(size);
    clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    const unsigned char *bytes = binary;
    cl_program again = clCreateProgramWithBinary(context, 1, &device, &size, &bytes, NULL, NULL);
    return clBuildProgram(again, 1, &device, NULL, NULL, NULL) != CL_SUCCESS;
}

int main(void)
{
    cl_platform_id platform = NULL;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 9;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_program good = with(GOOD), bad = with(BAD);
    int failures = clBuildProgram(good, 1, &device, NULL, NULL, NULL) != CL_SUCCESS;
    failures += clBuildProgram(bad, 1, &device, "-DB", NULL, NULL) != CL_SUCCESS;
    return failures + linked(GOOD) + linked(BAD) + from_binary(good);
}
