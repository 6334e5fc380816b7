/* Preloaded into an application: writes each call that builds, and the driver's answer, at the end of the file that COUNTED names. It
 * stands in front of the loader, and knows nothing of layers. With TRACED it counts in programs alone that have that in their names:
 * not in those that build once more for a capture. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void count(const char *operation, cl_int status)
{
    char line[64];
    const char *traced = getenv("TRACED");
    if (traced != NULL && strstr(program_invocation_name, traced) == NULL)
        return;
    int length = snprintf(line, sizeof line, "%s:%d\n", operation, status);
    int file = open(getenv("COUNTED"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (write(file, line, (size_t)length) < 0)
        perror("COUNTED");
    close(file);
}

cl_int clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    __typeof__(&clBuildProgram) next = (__typeof__(&clBuildProgram))dlsym(RTLD_NEXT, "clBuildProgram");
    cl_int status = next(program, n, devices, options, notify, data);
    count("build", status);
    return status;
}

cl_int clCompileProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options, cl_uint headers,
                        const cl_program *programs, const char **names, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    __typeof__(&clCompileProgram) next = (__typeof__(&clCompileProgram))dlsym(RTLD_NEXT, "clCompileProgram");
    cl_int status = next(program, n, devices, options, headers, programs, names, notify, data);
    count("compile", status);
    return status;
}

cl_program clLinkProgram(cl_context context, cl_uint n, const cl_device_id *devices, const char *options, cl_uint programs,
                         const cl_program *inputs, void(CL_CALLBACK *notify)(cl_program, void *), void *data, cl_int *error)
{
    __typeof__(&clLinkProgram) next = (__typeof__(&clLinkProgram))dlsym(RTLD_NEXT, "clLinkProgram");
    cl_int status = CL_SUCCESS;
    cl_program linked = next(context, n, devices, options, programs, inputs, notify, data, &status);
    count("link", status);
    if (error != NULL)
        *error = status;
    return linked;
}
