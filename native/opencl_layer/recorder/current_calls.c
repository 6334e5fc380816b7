/* The calls of OpenCL that an application is in, so that a capture can tell what a driver's crash ended. Builds are told of by their
 * own events. */
#define _GNU_SOURCE
#include "recording/current_calls.h"

#include "opencl_layer/recorder/parts.h"


static cl_icd_dispatch next;

/* The functions: result, name, parameters, arguments. */
#define CALLS(CALL) \
    CALL(cl_int, clGetContextInfo, (cl_context a, cl_context_info b, size_t c, void *d, size_t *e), (a, b, c, d, e))          \
    CALL(cl_int, clGetProgramInfo, (cl_program a, cl_program_info b, size_t c, void *d, size_t *e), (a, b, c, d, e))          \
    CALL(cl_int, clGetProgramBuildInfo, (cl_program a, cl_device_id b, cl_program_build_info c, size_t d, void *e, size_t     \
         *f), (a, b, c, d, e, f))                                                                                             \
    CALL(cl_int, clGetKernelInfo, (cl_kernel a, cl_kernel_info b, size_t c, void *d, size_t *e), (a, b, c, d, e))             \
    CALL(cl_int, clGetKernelWorkGroupInfo, (cl_kernel a, cl_device_id b, cl_kernel_work_group_info c, size_t d, void *e,      \
         size_t *f), (a, b, c, d, e, f))                                                                                      \
    CALL(cl_int, clGetKernelArgInfo, (cl_kernel a, cl_uint b, cl_kernel_arg_info c, size_t d, void *e, size_t *f), (a, b,     \
         c, d, e, f))                                                                                                         \
    CALL(cl_int, clGetKernelSubGroupInfo, (cl_kernel a, cl_device_id b, cl_kernel_sub_group_info c, size_t d, const void      \
         *e, size_t f, void *g, size_t *h), (a, b, c, d, e, f, g, h))                                                         \
    CALL(cl_context, clCreateContext, (const cl_context_properties *a, cl_uint b, const cl_device_id *c, void(CL_CALLBACK     \
         *d)(const char *, const void *, size_t, void *), void *e, cl_int *f), (a, b, c, d, e, f))                            \
    CALL(cl_command_queue, clCreateCommandQueue, (cl_context a, cl_device_id b, cl_command_queue_properties c, cl_int *d),    \
         (a, b, c, d))                                                                                                        \
    CALL(cl_command_queue, clCreateCommandQueueWithProperties, (cl_context a, cl_device_id b, const cl_queue_properties       \
         *c, cl_int *d), (a, b, c, d))                                                                                        \
    CALL(cl_mem, clCreateBuffer, (cl_context a, cl_mem_flags b, size_t c, void *d, cl_int *e), (a, b, c, d, e))               \
    CALL(cl_mem, clCreateImage, (cl_context a, cl_mem_flags b, const cl_image_format *c, const cl_image_desc *d, void *e,     \
         cl_int *f), (a, b, c, d, e, f))                                                                                      \
    CALL(cl_program, clCreateProgramWithSource, (cl_context a, cl_uint b, const char **c, const size_t *d, cl_int *e), (a,    \
         b, c, d, e))                                                                                                         \
    CALL(cl_program, clCreateProgramWithBinary, (cl_context a, cl_uint b, const cl_device_id *c, const size_t *d, const       \
         unsigned char **e, cl_int *f, cl_int *g), (a, b, c, d, e, f, g))                                                     \
    CALL(cl_program, clCreateProgramWithIL, (cl_context a, const void *b, size_t c, cl_int *d), (a, b, c, d))                 \
    CALL(cl_program, clCreateProgramWithBuiltInKernels, (cl_context a, cl_uint b, const cl_device_id *c, const char *d,       \
         cl_int *e), (a, b, c, d, e))                                                                                         \
    CALL(cl_kernel, clCreateKernel, (cl_program a, const char *b, cl_int *c), (a, b, c))                                      \
    CALL(cl_int, clCreateKernelsInProgram, (cl_program a, cl_uint b, cl_kernel *c, cl_uint *d), (a, b, c, d))                 \
    CALL(cl_kernel, clCloneKernel, (cl_kernel a, cl_int *b), (a, b))                                                          \
    CALL(cl_int, clSetKernelArg, (cl_kernel a, cl_uint b, size_t c, const void *d), (a, b, c, d))                             \
    CALL(cl_int, clSetKernelArgSVMPointer, (cl_kernel a, cl_uint b, const void *c), (a, b, c))                                \
    CALL(cl_int, clEnqueueNDRangeKernel, (cl_command_queue a, cl_kernel b, cl_uint c, const size_t *d, const size_t *e,       \
         const size_t *f, cl_uint g, const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i))                            \
    CALL(cl_int, clEnqueueTask, (cl_command_queue a, cl_kernel b, cl_uint c, const cl_event *d, cl_event *e), (a, b, c, d, e)) \
    CALL(cl_int, clEnqueueReadBuffer, (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, void *f, cl_uint g,       \
         const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i))                                                        \
    CALL(cl_int, clEnqueueWriteBuffer, (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, const void *f,           \
         cl_uint g, const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i))                                             \
    CALL(cl_int, clEnqueueCopyBuffer, (cl_command_queue a, cl_mem b, cl_mem c, size_t d, size_t e, size_t f, cl_uint g,       \
         const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i))                                                        \
    CALL(cl_int, clEnqueueFillBuffer, (cl_command_queue a, cl_mem b, const void *c, size_t d, size_t e, size_t f, cl_uint     \
         g, const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i))                                                     \
    CALL(cl_int, clEnqueueReadImage, (cl_command_queue a, cl_mem b, cl_bool c, const size_t *d, const size_t *e, size_t f,    \
         size_t g, void *h, cl_uint i, const cl_event *j, cl_event *k), (a, b, c, d, e, f, g, h, i, j, k))                    \
    CALL(cl_int, clEnqueueWriteImage, (cl_command_queue a, cl_mem b, cl_bool c, const size_t *d, const size_t *e, size_t      \
         f, size_t g, const void *h, cl_uint i, const cl_event *j, cl_event *k), (a, b, c, d, e, f, g, h, i, j, k))           \
    CALL(cl_int, clEnqueueUnmapMemObject, (cl_command_queue a, cl_mem b, void *c, cl_uint d, const cl_event *e, cl_event      \
         *f), (a, b, c, d, e, f))                                                                                             \
    CALL(void *, clEnqueueMapBuffer, (cl_command_queue a, cl_mem b, cl_bool c, cl_map_flags d, size_t e, size_t f, cl_uint g, \
         const cl_event *h, cl_event *i, cl_int *j), (a, b, c, d, e, f, g, h, i, j))                                          \
    CALL(void *, clEnqueueMapImage, (cl_command_queue a, cl_mem b, cl_bool c, cl_map_flags d, const size_t *e, const size_t   \
         *f, size_t *g, size_t *h, cl_uint i, const cl_event *j, cl_event *k, cl_int *l), (a, b, c, d, e, f, g, h, i, j, k,   \
         l))                                                                                                                  \
    CALL(cl_int, clEnqueueReadBufferRect, (cl_command_queue a, cl_mem b, cl_bool c, const size_t *d, const size_t *e, const   \
         size_t *f, size_t g, size_t h, size_t i, size_t j, void *k, cl_uint l, const cl_event *m, cl_event *n), (a, b, c, d, \
         e, f, g, h, i, j, k, l, m, n))                                                                                       \
    CALL(cl_int, clEnqueueWriteBufferRect, (cl_command_queue a, cl_mem b, cl_bool c, const size_t *d, const size_t *e, const  \
         size_t *f, size_t g, size_t h, size_t i, size_t j, const void *k, cl_uint l, const cl_event *m, cl_event *n), (a, b, \
         c, d, e, f, g, h, i, j, k, l, m, n))                                                                                 \
    CALL(cl_int, clEnqueueCopyImage, (cl_command_queue a, cl_mem b, cl_mem c, const size_t *d, const size_t *e, const size_t  \
         *f, cl_uint g, const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i))                                         \
    CALL(cl_int, clEnqueueCopyImageToBuffer, (cl_command_queue a, cl_mem b, cl_mem c, const size_t *d, const size_t *e,       \
         size_t f, cl_uint g, const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i))                                   \
    CALL(cl_int, clEnqueueCopyBufferToImage, (cl_command_queue a, cl_mem b, cl_mem c, size_t d, const size_t *e, const size_t \
         *f, cl_uint g, const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i))                                         \
    CALL(cl_int, clFinish, (cl_command_queue a), (a))                                                                         \
    CALL(cl_int, clFlush, (cl_command_queue a), (a))                                                                          \
    CALL(cl_int, clWaitForEvents, (cl_uint a, const cl_event *b), (a, b))                                                     \
    CALL(cl_int, clReleaseContext, (cl_context a), (a))                                                                       \
    CALL(cl_int, clReleaseCommandQueue, (cl_command_queue a), (a))                                                            \
    CALL(cl_int, clReleaseMemObject, (cl_mem a), (a))                                                                         \
    CALL(cl_int, clReleaseProgram, (cl_program a), (a))                                                                       \
    CALL(cl_int, clReleaseKernel, (cl_kernel a), (a))                                                                         \
    CALL(cl_int, clReleaseEvent, (cl_event a), (a))                                                                          

/* Those that builds are recorded by. */
#define BUILDS(CALL) \
    CALL(cl_int, clBuildProgram, (cl_program a, cl_uint b, const cl_device_id *c, const char *d, notification e, void *f), (a, \
         b, c, d, e, f))                                                                                                      \
    CALL(cl_int, clCompileProgram, (cl_program a, cl_uint b, const cl_device_id *c, const char *d, cl_uint e, const           \
         cl_program *f, const char **g, notification h, void *i), (a, b, c, d, e, f, g, h, i))                                \
    CALL(cl_program, clLinkProgram, (cl_context a, cl_uint b, const cl_device_id *c, const char *d, cl_uint e, const          \
         cl_program *f, notification g, void *h, cl_int *i), (a, b, c, d, e, f, g, h, i))

#define DEFINE(type, name, parameters, arguments)                                                                    \
    static type CL_API_CALL noted_##name parameters                                                                  \
    {                                                                                                                \
        return IN_TURN(NOTED(#name, next.name arguments));                                                                 \
    }
CALLS(DEFINE)

#define DEFINE_BUILD(type, name, parameters, arguments)                                                              \
    static type CL_API_CALL noted_##name parameters                                                                  \
    {                                                                                                                \
        return IN_TURN(next.name arguments);                                                                         \
    }
BUILDS(DEFINE_BUILD)

#define PUT(type, name, parameters, arguments) dispatch->name = noted_##name;

void current_calls_hook(cl_icd_dispatch *dispatch)
{
    next = *dispatch;
    calls_watch();
    CALLS(PUT)
    if (programs_are_observed()) {
        BUILDS(PUT)
    }
}
