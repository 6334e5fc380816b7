/* Build times of one OpenCL program, with and without snapshot requests (snapshot_cost.py runs this).
 *
 *     snapshot_cost SOURCE OPTIONS ROUNDS [STAGE...]
 *
 * Each round builds the program once without a request and once with a request for each stage, in one process, and prints a line
 * for each build: its stage ("-" without a request) and its time in seconds. One build before the first round is not counted.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_codeplay_program_snapshot.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void CL_CALLBACK count_call(size_t size, const char *bytes, void *callback_data, void *user_data)
{
    (void)size;
    (void)bytes;
    (void)callback_data;
    ++*(int *)user_data;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

static cl_context context;
static cl_device_id device;
static clRequestProgramSnapshotCODEPLAY_fn request;

static void build(const char *source, const char *options, const char *stage, int print)
{
    int calls = 0;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    double start = now(); /* the request belongs to the cost */
    if (stage != NULL)
        must(request(program, device, stage, 0, count_call, &calls) == CL_SUCCESS, "refused");
    must(clBuildProgram(program, 1, &device, options, NULL, NULL) == CL_SUCCESS, "the build failed");
    if (print)
        printf("%s %.6f\n", stage != NULL ? stage : "-", now() - start);
    must(stage == NULL || calls > 0, "no snapshot came");
    clReleaseProgram(program);
}

int main(int count, char **arguments)
{
    must(count >= 4, "usage: snapshot_cost SOURCE OPTIONS ROUNDS [STAGE...]");
    static char source[1 << 20];
    FILE *file = fopen(arguments[1], "rb");
    must(file != NULL, "the source cannot be read");
    source[fread(source, 1, sizeof source - 1, file)] = '\0';
    fclose(file);

    cl_platform_id platform;
    must(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS, "no platform");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS, "no device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    request = (clRequestProgramSnapshotCODEPLAY_fn)clGetExtensionFunctionAddressForPlatform(
        platform, "clRequestProgramSnapshotCODEPLAY");
    must(count == 4 || request != NULL, "the layer is not loaded");
    build(source, arguments[2], NULL, 0);
    for (int round = atoi(arguments[3]); round > 0; --round) {
        build(source, arguments[2], NULL, 1);
        for (int stage = 4; stage < count; ++stage)
            build(source, arguments[2], arguments[stage], 1);
    }
    return 0;
}
