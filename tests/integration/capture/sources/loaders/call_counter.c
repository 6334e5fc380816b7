/* Counts an application's OpenCL calls from outside: it is preloaded, stands before whichever loader the caller is linked to, and
 * writes a line for each call that builds or launches at the end of the file that COUNTED names. It knows nothing of layers. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void count(const char *line)
{
    int file = open(getenv("COUNTED"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0 || write(file, line, strlen(line)) < 0)
        perror("COUNTED");
    close(file);
}

/* Python's modules are opened with RTLD_LOCAL, so their loader is not among the libraries that RTLD_NEXT looks through. */
static void *function(const char *name, const void *caller)
{
    void *next = dlsym(RTLD_NEXT, name);
    Dl_info place;
    if (next != NULL || dladdr(caller, &place) == 0)
        return next;
    void *library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    next = library == NULL ? NULL : dlsym(library, name);
    if (next == NULL) {
        fprintf(stderr, "no %s for %s\n", name, place.dli_fname);
        abort();
    }
    return next;
}
#define NEXT(name) ((__typeof__(&name))function(#name, __builtin_return_address(0)))

CL_API_ENTRY cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
                                               const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                               void *data)
{
    count("build\n");
    return NEXT(clBuildProgram)(program, n, devices, options, notify, data);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint n,
                                                       const size_t *offset, const size_t *global, const size_t *local,
                                                       cl_uint events, const cl_event *list, cl_event *event)
{
    static __thread __typeof__(&clEnqueueNDRangeKernel) next;
    if (next == NULL)
        next = NEXT(clEnqueueNDRangeKernel);
    cl_int status = next(queue, kernel, n, offset, global, local, events, list, event);
    if (status == CL_SUCCESS)
        count("launch\n");
    return status;
}
