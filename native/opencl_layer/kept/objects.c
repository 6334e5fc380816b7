/* The application's living memory objects and samplers: what a kernel was given is a handle if there is such an object. */
#include "base/locks.h"
#include "base/records.h"
#include "opencl_layer/below.h"
#include "opencl_layer/kept/parts.h"
#include "recording/allocations.h"

#include <stdlib.h>

static struct records memory, samplers; /* LOCK_MEMORY */
static const cl_icd_dispatch *next;

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_MEMORY))
        memory = samplers = (struct records){0};
}

static bool is_among(struct records *records, const void *handle)
{
    lock_take(LOCK_MEMORY);
    bool is_here = handle != NULL && records_find(records, handle) != NULL;
    lock_give(LOCK_MEMORY);
    return is_here;
}

bool is_memory_object(cl_mem object)
{
    return is_among(&memory, object);
}

bool is_sampler(cl_sampler sampler)
{
    return is_among(&samplers, sampler);
}

/* Adds a record in place of one of the same handle. */
static void add(struct records *records, struct record *record, const void *handle)
{
    if (record == NULL)
        return;
    record->handle = handle;
    lock_take(LOCK_MEMORY);
    struct record *former = records_remove(records, handle);
    records_add(records, record);
    lock_give(LOCK_MEMORY);
    free(former);
}

static void drop(struct records *records, const void *handle)
{
    lock_take(LOCK_MEMORY);
    struct record *known = records_remove(records, handle);
    lock_give(LOCK_MEMORY);
    free(known);
}

static void CL_CALLBACK forget_memory(cl_mem object, void *context)
{
    (void)context;
    drop(&memory, object);
}

static cl_mem new_memory(cl_mem object)
{
    if (object == NULL)
        return NULL;
    add(&memory, calloc(1, sizeof(struct record)), object);
    if (below->clSetMemObjectDestructorCallback(object, forget_memory, NULL) != CL_SUCCESS)
        drop(&memory, object); /* its end would not be known */
    return object;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *bytes, cl_int *error_ret)
{
    return new_memory(next->clCreateBuffer(context, flags, size, bytes, error_ret));
}

static cl_mem CL_API_CALL create_buffer_with(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t size,
                                             void *bytes, cl_int *error_ret)
{
    return new_memory(next->clCreateBufferWithProperties(context, properties, flags, size, bytes, error_ret));
}

static cl_mem CL_API_CALL create_part(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type kind, const void *region,
                                      cl_int *error_ret)
{
    return new_memory(next->clCreateSubBuffer(buffer, flags, kind, region, error_ret));
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                                       const cl_image_desc *description, void *bytes, cl_int *error_ret)
{
    return new_memory(next->clCreateImage(context, flags, format, description, bytes, error_ret));
}

static cl_mem CL_API_CALL create_image_with(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
                                            const cl_image_format *format, const cl_image_desc *description, void *bytes,
                                            cl_int *error_ret)
{
    return new_memory(next->clCreateImageWithProperties(context, properties, flags, format, description, bytes, error_ret));
}

static cl_mem CL_API_CALL create_flat(cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
                                      size_t height, size_t pitch, void *bytes, cl_int *error_ret)
{
    return new_memory(next->clCreateImage2D(context, flags, format, width, height, pitch, bytes, error_ret));
}

static cl_mem CL_API_CALL create_deep(cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
                                      size_t height, size_t depth, size_t pitch, size_t slice_pitch, void *bytes, cl_int *error_ret)
{
    return new_memory(next->clCreateImage3D(context, flags, format, width, height, depth, pitch, slice_pitch, bytes, error_ret));
}

static cl_sampler new_sampler(cl_sampler sampler)
{
    if (sampler != NULL)
        add(&samplers, calloc(1, sizeof(struct record)), sampler);
    return sampler;
}

static cl_sampler CL_API_CALL create_sampler(cl_context context, cl_bool normalized, cl_addressing_mode addressing,
                                             cl_filter_mode filter, cl_int *error_ret)
{
    return new_sampler(next->clCreateSampler(context, normalized, addressing, filter, error_ret));
}

static cl_sampler CL_API_CALL create_sampler_with(cl_context context, const cl_sampler_properties *properties, cl_int *error_ret)
{
    return new_sampler(next->clCreateSamplerWithProperties(context, properties, error_ret));
}

static cl_int CL_API_CALL release_sampler(cl_sampler sampler)
{
    cl_uint references = 0;
    if (is_sampler(sampler) &&
        below->clGetSamplerInfo(sampler, CL_SAMPLER_REFERENCE_COUNT, sizeof references, &references, NULL) == CL_SUCCESS &&
        references == 1)
        drop(&samplers, sampler);
    return next->clReleaseSampler(sampler);
}

static void *CL_API_CALL allocate(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    void *address = next->clSVMAlloc(context, flags, size, alignment);
    allocation_is(address, size, MEMORY_SVM, flags, context);
    return address;
}

static void CL_API_CALL free_allocation(cl_context context, void *address)
{
    allocation_is_gone(address);
    next->clSVMFree(context, address);
}

static cl_int CL_API_CALL enqueue_free(cl_command_queue queue, cl_uint number, void *addresses[],
                                       void(CL_CALLBACK *notify)(cl_command_queue queue, cl_uint number, void *addresses[], void *user_data),
                                       void *user_data, cl_uint count, const cl_event *events, cl_event *event)
{
    for (cl_uint index = 0; addresses != NULL && index < number; ++index)
        allocation_is_gone(addresses[index]);
    return next->clEnqueueSVMFree(queue, number, addresses, notify, user_data, count, events, event);
}

void objects_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind)
{
    next = behind;
    forks_watch(after_fork);
    allocations_watch();
    dispatch->clCreateBuffer = create_buffer;
    dispatch->clCreateBufferWithProperties = create_buffer_with;
    dispatch->clCreateSubBuffer = create_part;
    dispatch->clCreateImage = create_image;
    dispatch->clCreateImageWithProperties = create_image_with;
    dispatch->clCreateImage2D = create_flat;
    dispatch->clCreateImage3D = create_deep;
    dispatch->clCreateSampler = create_sampler;
    dispatch->clCreateSamplerWithProperties = create_sampler_with;
    dispatch->clReleaseSampler = release_sampler;
    dispatch->clSVMAlloc = allocate;
    dispatch->clSVMFree = free_allocation;
    dispatch->clEnqueueSVMFree = enqueue_free;
}
