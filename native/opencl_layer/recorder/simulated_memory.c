/* What an application reads back from a simulated device (base/zeros.h): the driver leaves some of it as it was, copies some from
 * memory that it used for something else before, and computes none of it. All of it is zero here, the same on every device.
 *
 * The driver comes first, and only what it accepted is filled. What an application gave an object when it was made, or has written
 * through a map, stays when the object is mapped: it may keep there what it goes on with. */
#include "base/locks.h"
#include "base/records.h"
#include "base/zeros.h"
#include "opencl_layer/below.h"
#include "opencl_layer/recorder/parts.h"

#include <CL/cl_ext.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char HOST_ALLOC[] = "clHostMemAllocINTEL", SHARED_ALLOC[] = "clSharedMemAllocINTEL",
                  COPY[] = "clEnqueueMemcpyINTEL", ALLOCATION_INFO[] = "clGetMemAllocInfoINTEL";

static const cl_icd_dispatch *next; /* NULL: what is read stays as the driver leaves it */
static bool simulates;

bool is_simulated(cl_device_id device)
{
    return device != NULL && simulates && compiler_of(device) == &igc_compiler; /* there may be other drivers */
}

/* Returns a function of the device's platform by its name; NULL if it has none. */
static void *platform_function(cl_device_id device, const char *name)
{
    cl_platform_id platform = NULL;
    if (device == NULL ||
        below->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS)
        return NULL;
    return below->clGetExtensionFunctionAddressForPlatform(platform, name);
}

/* Returns one of the context's devices, which are of one platform; NULL if the driver does not tell. */
static cl_device_id context_device(cl_context context)
{
    cl_device_id devices[64];
    size_t size = 0;
    if (below->clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size) != CL_SUCCESS || size < sizeof *devices ||
        size > sizeof devices || below->clGetContextInfo(context, CL_CONTEXT_DEVICES, size, devices, NULL) != CL_SUCCESS)
        return NULL;
    return devices[0];
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                                      void *to, cl_uint count, const cl_event *events, cl_event *event)
{
    cl_int status = next->clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, count, events, event);
    if (status == CL_SUCCESS && is_simulated(queue_device(queue)))
        clear_box(to, size, 1, 1, 0, 0);
    return status;
}

static cl_int CL_API_CALL read_rectangle(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *buffer_origin,
                                         const size_t *origin, const size_t *region, size_t buffer_pitch,
                                         size_t buffer_slice_pitch, size_t pitch, size_t slice_pitch, void *to,
                                         cl_uint count, const cl_event *events, cl_event *event)
{
    cl_int status = next->clEnqueueReadBufferRect(queue, buffer, blocking, buffer_origin, origin, region, buffer_pitch,
                                                  buffer_slice_pitch, pitch, slice_pitch, to, count, events, event);
    if (status == CL_SUCCESS && is_simulated(queue_device(queue))) {
        size_t row = pitch != 0 ? pitch : region[0], slice = slice_pitch != 0 ? slice_pitch : region[1] * row;
        clear_box((uint8_t *)to + origin[2] * slice + origin[1] * row + origin[0], region[0], region[1], region[2], row, slice);
    }
    return status;
}

static cl_mem_object_type type_of(cl_mem object)
{
    cl_mem_object_type type = 0;
    return below->clGetMemObjectInfo(object, CL_MEM_TYPE, sizeof type, &type, NULL) == CL_SUCCESS ? type : 0;
}

/* Fills the region of an image. The images of a one-dimensional array are a slice each. A pitch of 0 is the smallest. */
static void clear_image(cl_mem image, const size_t *region, size_t pitch, size_t slice_pitch, void *to)
{
    size_t element = 0;
    if (below->clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL) != CL_SUCCESS)
        return;
    bool is_row_array = type_of(image) == CL_MEM_OBJECT_IMAGE1D_ARRAY;
    size_t height = is_row_array ? 1 : region[1], depth = is_row_array ? region[1] : region[2];
    size_t width = region[0] * element, row = pitch != 0 ? pitch : width;
    clear_box(to, width, height, depth, row, slice_pitch != 0 ? slice_pitch : row * height);
}

static cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
                                     const size_t *region, size_t pitch, size_t slice_pitch, void *to, cl_uint count,
                                     const cl_event *events, cl_event *event)
{
    cl_int status = next->clEnqueueReadImage(queue, image, blocking, origin, region, pitch, slice_pitch, to, count, events, event);
    if (status == CL_SUCCESS && is_simulated(queue_device(queue)))
        clear_image(image, region, pitch, slice_pitch, to);
    return status;
}

/* The objects that have been mapped: what is there from then on is the application's. */
static struct records mapped;

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_MEMORY))
        mapped = (struct records){0};
}

static void CL_CALLBACK forget(cl_mem object, void *context)
{
    (void)context;
    lock_take(LOCK_MEMORY);
    struct record *known = records_remove(&mapped, object);
    lock_give(LOCK_MEMORY);
    free(known);
}

/* Whether this is the first map of a simulated device's object, and the application gave it no contents when it was made. A part
 * of a buffer counts as the buffer. */
static bool is_first_map(cl_command_queue queue, cl_mem object)
{
    cl_mem_flags flags = CL_MEM_USE_HOST_PTR;
    cl_mem whole = NULL;
    if (!is_simulated(queue_device(queue)) ||
        below->clGetMemObjectInfo(object, CL_MEM_FLAGS, sizeof flags, &flags, NULL) != CL_SUCCESS ||
        (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0 ||
        below->clGetMemObjectInfo(object, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole, NULL) != CL_SUCCESS)
        return false;
    if (whole == NULL)
        whole = object;
    struct record *record = malloc(sizeof *record);
    if (record == NULL)
        return false;
    record->handle = whole;
    lock_take(LOCK_MEMORY);
    bool is_first = records_find(&mapped, whole) == NULL;
    if (is_first)
        records_add(&mapped, record);
    lock_give(LOCK_MEMORY);
    if (!is_first)
        free(record);
    else if (below->clSetMemObjectDestructorCallback(whole, forget, NULL) != CL_SUCCESS)
        forget(whole, NULL);
    return is_first;
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                                    size_t size, cl_uint count, const cl_event *events, cl_event *event, cl_int *error_ret)
{
    void *memory = next->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, events, event, error_ret);
    if (memory != NULL && is_first_map(queue, buffer))
        clear_box(memory, size, 1, 1, 0, 0);
    return memory;
}

static void *CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                                   const size_t *origin, const size_t *region, size_t *pitch, size_t *slice_pitch,
                                   cl_uint count, const cl_event *events, cl_event *event, cl_int *error_ret)
{
    void *memory = next->clEnqueueMapImage(queue, image, blocking, flags, origin, region, pitch, slice_pitch, count, events,
                                           event, error_ret);
    if (memory != NULL && is_first_map(queue, image))
        clear_image(image, region, *pitch, slice_pitch != NULL ? *slice_pitch : 0, memory);
    return memory;
}

/* Shared virtual memory, in which an application keeps what it likes, is zero when it is made, and only then. */
static void *CL_API_CALL allocate(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    void *memory = next->clSVMAlloc(context, flags, size, alignment);
    if (memory != NULL && is_simulated(context_device(context)))
        clear_box(memory, size, 1, 1, 0, 0);
    return memory;
}

/* Whose the memory is: the application's, a device's own, or the driver's otherwise (also shared virtual memory). */
enum owner { APPLICATION, DEVICE, DRIVER };

static enum owner owner_of(cl_command_queue queue, const void *memory)
{
    cl_context context = NULL;
    cl_unified_shared_memory_type_intel type = CL_MEM_TYPE_UNKNOWN_INTEL;
    clGetMemAllocInfoINTEL_fn info = (clGetMemAllocInfoINTEL_fn)platform_function(queue_device(queue), ALLOCATION_INFO);
    if (info == NULL ||
        below->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS ||
        info(context, memory, CL_MEM_ALLOC_TYPE_INTEL, sizeof type, &type, NULL) != CL_SUCCESS ||
        type == CL_MEM_TYPE_UNKNOWN_INTEL)
        return APPLICATION;
    return type == CL_MEM_TYPE_DEVICE_INTEL ? DEVICE : DRIVER;
}

/* Fills what a copy brings out of a device, or out of the driver's memory to the application's. */
static void clear_copy(cl_command_queue queue, void *to, const void *from, size_t size)
{
    if (!is_simulated(queue_device(queue)))
        return;
    enum owner source = owner_of(queue, from), destination = owner_of(queue, to);
    if (source == DEVICE ? destination != DEVICE : source == DRIVER && destination == APPLICATION)
        clear_box(to, size, 1, 1, 0, 0);
}

static cl_int CL_API_CALL copy_shared_virtual(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size,
                                              cl_uint count, const cl_event *events, cl_event *event)
{
    cl_int status = next->clEnqueueSVMMemcpy(queue, blocking, to, from, size, count, events, event);
    if (status == CL_SUCCESS)
        clear_copy(queue, to, from, size);
    return status;
}

static void *CL_API_CALL allocate_host(cl_context context, const cl_mem_properties_intel *properties, size_t size,
                                       cl_uint alignment, cl_int *error_ret)
{
    cl_device_id device = context_device(context);
    clHostMemAllocINTEL_fn function = (clHostMemAllocINTEL_fn)platform_function(device, HOST_ALLOC);
    if (function == NULL) {
        if (error_ret != NULL)
            *error_ret = CL_INVALID_CONTEXT;
        return NULL;
    }
    void *memory = function(context, properties, size, alignment, error_ret);
    if (memory != NULL && is_simulated(device))
        clear_new(memory, size);
    return memory;
}

static void *CL_API_CALL allocate_shared(cl_context context, cl_device_id device, const cl_mem_properties_intel *properties,
                                         size_t size, cl_uint alignment, cl_int *error_ret)
{
    cl_device_id known = context_device(context); /* the application may name none */
    clSharedMemAllocINTEL_fn function = (clSharedMemAllocINTEL_fn)platform_function(known, SHARED_ALLOC);
    if (function == NULL) {
        if (error_ret != NULL)
            *error_ret = CL_INVALID_CONTEXT;
        return NULL;
    }
    void *memory = function(context, device, properties, size, alignment, error_ret);
    if (memory != NULL && is_simulated(known))
        clear_new(memory, size);
    return memory;
}

static cl_int CL_API_CALL copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, cl_uint count,
                               const cl_event *events, cl_event *event)
{
    clEnqueueMemcpyINTEL_fn function = (clEnqueueMemcpyINTEL_fn)platform_function(queue_device(queue), COPY);
    if (function == NULL)
        return CL_INVALID_COMMAND_QUEUE;
    cl_int status = function(queue, blocking, to, from, size, count, events, event);
    if (status == CL_SUCCESS)
        clear_copy(queue, to, from, size);
    return status;
}

void *simulated_memory_function(const char *name, void *of_platform)
{
    if (next == NULL || of_platform == NULL)
        return of_platform;
    if (strcmp(name, HOST_ALLOC) == 0)
        return (void *)allocate_host;
    if (strcmp(name, SHARED_ALLOC) == 0)
        return (void *)allocate_shared;
    return strcmp(name, COPY) == 0 ? (void *)copy : of_platform;
}

void simulated_memory_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind)
{
    simulates = device_is_simulated();
    if (getenv("KERNLENS_CAPTURE_ZEROS") == NULL || !simulates)
        return;
    next = behind;
    forks_watch(after_fork);
    dispatch->clEnqueueReadBuffer = read_buffer;
    dispatch->clEnqueueReadBufferRect = read_rectangle;
    dispatch->clEnqueueReadImage = read_image;
    dispatch->clEnqueueMapBuffer = map_buffer;
    dispatch->clEnqueueMapImage = map_image;
    dispatch->clSVMAlloc = allocate;
    dispatch->clEnqueueSVMMemcpy = copy_shared_virtual;
}
