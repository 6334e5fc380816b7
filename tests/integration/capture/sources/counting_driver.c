/* A driver that counts: another one, which COUNTED_DRIVER names, with functions that write a word for each call of an application into
 * the file COUNTED. Whatever loader opens it: it needs no layers. With CRASHING builds end as some do in drivers: with the process. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static cl_icd_dispatch driver;
static void *library;

static void count(const char *word)
{
    const char *path = getenv("COUNTED");
    int file = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (file >= 0) {
        if (write(file, word, strlen(word)) < 0)
            abort();
        close(file);
    }
}

typedef void(CL_CALLBACK *notification)(cl_program program, void *user_data);

/* Counts a call that builds, unless its arguments are none, so that there was no build. */
static cl_int built(cl_int status)
{
    if (status != CL_INVALID_VALUE && status != CL_INVALID_DEVICE && status != CL_INVALID_CONTEXT && status != CL_INVALID_PROGRAM)
        count("build\n");
    return status;
}

static cl_int CL_API_CALL build(cl_program program, cl_uint devices, const cl_device_id *list, const char *options,
                                notification notify, void *data)
{
    if (getenv("CRASHING") != NULL) {
        count("build\n");
        abort();
    }
    return built(driver.clBuildProgram(program, devices, list, options, notify, data));
}

static cl_int CL_API_CALL compile(cl_program program, cl_uint devices, const cl_device_id *list, const char *options, cl_uint headers,
                                  const cl_program *programs, const char **names, notification notify, void *data)
{
    return built(driver.clCompileProgram(program, devices, list, options, headers, programs, names, notify, data));
}

static cl_program CL_API_CALL link_programs(cl_context context, cl_uint devices, const cl_device_id *list, const char *options,
                                            cl_uint programs, const cl_program *inputs, notification notify, void *data,
                                            cl_int *error)
{
    cl_int status = CL_SUCCESS;
    cl_program linked = driver.clLinkProgram(context, devices, list, options, programs, inputs, notify, data, &status);
    built(status);
    if (error != NULL)
        *error = status;
    return linked;
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                 const size_t *global, const size_t *local, cl_uint events, const cl_event *list, cl_event *event)
{
    cl_int status = driver.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, events, list, event);
    if (status == CL_SUCCESS)
        count("launch\n");
    return status;
}

static cl_int CL_API_CALL launch_task(cl_command_queue queue, cl_kernel kernel, cl_uint events, const cl_event *list, cl_event *event)
{
    cl_int status = driver.clEnqueueTask(queue, kernel, events, list, event);
    if (status == CL_SUCCESS)
        count("launch\n");
    return status;
}

static void *real(const char *name)
{
    if (library == NULL)
        library = dlopen(getenv("COUNTED_DRIVER"), RTLD_NOW);
    void *(*find)(const char *) = library != NULL ? (void *(*)(const char *))dlsym(library, "clGetExtensionFunctionAddress") : NULL;
    void *function = find != NULL ? find(name) : NULL;
    return function != NULL || library == NULL ? function : dlsym(library, name);
}

static cl_int CL_API_CALL get_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count_ret)
{
    cl_int(CL_API_CALL * get)(cl_uint, cl_platform_id *, cl_uint *) = real("clIcdGetPlatformIDsKHR");
    cl_int status = get != NULL ? get(room, platforms, count_ret) : CL_PLATFORM_NOT_FOUND_KHR;
    if (status != CL_SUCCESS || platforms == NULL || driver.clBuildProgram != NULL)
        return status;
    cl_icd_dispatch *table = *(cl_icd_dispatch **)platforms[0];
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)table / page * page;
    driver = *table;
    mprotect((void *)begin, (uintptr_t)(&table->clLinkProgram + 1) - begin, PROT_READ | PROT_WRITE);
    table->clBuildProgram = build;
    table->clCompileProgram = compile;
    table->clLinkProgram = link_programs;
    table->clEnqueueNDRangeKernel = launch;
    table->clEnqueueTask = launch_task;
    return status;
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void *)get_platforms : real(name);
}

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void *value,
                                                  size_t *size_ret)
{
    return (*(cl_icd_dispatch **)platform)->clGetPlatformInfo(platform, what, size, value, size_ret);
}
