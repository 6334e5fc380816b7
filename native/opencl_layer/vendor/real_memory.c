/* Calls on memory, images and samplers, as real.c has the others. */
#include "opencl_layer/vendor/real.h"

STATUS(clEnqueueReadBuffer, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *to, cl_uint count,
        const cl_event *events, cl_event *event),
       queue, queue, buffer, blocking, offset, size, to, count, events, event)
STATUS(clEnqueueReadBufferRect, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *buffer_origin, const size_t *origin,
        const size_t *region, size_t buffer_pitch, size_t buffer_slice_pitch, size_t pitch, size_t slice_pitch, void *to,
        cl_uint count, const cl_event *events, cl_event *event),
       queue, queue, buffer, blocking, buffer_origin, origin, region, buffer_pitch, buffer_slice_pitch, pitch, slice_pitch, to,
       count, events, event)
STATUS(clEnqueueReadImage, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t pitch,
        size_t slice_pitch, void *to, cl_uint count, const cl_event *events, cl_event *event),
       queue, queue, image, blocking, origin, region, pitch, slice_pitch, to, count, events, event)
STATUS(clEnqueueSVMMemcpy, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, cl_uint count, const cl_event *events,
        cl_event *event),
       queue, queue, blocking, to, from, size, count, events, event)
STATUS(clSetMemObjectDestructorCallback, CL_INVALID_MEM_OBJECT,
       (cl_mem object, void(CL_CALLBACK *notify)(cl_mem object, void *user_data), void *user_data), object, object, notify,
       user_data)

STATUS(clEnqueueWriteBuffer, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, const void *from, cl_uint count,
        const cl_event *events, cl_event *event),
       queue, queue, buffer, blocking, offset, size, from, count, events, event)
STATUS(clEnqueueCopyBuffer, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size, cl_uint count,
        const cl_event *events, cl_event *event),
       queue, queue, from, to, from_offset, to_offset, size, count, events, event)
STATUS(clEnqueueFillBuffer, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size, cl_uint count,
        const cl_event *events, cl_event *event),
       queue, queue, buffer, pattern, pattern_size, offset, size, count, events, event)
STATUS(clEnqueueWriteImage, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t pitch,
        size_t slice_pitch, const void *from, cl_uint count, const cl_event *events, cl_event *event),
       queue, queue, image, blocking, origin, region, pitch, slice_pitch, from, count, events, event)
STATUS(clEnqueueUnmapMemObject, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_mem object, void *mapped, cl_uint count, const cl_event *events, cl_event *event), queue, queue,
       object, mapped, count, events, event)

STATUS(clReleaseMemObject, CL_INVALID_MEM_OBJECT, (cl_mem object), object, object)

/* Memory that is made is asked for nothing that is ours, but its table may be. */
MAKER(cl_mem, clCreateBuffer, CL_INVALID_CONTEXT,
      (cl_context context, cl_mem_flags flags, size_t size, void *bytes, cl_int *error_ret), context, context, flags, size, bytes,
      error_ret)
MAKER(cl_mem, clCreateImage, CL_INVALID_CONTEXT,
      (cl_context context, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *description, void *bytes,
       cl_int *error_ret),
      context, context, flags, format, description, bytes, error_ret)

/* Mapped memory is no object. */
void *CL_API_CALL clEnqueueMapBuffer_real(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                                 size_t offset, size_t size, cl_uint count, const cl_event *events,
                                                 cl_event *event, cl_int *error_ret)
{
    return real_of(queue)->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, events, event, error_ret);
}

void *CL_API_CALL clEnqueueMapImage_real(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                                                const size_t *origin, const size_t *region, size_t *pitch, size_t *slice_pitch,
                                                cl_uint count, const cl_event *events, cl_event *event, cl_int *error_ret)
{
    return real_of(queue)->clEnqueueMapImage(queue, image, blocking, flags, origin, region, pitch, slice_pitch, count, events,
                                             event, error_ret);
}

void *CL_API_CALL clSVMAlloc_real(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    return real_of(context)->clSVMAlloc(context, flags, size, alignment);
}

MAKER(cl_mem, clCreateSubBuffer, CL_INVALID_MEM_OBJECT,
      (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type kind, const void *region, cl_int *error_ret), buffer, buffer, flags,
      kind, region, error_ret)
MAKER(cl_mem, clCreateBufferWithProperties, CL_INVALID_CONTEXT,
      (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t size, void *bytes, cl_int *error_ret),
      context, context, properties, flags, size, bytes, error_ret)
MAKER(cl_mem, clCreateImageWithProperties, CL_INVALID_CONTEXT,
      (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, const cl_image_format *format,
       const cl_image_desc *description, void *bytes, cl_int *error_ret),
      context, context, properties, flags, format, description, bytes, error_ret)
MAKER(cl_mem, clCreateImage2D, CL_INVALID_CONTEXT,
      (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height, size_t pitch,
       void *bytes, cl_int *error_ret),
      context, context, flags, format, width, height, pitch, bytes, error_ret)
MAKER(cl_mem, clCreateImage3D, CL_INVALID_CONTEXT,
      (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width, size_t height, size_t depth,
       size_t pitch, size_t slice_pitch, void *bytes, cl_int *error_ret),
      context, context, flags, format, width, height, depth, pitch, slice_pitch, bytes, error_ret)
STATUS(clEnqueueCopyImageToBuffer, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_mem image, cl_mem buffer, const size_t *origin, const size_t *region, size_t offset, cl_uint count,
        const cl_event *events, cl_event *event),
       queue, queue, image, buffer, origin, region, offset, count, events, event)

MAKER(cl_sampler, clCreateSampler, CL_INVALID_CONTEXT,
      (cl_context context, cl_bool normalized, cl_addressing_mode addressing, cl_filter_mode filter, cl_int *error_ret), context,
      context, normalized, addressing, filter, error_ret)
MAKER(cl_sampler, clCreateSamplerWithProperties, CL_INVALID_CONTEXT,
      (cl_context context, const cl_sampler_properties *properties, cl_int *error_ret), context, context, properties, error_ret)
STATUS(clReleaseSampler, CL_INVALID_SAMPLER, (cl_sampler sampler), sampler, sampler)
STATUS(clGetSamplerInfo, CL_INVALID_SAMPLER,
       (cl_sampler sampler, cl_sampler_info what, size_t size, void *value, size_t *size_ret), sampler, sampler, what, size, value,
       size_ret)

void CL_API_CALL clSVMFree_real(cl_context context, void *memory)
{
    const cl_icd_dispatch *real = real_of(context);
    if (real != NULL && real->clSVMFree != NULL)
        real->clSVMFree(context, memory);
}

STATUS(clEnqueueSVMFree, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_uint memory_count, void *memory[],
        void(CL_CALLBACK *notify)(cl_command_queue queue, cl_uint count, void *memory[], void *user_data), void *user_data,
        cl_uint count, const cl_event *events, cl_event *event),
       queue, queue, memory_count, memory, notify, user_data, count, events, event)
