/* Intel's unified shared memory (cl_intel_unified_shared_memory): its functions are those that each platform gave out by their names. */
#include "base/locks.h"
#include "opencl_layer/below.h"
#include "opencl_layer/kept/parts.h"
#include "recording/allocations.h"
#include "recording/given_kernels.h"

#include <CL/cl_ext.h>

#include <string.h>

enum { PLATFORMS = 16 };
enum function { HOST, DEVICE, SHARED, FREE, BLOCKING_FREE, POINTER, COPY, FUNCTIONS };
static const char *const NAMES[FUNCTIONS] = {
    "clHostMemAllocINTEL",     "clDeviceMemAllocINTEL",         "clSharedMemAllocINTEL", "clMemFreeINTEL",
    "clMemBlockingFreeINTEL", "clSetKernelArgMemPointerINTEL", "clEnqueueMemcpyINTEL",
};

static struct platform {
    cl_platform_id platform;
    void *functions[FUNCTIONS];
} platforms[PLATFORMS]; /* LOCK_PLATFORMS */

static void *function_of(cl_platform_id platform, enum function function)
{
    void *answer = NULL;
    lock_take(LOCK_PLATFORMS);
    for (unsigned index = 0; index < PLATFORMS; ++index)
        if (platform != NULL && platforms[index].platform == platform)
            answer = platforms[index].functions[function];
    lock_give(LOCK_PLATFORMS);
    return answer;
}

static cl_platform_id platform_of(cl_device_id device)
{
    cl_platform_id platform = NULL;
    if (device != NULL)
        below->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    return platform;
}

static void *function_of_context(cl_context context, enum function function)
{
    cl_device_id devices[64] = {NULL};
    size_t size = 0;
    if (below->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &size) != CL_SUCCESS)
        return NULL;
    return function_of(platform_of(devices[0]), function);
}

static void *refuse(cl_int *error_ret)
{
    if (error_ret != NULL)
        *error_ret = CL_INVALID_CONTEXT;
    return NULL;
}

static void *allocate_host(cl_context context, const cl_mem_properties_intel *properties, size_t size, cl_uint alignment,
                           cl_int *error_ret)
{
    clHostMemAllocINTEL_fn function = (clHostMemAllocINTEL_fn)function_of_context(context, HOST);
    void *address = function != NULL ? function(context, properties, size, alignment, error_ret) : refuse(error_ret);
    allocation_is(address, size, MEMORY_HOST, 0, context);
    return address;
}

static void *allocate_device(cl_context context, cl_device_id device, const cl_mem_properties_intel *properties, size_t size,
                             cl_uint alignment, cl_int *error_ret)
{
    clDeviceMemAllocINTEL_fn function = (clDeviceMemAllocINTEL_fn)function_of_context(context, DEVICE);
    void *address = function != NULL ? function(context, device, properties, size, alignment, error_ret) : refuse(error_ret);
    allocation_is(address, size, MEMORY_DEVICE, 0, context);
    return address;
}

static void *allocate_shared(cl_context context, cl_device_id device, const cl_mem_properties_intel *properties, size_t size,
                             cl_uint alignment, cl_int *error_ret)
{
    clSharedMemAllocINTEL_fn function = (clSharedMemAllocINTEL_fn)function_of_context(context, SHARED);
    void *address = function != NULL ? function(context, device, properties, size, alignment, error_ret) : refuse(error_ret);
    allocation_is(address, size, MEMORY_SHARED, 0, context);
    return address;
}

static cl_int free_memory(cl_context context, void *address)
{
    clMemFreeINTEL_fn function = (clMemFreeINTEL_fn)function_of_context(context, FREE);
    allocation_is_gone(address);
    return function != NULL ? function(context, address) : CL_INVALID_CONTEXT;
}

static cl_int free_blocking(cl_context context, void *address)
{
    clMemBlockingFreeINTEL_fn function = (clMemBlockingFreeINTEL_fn)function_of_context(context, BLOCKING_FREE);
    allocation_is_gone(address);
    return function != NULL ? function(context, address) : CL_INVALID_CONTEXT;
}

static cl_int set_pointer(cl_kernel kernel, cl_uint number, const void *pointer)
{
    cl_context context = NULL;
    below->clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof context, &context, NULL);
    clSetKernelArgMemPointerINTEL_fn function = (clSetKernelArgMemPointerINTEL_fn)function_of_context(context, POINTER);
    cl_int status = function != NULL ? function(kernel, number, pointer) : CL_INVALID_KERNEL;
    if (status == CL_SUCCESS)
        given_pointer(kernel, number, pointer);
    return status;
}

cl_int unified_copy(cl_command_queue queue, void *to, const void *from, size_t size, cl_uint count, const cl_event *events,
                    cl_event *event)
{
    cl_platform_id platform = platform_of(queue_device(queue));
    void *function = platform != NULL ? below->clGetExtensionFunctionAddressForPlatform(platform, NAMES[COPY]) : NULL;
    return function != NULL ? ((clEnqueueMemcpyINTEL_fn)function)(queue, CL_FALSE, to, from, size, count, events, event)
                            : CL_INVALID_OPERATION;
}

void *unified_function(cl_platform_id platform, const char *name, void *of_platform)
{
    static void *const OURS[FUNCTIONS] = {
        [HOST] = (void *)allocate_host,   [DEVICE] = (void *)allocate_device,    [SHARED] = (void *)allocate_shared,
        [FREE] = (void *)free_memory,     [BLOCKING_FREE] = (void *)free_blocking, [POINTER] = (void *)set_pointer,
    };
    unsigned function = 0;
    while (function < FUNCTIONS && (OURS[function] == NULL || strcmp(NAMES[function], name) != 0))
        ++function;
    if (function == FUNCTIONS || of_platform == NULL)
        return of_platform;
    lock_take(LOCK_PLATFORMS);
    unsigned index = 0;
    while (index < PLATFORMS && platforms[index].platform != platform && platforms[index].platform != NULL)
        ++index;
    if (index < PLATFORMS) {
        platforms[index].platform = platform;
        platforms[index].functions[function] = of_platform;
    }
    lock_give(LOCK_PLATFORMS);
    return index < PLATFORMS ? OURS[function] : of_platform;
}
