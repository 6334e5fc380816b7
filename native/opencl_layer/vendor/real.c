/* Calls of the driver that an object belongs to, with a loader's answers where there is no object, or no such function. What a call
 * makes may have a table of functions that was not seen yet. */
#include "opencl_layer/vendor/drivers.h"
#include "opencl_layer/vendor/tables.h"

typedef void(CL_CALLBACK *notification)(cl_program program, void *user_data);

/* A function that answers a status; `wrong` is that for an object which is none. */
#define STATUS(name, wrong, parameters, object, ...)                                                                 \
    static cl_int CL_API_CALL name##_real parameters                                                                 \
    {                                                                                                                \
        const cl_icd_dispatch *real = real_of(object);                                                               \
        if (real == NULL)                                                                                            \
            return wrong;                                                                                            \
        return real->name != NULL ? real->name(__VA_ARGS__) : CL_INVALID_OPERATION;                                  \
    }

/* One that makes an object, and has a last parameter for its status. */
#define MAKER(type, name, wrong, parameters, object, ...)                                                            \
    static type CL_API_CALL name##_real parameters                                                                   \
    {                                                                                                                \
        const cl_icd_dispatch *real = real_of(object);                                                               \
        if (real != NULL && real->name != NULL)                                                                      \
            return tables_seen(object, real->name(__VA_ARGS__));                                                     \
        if (error_ret != NULL)                                                                                       \
            *error_ret = real == NULL ? wrong : CL_INVALID_OPERATION;                                                \
        return NULL;                                                                                                 \
    }

#define INFO(type, name, question, wrong)                                                                            \
    STATUS(name, wrong, (type object, question what, size_t size, void *value, size_t *size_ret), object, object, what, size, \
           value, size_ret)

INFO(cl_platform_id, clGetPlatformInfo, cl_platform_info, CL_INVALID_PLATFORM)
INFO(cl_device_id, clGetDeviceInfo, cl_device_info, CL_INVALID_DEVICE)
INFO(cl_context, clGetContextInfo, cl_context_info, CL_INVALID_CONTEXT)
INFO(cl_command_queue, clGetCommandQueueInfo, cl_command_queue_info, CL_INVALID_COMMAND_QUEUE)
INFO(cl_mem, clGetMemObjectInfo, cl_mem_info, CL_INVALID_MEM_OBJECT)
INFO(cl_mem, clGetImageInfo, cl_image_info, CL_INVALID_MEM_OBJECT)
INFO(cl_program, clGetProgramInfo, cl_program_info, CL_INVALID_PROGRAM)
INFO(cl_kernel, clGetKernelInfo, cl_kernel_info, CL_INVALID_KERNEL)

STATUS(clGetProgramBuildInfo, CL_INVALID_PROGRAM,
       (cl_program program, cl_device_id device, cl_program_build_info what, size_t size, void *value, size_t *size_ret),
       program, program, device, what, size, value, size_ret)

static cl_int CL_API_CALL clGetDeviceIDs_real(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *devices,
                                              cl_uint *count_ret)
{
    const cl_icd_dispatch *real = real_of(platform);
    if (real == NULL)
        return CL_INVALID_PLATFORM;
    cl_uint count = 0;
    cl_int status = real->clGetDeviceIDs(platform, type, room, devices, devices != NULL && count_ret == NULL ? &count : count_ret);
    if (status != CL_SUCCESS || devices == NULL)
        return status;
    count = count_ret != NULL ? *count_ret : count;
    for (cl_uint index = 0; index < count && index < room; ++index)
        tables_seen(platform, devices[index]);
    return status;
}

static cl_context CL_API_CALL clCreateContext_real(const cl_context_properties *properties, cl_uint count,
                                                   const cl_device_id *devices,
                                                   void(CL_CALLBACK *notify)(const char *error, const void *private_info,
                                                                             size_t size, void *user_data),
                                                   void *user_data, cl_int *error_ret)
{
    const void *first = count > 0 && devices != NULL ? devices[0] : NULL;
    const cl_icd_dispatch *real = real_of(first);
    if (real != NULL)
        return tables_seen(first, real->clCreateContext(properties, count, devices, notify, user_data, error_ret));
    if (error_ret != NULL)
        *error_ret = CL_INVALID_VALUE;
    return NULL;
}

MAKER(cl_command_queue, clCreateCommandQueue, CL_INVALID_CONTEXT,
      (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *error_ret), context, context,
      device, properties, error_ret)
MAKER(cl_command_queue, clCreateCommandQueueWithProperties, CL_INVALID_CONTEXT,
      (cl_context context, cl_device_id device, const cl_queue_properties *properties, cl_int *error_ret), context, context,
      device, properties, error_ret)
STATUS(clReleaseCommandQueue, CL_INVALID_COMMAND_QUEUE, (cl_command_queue queue), queue, queue)

MAKER(cl_program, clCreateProgramWithSource, CL_INVALID_CONTEXT,
      (cl_context context, cl_uint count, const char **strings, const size_t *lengths, cl_int *error_ret), context, context,
      count, strings, lengths, error_ret)
MAKER(cl_program, clCreateProgramWithBinary, CL_INVALID_CONTEXT,
      (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths, const unsigned char **binaries,
       cl_int *binary_status, cl_int *error_ret),
      context, context, count, devices, lengths, binaries, binary_status, error_ret)
MAKER(cl_program, clCreateProgramWithBuiltInKernels, CL_INVALID_CONTEXT,
      (cl_context context, cl_uint count, const cl_device_id *devices, const char *names, cl_int *error_ret), context, context,
      count, devices, names, error_ret)
MAKER(cl_program, clCreateProgramWithIL, CL_INVALID_CONTEXT,
      (cl_context context, const void *il, size_t length, cl_int *error_ret), context, context, il, length, error_ret)
MAKER(cl_program, clLinkProgram, CL_INVALID_CONTEXT,
      (cl_context context, cl_uint count, const cl_device_id *devices, const char *options, cl_uint program_count,
       const cl_program *programs, notification notify, void *user_data, cl_int *error_ret),
      context, context, count, devices, options, program_count, programs, notify, user_data, error_ret)
STATUS(clBuildProgram, CL_INVALID_PROGRAM,
       (cl_program program, cl_uint count, const cl_device_id *devices, const char *options, notification notify,
        void *user_data),
       program, program, count, devices, options, notify, user_data)
STATUS(clCompileProgram, CL_INVALID_PROGRAM,
       (cl_program program, cl_uint count, const cl_device_id *devices, const char *options, cl_uint header_count,
        const cl_program *headers, const char **header_names, notification notify, void *user_data),
       program, program, count, devices, options, header_count, headers, header_names, notify, user_data)
STATUS(clSetProgramSpecializationConstant, CL_INVALID_PROGRAM,
       (cl_program program, cl_uint number, size_t size, const void *value), program, program, number, size, value)
STATUS(clReleaseProgram, CL_INVALID_PROGRAM, (cl_program program), program, program)

MAKER(cl_kernel, clCreateKernel, CL_INVALID_PROGRAM, (cl_program program, const char *name, cl_int *error_ret), program, program,
      name, error_ret)
MAKER(cl_kernel, clCloneKernel, CL_INVALID_KERNEL, (cl_kernel kernel, cl_int *error_ret), kernel, kernel, error_ret)
STATUS(clCreateKernelsInProgram, CL_INVALID_PROGRAM,
       (cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *count_ret), program, program, room, kernels, count_ret)

STATUS(clEnqueueNDRangeKernel, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
        const size_t *local, cl_uint count, const cl_event *events, cl_event *event),
       queue, queue, kernel, dimensions, offset, global, local, count, events, event)
STATUS(clEnqueueTask, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *events, cl_event *event), queue, queue, kernel,
       count, events, event)
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

/* Memory is no object. */
static void *CL_API_CALL clEnqueueMapBuffer_real(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                                 size_t offset, size_t size, cl_uint count, const cl_event *events,
                                                 cl_event *event, cl_int *error_ret)
{
    return real_of(queue)->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, events, event, error_ret);
}

static void *CL_API_CALL clEnqueueMapImage_real(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                                                const size_t *origin, const size_t *region, size_t *pitch, size_t *slice_pitch,
                                                cl_uint count, const cl_event *events, cl_event *event, cl_int *error_ret)
{
    return real_of(queue)->clEnqueueMapImage(queue, image, blocking, flags, origin, region, pitch, slice_pitch, count, events,
                                             event, error_ret);
}

static void *CL_API_CALL clSVMAlloc_real(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    return real_of(context)->clSVMAlloc(context, flags, size, alignment);
}

static void *CL_API_CALL clGetExtensionFunctionAddressForPlatform_real(cl_platform_id platform, const char *name)
{
    const cl_icd_dispatch *real = real_of(platform);
    if (real == NULL || real->clGetExtensionFunctionAddressForPlatform == NULL)
        return NULL;
    return real->clGetExtensionFunctionAddressForPlatform(platform, name);
}

#define FUNCTION(name) .name = name##_real

const cl_icd_dispatch real_functions = {
    .clGetPlatformIDs = drivers_platforms,
    .clGetExtensionFunctionAddress = drivers_function,
    FUNCTION(clGetPlatformInfo),
    FUNCTION(clGetDeviceIDs),
    FUNCTION(clGetDeviceInfo),
    FUNCTION(clCreateContext),
    FUNCTION(clGetContextInfo),
    FUNCTION(clCreateCommandQueue),
    FUNCTION(clReleaseCommandQueue),
    FUNCTION(clGetCommandQueueInfo),
    FUNCTION(clGetMemObjectInfo),
    FUNCTION(clGetImageInfo),
    FUNCTION(clCreateProgramWithSource),
    FUNCTION(clCreateProgramWithBinary),
    FUNCTION(clReleaseProgram),
    FUNCTION(clBuildProgram),
    FUNCTION(clGetProgramInfo),
    FUNCTION(clGetProgramBuildInfo),
    FUNCTION(clCreateKernel),
    FUNCTION(clCreateKernelsInProgram),
    FUNCTION(clGetKernelInfo),
    FUNCTION(clEnqueueReadBuffer),
    FUNCTION(clEnqueueReadImage),
    FUNCTION(clEnqueueMapBuffer),
    FUNCTION(clEnqueueMapImage),
    FUNCTION(clEnqueueNDRangeKernel),
    FUNCTION(clEnqueueTask),
    FUNCTION(clSetMemObjectDestructorCallback),
    FUNCTION(clEnqueueReadBufferRect),
    FUNCTION(clCreateProgramWithBuiltInKernels),
    FUNCTION(clCompileProgram),
    FUNCTION(clLinkProgram),
    FUNCTION(clGetExtensionFunctionAddressForPlatform),
    FUNCTION(clCreateCommandQueueWithProperties),
    FUNCTION(clSVMAlloc),
    FUNCTION(clEnqueueSVMMemcpy),
    FUNCTION(clCloneKernel),
    FUNCTION(clCreateProgramWithIL),
    FUNCTION(clSetProgramSpecializationConstant),
};
