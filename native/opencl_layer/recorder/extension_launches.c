/* Launches through functions that platforms give out by their names: command buffers (cl_khr_command_buffer), which launch what they
 * hold each time they are enqueued, and Intel's launches that are sized in work groups. */
#include "base/locks.h"
#include "base/records.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/parts.h"
#include "recording/lists.h"

#include <CL/cl_ext.h>

#include <stdlib.h>
#include <string.h>

static const char CREATE[] = "clCreateCommandBufferKHR", LAUNCH[] = "clCommandNDRangeKernelKHR",
                  ENQUEUE[] = "clEnqueueCommandBufferKHR", ENQUEUE_GROUPS[] = "clEnqueueNDCountKernelINTEL";

/* As clEnqueueNDRangeKernel, but for the sizes: numbers of work groups (compute-runtime, opencl/source/api/api.h). */
typedef cl_int(CL_API_CALL *enqueue_groups_fn)(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                               const size_t *groups, const size_t *local, cl_uint count,
                                               const cl_event *events, cl_event *event);

/* Each platform's functions. */
enum { PLATFORMS = 16 };
static struct functions {
    cl_platform_id platform;
    clCreateCommandBufferKHR_fn create;
    clCommandNDRangeKernelKHR_fn launch;
    clEnqueueCommandBufferKHR_fn enqueue;
    enqueue_groups_fn enqueue_groups;
} platforms[PLATFORMS];
static unsigned platform_count;

struct known_buffer {
    struct record record;
    struct functions *functions;
};
static struct records buffers;

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_PLATFORMS))
        buffers = (struct records){0};
}

/* Returns the platform's functions, with room made for them if there is any; NULL if not. With the lock held. */
static struct functions *functions_of(cl_platform_id platform)
{
    unsigned index = 0;
    while (index < platform_count && platforms[index].platform != platform)
        ++index;
    if (index == platform_count && index < PLATFORMS)
        platforms[platform_count++].platform = platform;
    return index < PLATFORMS ? &platforms[index] : NULL;
}

static cl_platform_id platform_of(cl_device_id device)
{
    cl_platform_id platform = NULL;
    if (device != NULL)
        below->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    return platform;
}

/* The functions that the queue's platform gave out, and its device; none if it gave out none. */
static struct functions functions_of_queue(cl_command_queue queue, cl_device_id *device)
{
    *device = queue != NULL ? queue_device(queue) : NULL;
    cl_platform_id platform = platform_of(*device);
    lock_take(LOCK_PLATFORMS);
    const struct functions *entry = platform != NULL ? functions_of(platform) : NULL;
    struct functions functions = entry != NULL ? *entry : (struct functions){0};
    lock_give(LOCK_PLATFORMS);
    return functions;
}

static void remember(cl_command_buffer_khr buffer, cl_platform_id platform)
{
    lock_take(LOCK_PLATFORMS);
    struct known_buffer *known = (struct known_buffer *)(void *)records_find(&buffers, buffer);
    if (known == NULL && (known = calloc(1, sizeof *known)) != NULL) {
        known->record.handle = buffer;
        records_add(&buffers, &known->record);
    }
    if (known != NULL)
        known->functions = functions_of(platform);
    lock_give(LOCK_PLATFORMS);
}

/* The only platform that gave out functions for command buffers; NULL if none did, or several. With the lock held. */
static const struct functions *only_platform(void)
{
    const struct functions *only = NULL;
    for (unsigned index = 0; index < platform_count; ++index) {
        if (platforms[index].create == NULL && platforms[index].enqueue == NULL)
            continue;
        if (only != NULL)
            return NULL;
        only = &platforms[index];
    }
    return only;
}

/* The functions of the buffer's platform: of the only one, for a buffer that came another way than through `create`
 * (clRemapCommandBufferKHR makes one). None if that is not known. */
static struct functions functions_of_buffer(cl_command_buffer_khr buffer)
{
    lock_take(LOCK_PLATFORMS);
    const struct known_buffer *known = (const struct known_buffer *)(const void *)records_find(&buffers, buffer);
    const struct functions *entry = known != NULL ? known->functions : only_platform();
    struct functions functions = entry != NULL ? *entry : (struct functions){0};
    lock_give(LOCK_PLATFORMS);
    return functions;
}

struct shape shape_of(cl_uint dimensions, const size_t *global, const size_t *local)
{
    struct shape shape = {.dimensions = dimensions};
    for (cl_uint dimension = 0; dimension < dimensions && dimension < DIMENSIONS; ++dimension) {
        shape.global[dimension] = global != NULL ? global[dimension] : 0;
        shape.local[dimension] = local != NULL ? local[dimension] : 0;
    }
    return shape;
}

static cl_command_buffer_khr CL_API_CALL create(cl_uint count, const cl_command_queue *queues,
                                                const cl_command_buffer_properties_khr *properties, cl_int *error_ret)
{
    cl_device_id device;
    struct functions functions = functions_of_queue(queues != NULL && count > 0 ? queues[0] : NULL, &device);
    if (functions.create == NULL)
        functions = functions_of_buffer(NULL); /* that refuses in its own way */
    if (functions.create == NULL) {
        if (error_ret != NULL)
            *error_ret = CL_INVALID_COMMAND_QUEUE;
        return NULL;
    }
    cl_command_buffer_khr buffer = functions.create(count, queues, properties, error_ret);
    if (buffer != NULL) {
        remember(buffer, functions.platform);
        list_created(buffer, &(struct list_home){.device = device});
    }
    return buffer;
}

static cl_int CL_API_CALL launch(cl_command_buffer_khr buffer, cl_command_queue queue,
                                 const cl_properties *properties, cl_kernel kernel, cl_uint dimensions,
                                 const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
                                 const cl_sync_point_khr *points, cl_sync_point_khr *point,
                                 cl_mutable_command_khr *handle)
{
    const struct functions functions = functions_of_buffer(buffer);
    if (functions.launch == NULL)
        return CL_INVALID_COMMAND_BUFFER_KHR;
    cl_int status = functions.launch(buffer, queue, properties, kernel, dimensions, offset, global, local, count, points, point,
                                     handle);
    struct shape shape = shape_of(dimensions, global, local);
    if (status == CL_SUCCESS)
        list_appended(buffer, NULL, kernel, &shape);
    return status;
}

static cl_int CL_API_CALL enqueue(cl_uint queue_count, cl_command_queue *queues, cl_command_buffer_khr buffer, cl_uint count,
                                  const cl_event *events, cl_event *event)
{
    const struct functions functions = functions_of_buffer(buffer);
    if (functions.enqueue == NULL)
        return CL_INVALID_COMMAND_BUFFER_KHR;
    cl_int status = functions.enqueue(queue_count, queues, buffer, count, events, event);
    if (status == CL_SUCCESS)
        list_executed(buffer);
    return status;
}

static cl_int CL_API_CALL enqueue_groups(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                         const size_t *groups, const size_t *local, cl_uint count, const cl_event *events,
                                         cl_event *event)
{
    cl_device_id device;
    const struct functions functions = functions_of_queue(queue, &device);
    if (functions.enqueue_groups == NULL)
        return CL_INVALID_COMMAND_QUEUE;
    cl_event own = NULL, *filled = timed_event(event, &own);
    cl_int status = functions.enqueue_groups(queue, kernel, dimensions, offset, groups, local, count, events, filled);
    struct shape shape = {0};
    if (local != NULL)
        shape = shape_of(dimensions, groups, local);
    for (cl_uint dimension = 0; dimension < DIMENSIONS; ++dimension)
        shape.global[dimension] *= shape.local[dimension];
    if (status == CL_SUCCESS) {
        counters_launched(kernel, device, &shape);
        timed_launch(kernel, device, filled != NULL ? *filled : NULL, filled == &own);
    }
    return status;
}

/* Keeps the platform's function, and returns the recorder's in front of it. With the lock held. */
static void *put_in_front(struct functions *functions, const char *name, void *of_platform)
{
    if (strcmp(name, CREATE) == 0) {
        functions->create = (clCreateCommandBufferKHR_fn)of_platform;
        return (void *)create;
    }
    if (strcmp(name, LAUNCH) == 0) {
        functions->launch = (clCommandNDRangeKernelKHR_fn)of_platform;
        return (void *)launch;
    }
    if (strcmp(name, ENQUEUE) == 0) {
        functions->enqueue = (clEnqueueCommandBufferKHR_fn)of_platform;
        return (void *)enqueue;
    }
    functions->enqueue_groups = (enqueue_groups_fn)of_platform;
    return (void *)enqueue_groups;
}

void *extension_launch_function(cl_platform_id platform, const char *name, void *of_platform)
{
    if (strcmp(name, CREATE) != 0 && strcmp(name, LAUNCH) != 0 && strcmp(name, ENQUEUE) != 0 &&
        strcmp(name, ENQUEUE_GROUPS) != 0)
        return of_platform;
    lock_take(LOCK_PLATFORMS);
    struct functions *functions = functions_of(platform);
    void *function = functions != NULL ? put_in_front(functions, name, of_platform) : of_platform;
    lock_give(LOCK_PLATFORMS);
    return function;
}

void extension_launches_watch(void)
{
    forks_watch(after_fork);
    lists_watch();
}
