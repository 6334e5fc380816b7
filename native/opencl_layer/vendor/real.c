/* Calls of the driver that an object belongs to, with a loader's answers where there is no object, or no such function. What a call
 * makes may have a table of functions that was not seen yet. */
#include "opencl_layer/vendor/real.h"

#include "opencl_layer/vendor/drivers.h"

typedef void(CL_CALLBACK *notification)(cl_program program, void *user_data);

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
INFO(cl_event, clGetEventInfo, cl_event_info, CL_INVALID_EVENT)
INFO(cl_event, clGetEventProfilingInfo, cl_profiling_info, CL_INVALID_EVENT)

STATUS(clGetProgramBuildInfo, CL_INVALID_PROGRAM,
       (cl_program program, cl_device_id device, cl_program_build_info what, size_t size, void *value, size_t *size_ret),
       program, program, device, what, size, value, size_ret)

/* One that lists objects in the room that there is for them. */
#define LISTER(name, wrong, parameters, object, objects, ...)                                                        \
    cl_int CL_API_CALL name##_real parameters                                                                 \
    {                                                                                                                \
        const cl_icd_dispatch *real = real_of(object);                                                               \
        if (real == NULL)                                                                                            \
            return wrong;                                                                                            \
        if (real->name == NULL)                                                                                      \
            return CL_INVALID_OPERATION;                                                                             \
        cl_uint listed = 0, *count = count_ret == NULL && objects != NULL ? &listed : count_ret;                      \
        cl_int status = real->name(__VA_ARGS__, room, objects, count);                                               \
        for (cl_uint index = 0; status == CL_SUCCESS && objects != NULL && index < *count && index < room; ++index)  \
            tables_seen(object, objects[index]);                                                                     \
        return status;                                                                                               \
    }

LISTER(clGetDeviceIDs, CL_INVALID_PLATFORM,
       (cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *devices, cl_uint *count_ret), platform, devices,
       platform, type)
LISTER(clCreateSubDevices, CL_INVALID_DEVICE,
       (cl_device_id device, const cl_device_partition_property *properties, cl_uint room, cl_device_id *devices,
        cl_uint *count_ret),
       device, devices, device, properties)
LISTER(clCreateSubDevicesEXT, CL_INVALID_DEVICE,
       (cl_device_id device, const cl_device_partition_property_ext *properties, cl_uint room, cl_device_id *devices,
        cl_uint *count_ret),
       device, devices, device, properties)

cl_context CL_API_CALL clCreateContext_real(const cl_context_properties *properties, cl_uint count,
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
LISTER(clCreateKernelsInProgram, CL_INVALID_PROGRAM,
       (cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *count_ret), program, kernels, program)

STATUS(clSetKernelArg, CL_INVALID_KERNEL, (cl_kernel kernel, cl_uint number, size_t size, const void *value), kernel, kernel, number,
       size, value)
STATUS(clSetKernelArgSVMPointer, CL_INVALID_KERNEL, (cl_kernel kernel, cl_uint number, const void *value), kernel, kernel, number,
       value)
STATUS(clSetKernelExecInfo, CL_INVALID_KERNEL, (cl_kernel kernel, cl_kernel_exec_info what, size_t size, const void *value), kernel,
       kernel, what, size, value)
STATUS(clGetKernelArgInfo, CL_INVALID_KERNEL,
       (cl_kernel kernel, cl_uint number, cl_kernel_arg_info what, size_t size, void *value, size_t *size_ret), kernel, kernel,
       number, what, size, value, size_ret)
STATUS(clGetKernelWorkGroupInfo, CL_INVALID_KERNEL,
       (cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what, size_t size, void *value, size_t *size_ret), kernel,
       kernel, device, what, size, value, size_ret)
STATUS(clGetKernelSubGroupInfo, CL_INVALID_KERNEL,
       (cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info what, size_t input_size, const void *input, size_t size,
        void *value, size_t *size_ret),
       kernel, kernel, device, what, input_size, input, size, value, size_ret)

STATUS(clEnqueueNDRangeKernel, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
        const size_t *local, cl_uint count, const cl_event *events, cl_event *event),
       queue, queue, kernel, dimensions, offset, global, local, count, events, event)
STATUS(clEnqueueTask, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *events, cl_event *event), queue, queue, kernel,
       count, events, event)
STATUS(clFlush, CL_INVALID_COMMAND_QUEUE, (cl_command_queue queue), queue, queue)
STATUS(clFinish, CL_INVALID_COMMAND_QUEUE, (cl_command_queue queue), queue, queue)
STATUS(clWaitForEvents, CL_INVALID_VALUE, (cl_uint count, const cl_event *events),
       count > 0 && events != NULL ? events[0] : NULL, count, events)

STATUS(clSetEventCallback, CL_INVALID_EVENT,
       (cl_event event, cl_int status, void(CL_CALLBACK *notify)(cl_event event, cl_int status, void *user_data), void *user_data),
       event, event, status, notify, user_data)
STATUS(clEnqueueBarrierWithWaitList, CL_INVALID_COMMAND_QUEUE,
       (cl_command_queue queue, cl_uint count, const cl_event *events, cl_event *event), queue, queue, count, events, event)

STATUS(clReleaseContext, CL_INVALID_CONTEXT, (cl_context context), context, context)
STATUS(clReleaseKernel, CL_INVALID_KERNEL, (cl_kernel kernel), kernel, kernel)
STATUS(clRetainEvent, CL_INVALID_EVENT, (cl_event event), event, event)
STATUS(clReleaseEvent, CL_INVALID_EVENT, (cl_event event), event, event)

void *CL_API_CALL clGetExtensionFunctionAddressForPlatform_real(cl_platform_id platform, const char *name)
{
    const cl_icd_dispatch *real = real_of(platform);
    if (real == NULL || real->clGetExtensionFunctionAddressForPlatform == NULL)
        return NULL;
    return real->clGetExtensionFunctionAddressForPlatform(platform, name);
}

/* That one is told of no object, and is another for each driver (from_type.c). */
#define clCreateContextFromType_real NULL
#define FUNCTION(name, release) .name = name##_real,

const cl_icd_dispatch real_functions = {
    .clGetPlatformIDs = drivers_platforms,
    .clGetExtensionFunctionAddress = drivers_function,
    EACH_FUNCTION(FUNCTION)
};
