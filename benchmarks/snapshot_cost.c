/* Build times of one OpenCL program, with and without a snapshot request (snapshot_cost.py runs this).
 *
 *     snapshot_cost SOURCE OPTIONS ROUNDS [STAGE]     prints one build time in seconds per line
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_codeplay_program_snapshot.h>

#include <stdio.h>
#include <stdlib.h>
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

int main(int count, char **arguments)
{
    must(count == 4 || count == 5, "usage: snapshot_cost SOURCE OPTIONS ROUNDS [STAGE]");
    static char source[1 << 20];
    FILE *file = fopen(arguments[1], "rb");
    must(file != NULL, "the source cannot be read");
    source[fread(source, 1, sizeof source - 1, file)] = '\0';
    fclose(file);

    cl_platform_id platform;
    cl_device_id device;
    must(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS, "no platform");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS, "no device");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    clRequestProgramSnapshotCODEPLAY_fn request =
        (clRequestProgramSnapshotCODEPLAY_fn)clGetExtensionFunctionAddressForPlatform(
            platform, "clRequestProgramSnapshotCODEPLAY");
    must(count == 4 || request != NULL, "the layer is not loaded");
    for (int round = atoi(arguments[3]); round > 0; --round) {
        const char *text = source;
        int calls = 0;
        cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
        double start = now(); /* the request belongs to the cost */
        if (count == 5)
            must(request(program, device, arguments[4], 0, count_call, &calls) == CL_SUCCESS, "refused");
        must(clBuildProgram(program, 1, &device, arguments[2], NULL, NULL) == CL_SUCCESS, "the build failed");
        printf("%.6f\n", now() - start);
        must(count == 4 || calls > 0, "no snapshot came");
        clReleaseProgram(program);
    }
    return 0;
}
