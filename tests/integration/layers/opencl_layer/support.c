#include "support.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int failed, done; /* threads check as well */
static char subject[256];

void checking(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(subject, sizeof subject, format, arguments);
    va_end(arguments);
}

void check(bool passed, const char *condition, const char *file, int line)
{
    ++done;
    if (passed)
        return;
    ++failed;
    printf("%s:%d: %s: failed: %s\n", file, line, subject, condition);
}

void check_equal(long long left, long long right, const char *condition, const char *file, int line)
{
    check(left == right, condition, file, line);
    if (left != right)
        printf("    %lld, %lld\n", left, right);
}

int checks_failed(void)
{
    return failed;
}

int checks_done(void)
{
    return done;
}

const char SOURCE[] = "float scaled(float x, int n) { for (int i = 0; i < n; i++) x = x * x + 1.0f; return x; }\n"
                      "kernel void vadd(global float *a, global const float *b, int n)\n"
                      "{ int i = get_global_id(0); a[i] = scaled(b[i], n); }\n"
                      "kernel void vmul(global float *a, global const float *b)\n"
                      "{ int i = get_global_id(0); a[i] *= b[i]; }\n";

cl_platform_id platform;
cl_device_id device;
cl_context context;
const struct expected_stage *expected;
cl_uint expected_count;
clRequestProgramSnapshotListCODEPLAY_fn request_list;
clRequestProgramSnapshotCODEPLAY_fn request;

/* IGC, POCL, CPU, NVIDIA and OTHER, made from kernlens/model/stages.py: opencl_layer_fixtures.py. */
#include "expected_stages.h"

static void fail(const char *what, cl_int error)
{
    fprintf(stderr, "%s: %d\n", what, error);
    exit(2);
}

void set_up(void)
{
    char name[256];
    cl_device_type type;
    cl_int error = clGetPlatformIDs(1, &platform, NULL);
    if (error != CL_SUCCESS)
        fail("clGetPlatformIDs", error);
    error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    if (error != CL_SUCCESS)
        fail("clGetDeviceIDs", error);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    if (error != CL_SUCCESS)
        fail("clCreateContext", error);
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
    clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    bool pocl = strstr(name, "Portable") != NULL, cpu = !pocl && (type & CL_DEVICE_TYPE_CPU);
    bool intel = strstr(name, "Intel") != NULL, nvidia = strstr(name, "NVIDIA") != NULL;
    expected = pocl ? POCL : cpu ? CPU : intel ? IGC : nvidia ? NVIDIA : OTHER;
    expected_count = pocl     ? sizeof POCL / sizeof *POCL
                     : cpu    ? sizeof CPU / sizeof *CPU
                     : intel  ? sizeof IGC / sizeof *IGC
                     : nvidia ? sizeof NVIDIA / sizeof *NVIDIA
                              : sizeof OTHER / sizeof *OTHER;
    request_list = (clRequestProgramSnapshotListCODEPLAY_fn)clGetExtensionFunctionAddressForPlatform(
        platform, "clRequestProgramSnapshotListCODEPLAY");
    request = (clRequestProgramSnapshotCODEPLAY_fn)clGetExtensionFunctionAddressForPlatform(
        platform, "clRequestProgramSnapshotCODEPLAY");
}

void tear_down(void)
{
    clReleaseContext(context);
}

cl_program program_with(const char *source)
{
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    if (error != CL_SUCCESS)
        fail("clCreateProgramWithSource", error);
    return program;
}

cl_program program_from(const void *module, size_t size)
{
    cl_int error;
    cl_program program = clCreateProgramWithIL(context, module, size, &error);
    if (error != CL_SUCCESS)
        fail("clCreateProgramWithIL", error);
    return program;
}

unsigned char *binary_of(cl_program program, size_t *size)
{
    *size = 0;
    clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof *size, size, NULL);
    unsigned char *binary = malloc(*size + 1);
    if (binary == NULL || clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) != CL_SUCCESS)
        fail("CL_PROGRAM_BINARIES", CL_OUT_OF_HOST_MEMORY);
    return binary;
}

void *file_contents(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);
    if (file == NULL || bytes == NULL)
        fail(path, 0);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

struct received expecting(void)
{
    return (struct received){.complete = true, .on_thread = true, .thread = pthread_self()};
}

void forget(struct received *received)
{
    free(received->last);
    received->last = NULL;
}

void CL_CALLBACK receive(size_t size, const char *bytes, void *callback_data, void *user_data)
{
    struct received *received = user_data;
    const char *ending = callback_data, *kernel = ending + strlen(ending) + 1;
    int place = received->calls++ % 8;
    snprintf(received->kernels[place], sizeof received->kernels[place], "%s", kernel);
    snprintf(received->endings[place], sizeof received->endings[place], "%s", ending);
    snprintf(received->ending, sizeof received->ending, "%s", ending);
    received->size = size;
    received->complete = received->complete && size > 0 && bytes[size] == '\0';
    received->on_thread = received->on_thread && pthread_equal(received->thread, pthread_self());
    memset(received->start, 0, sizeof received->start);
    memcpy(received->start, bytes, size < sizeof received->start ? size : sizeof received->start);
    free(received->last);
    received->last = malloc(size + 1);
    if (received->last != NULL)
        memcpy(received->last, bytes, size + 1);
}
