/* Builds so that drivers answer with as many statuses as they can be brought to. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>

#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char GOOD[] = "kernel void good(global int *a) { a[get_global_id(0)] += 1; }\n";
static const char WRONG[] = "kernel void wrong(global int *a) { a[0] = no_such_name; }\n";
static const char LARGE[] = "kernel void large(global ulong *a) { local ulong t[32768]; int l = get_local_id(0);\n"
                            "for (int i = l; i < 32768; i += get_local_size(0)) t[i] = a[i];\n"
                            "barrier(CLK_LOCAL_MEM_FENCE); a[get_global_id(0)] = t[(l * 77) & 32767]; }\n";
static const char PART[] = "int seven(void) { return 7; }\n";
static const char MAIN[] = "int seven(void);\nkernel void linked(global int *a) { a[0] = seven(); }\n";

static cl_device_id device;
static cl_context context;

static cl_program with(const char *source)
{
    return clCreateProgramWithSource(context, 1, &source, NULL, NULL);
}

static cl_program built(const char *source, const char *options)
{
    cl_program program = with(source);
    clBuildProgram(program, 1, &device, options, NULL, NULL);
    return program;
}

static void CL_CALLBACK notified(cl_program program, void *ended)
{
    (void)program;
    *(volatile int *)ended = 1;
}

/* With a notification, which comes before the function returns, or after. */
static void notified_builds(const char *source)
{
    volatile int ended = 0;
    void *data = (void *)(uintptr_t)&ended;
    if (clBuildProgram(with(source), 1, &device, "", notified, data) == CL_SUCCESS)
        while (!ended)
            usleep(1000);
    ended = 0;
    if (clCompileProgram(with(source), 1, &device, "", 0, NULL, NULL, notified, data) == CL_SUCCESS)
        while (!ended)
            usleep(1000);
}

static cl_program compiled(const char *source, const char *options)
{
    cl_program program = with(source);
    clCompileProgram(program, 1, &device, options, 0, NULL, NULL, NULL, NULL);
    return program;
}

static cl_program linked(const char *options, cl_uint count, const cl_program *parts)
{
    cl_int status;
    return clLinkProgram(context, 1, &device, options, count, parts, NULL, NULL, &status);
}

static void from_binary(cl_program program)
{
    size_t size = 0;
    clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    unsigned char *binary = malloc(size);
    clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    const unsigned char *bytes = binary;
    cl_program again = clCreateProgramWithBinary(context, 1, &device, &size, &bytes, NULL, NULL);
    clBuildProgram(again, 1, &device, "", NULL, NULL);
    clCompileProgram(again, 1, &device, "", 0, NULL, NULL, NULL, NULL);
}

int main(void)
{
    cl_platform_id platform = NULL;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 9;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_program good = built(GOOD, "");
    cl_kernel kernel = clCreateKernel(good, "good", NULL);
    clBuildProgram(good, 1, &device, "-DAGAIN", NULL, NULL); /* while a kernel is attached */
    clCompileProgram(good, 1, &device, "-DAGAIN", 0, NULL, NULL, NULL, NULL);
    printf("%d\n", kernel != NULL);
    from_binary(good);
    built(WRONG, "");
    built(GOOD, "--no-such-option");
    built(GOOD, "-cl-std=CL9.9");
    compiled(WRONG, "");
    compiled(GOOD, "--no-such-option");
    const cl_program parts[] = {compiled(PART, ""), compiled(MAIN, ""), with(GOOD)};
    linked("", 2, parts);
    linked("", 1, &parts[1]);
    linked("--no-such-option", 2, parts);
    linked("-create-library", 1, parts);
    linked("", 1, &parts[2]);
    linked("", 0, NULL);
    clBuildProgram(NULL, 1, &device, "", NULL, NULL);
    clBuildProgram(with(GOOD), 1, NULL, "", NULL, NULL);
    clBuildProgram(with(GOOD), 0, &device, "", NULL, NULL);
    clCompileProgram(with(GOOD), 1, NULL, "", 0, NULL, NULL, NULL, NULL);
    char long_name[400];
    snprintf(long_name, sizeof long_name, "kernel void %0256d(global int *a) { a[0] = 1; }", 0);
    memset(strchr(long_name, '0'), 'n', 256);
    built(long_name, ""); /* PoCL, asked for the binary of this one, ends the process */
    notified_builds(GOOD);
    notified_builds(WRONG);
    notified_builds(LARGE); /* more shared local memory than GPUs have */
    cl_int status;
    volatile int ended = 0;
    if (clLinkProgram(context, 1, &device, "", 1, &parts[1], notified, (void *)(uintptr_t)&ended, &status) != NULL && status == CL_SUCCESS)
        while (!ended)
            usleep(1000);
    return 0;
}
