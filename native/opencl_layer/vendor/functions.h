/* The functions of drivers that the layer calls or stands in front of, each with the release of OpenCL (times ten) that brought it. */
#ifndef KERNLENS_FUNCTIONS_H
#define KERNLENS_FUNCTIONS_H

#define EACH_FUNCTION(FUNCTION)\
    EACH_REAL_FUNCTION(FUNCTION) \
    FUNCTION(clCreateContextFromType, 10)

#define EACH_REAL_FUNCTION(FUNCTION)                                                                                      \
    FUNCTION(clGetPlatformInfo, 10)                                                                                  \
    FUNCTION(clGetDeviceIDs, 10)                                                                                     \
    FUNCTION(clGetDeviceInfo, 10)                                                                                    \
    FUNCTION(clCreateContext, 10)                                                                                    \
    FUNCTION(clGetContextInfo, 10)                                                                                   \
    FUNCTION(clCreateCommandQueue, 10)                                                                               \
    FUNCTION(clReleaseCommandQueue, 10)                                                                              \
    FUNCTION(clGetCommandQueueInfo, 10)                                                                              \
    FUNCTION(clGetMemObjectInfo, 10)                                                                                 \
    FUNCTION(clGetImageInfo, 10)                                                                                     \
    FUNCTION(clCreateProgramWithSource, 10)                                                                          \
    FUNCTION(clCreateProgramWithBinary, 10)                                                                          \
    FUNCTION(clReleaseProgram, 10)                                                                                   \
    FUNCTION(clBuildProgram, 10)                                                                                     \
    FUNCTION(clGetProgramInfo, 10)                                                                                   \
    FUNCTION(clGetProgramBuildInfo, 10)                                                                              \
    FUNCTION(clCreateKernel, 10)                                                                                     \
    FUNCTION(clCreateKernelsInProgram, 10)                                                                           \
    FUNCTION(clGetKernelInfo, 10)                                                                                    \
    FUNCTION(clEnqueueReadBuffer, 10)                                                                                \
    FUNCTION(clEnqueueReadImage, 10)                                                                                 \
    FUNCTION(clEnqueueMapBuffer, 10)                                                                                 \
    FUNCTION(clEnqueueMapImage, 10)                                                                                  \
    FUNCTION(clEnqueueNDRangeKernel, 10)                                                                             \
    FUNCTION(clEnqueueTask, 10)                                                                                      \
    FUNCTION(clReleaseContext, 10)                                                                                   \
    FUNCTION(clFlush, 10)                                                                                            \
    FUNCTION(clFinish, 10)                                                                                           \
    FUNCTION(clWaitForEvents, 10)                                                                                    \
    FUNCTION(clGetEventInfo, 10)                                                                                     \
    FUNCTION(clRetainEvent, 10)                                                                                      \
    FUNCTION(clReleaseEvent, 10)                                                                                     \
    FUNCTION(clGetEventProfilingInfo, 10)                                                                            \
    FUNCTION(clCreateBuffer, 10)                                                                                     \
    FUNCTION(clCreateImage2D, 10)                                                                                    \
    FUNCTION(clCreateImage3D, 10)                                                                                    \
    FUNCTION(clCreateSampler, 10)                                                                                    \
    FUNCTION(clReleaseSampler, 10)                                                                                   \
    FUNCTION(clGetSamplerInfo, 10)                                                                                   \
    FUNCTION(clReleaseMemObject, 10)                                                                                 \
    FUNCTION(clSetKernelArg, 10)                                                                                     \
    FUNCTION(clReleaseKernel, 10)                                                                                    \
    FUNCTION(clGetKernelWorkGroupInfo, 10)                                                                           \
    FUNCTION(clEnqueueWriteBuffer, 10)                                                                               \
    FUNCTION(clEnqueueCopyBuffer, 10)                                                                                \
    FUNCTION(clEnqueueWriteImage, 10)                                                                                \
    FUNCTION(clEnqueueCopyImageToBuffer, 10)                                                                         \
    FUNCTION(clEnqueueUnmapMemObject, 10)                                                                            \
    FUNCTION(clSetMemObjectDestructorCallback, 11)                                                                   \
    FUNCTION(clSetEventCallback, 11)                                                                                 \
    FUNCTION(clCreateSubBuffer, 11)                                                                                  \
    FUNCTION(clEnqueueReadBufferRect, 11)                                                                            \
    FUNCTION(clCreateSubDevicesEXT, 11)                                                                              \
    FUNCTION(clCreateProgramWithBuiltInKernels, 12)                                                                  \
    FUNCTION(clCompileProgram, 12)                                                                                   \
    FUNCTION(clLinkProgram, 12)                                                                                      \
    FUNCTION(clGetExtensionFunctionAddressForPlatform, 12)                                                           \
    FUNCTION(clCreateSubDevices, 12)                                                                                 \
    FUNCTION(clCreateImage, 12)                                                                                      \
    FUNCTION(clGetKernelArgInfo, 12)                                                                                 \
    FUNCTION(clEnqueueFillBuffer, 12)                                                                                \
    FUNCTION(clEnqueueBarrierWithWaitList, 12)                                                                       \
    FUNCTION(clCreateCommandQueueWithProperties, 20)                                                                 \
    FUNCTION(clSVMAlloc, 20)                                                                                         \
    FUNCTION(clSVMFree, 20)                                                                                          \
    FUNCTION(clEnqueueSVMMemcpy, 20)                                                                                 \
    FUNCTION(clEnqueueSVMFree, 20)                                                                                   \
    FUNCTION(clSetKernelArgSVMPointer, 20)                                                                           \
    FUNCTION(clSetKernelExecInfo, 20)                                                                                \
    FUNCTION(clCreateSamplerWithProperties, 20)                                                                      \
    FUNCTION(clCloneKernel, 21)                                                                                      \
    FUNCTION(clCreateProgramWithIL, 21)                                                                              \
    FUNCTION(clGetKernelSubGroupInfo, 21)                                                                            \
    FUNCTION(clSetProgramSpecializationConstant, 22)                                                                 \
    FUNCTION(clCreateBufferWithProperties, 30)                                                                       \
    FUNCTION(clCreateImageWithProperties, 30)

/* Those that make, or give out, the objects which others are made from: a driver may give each type of object a table of its own.
 * clCreateContextFromType is another (from_type.c); what is made of kernels and memory is asked for nothing that is ours. Events
 * are, but no driver is known to give them another table than queues. */
#define EACH_SEEING_FUNCTION(FUNCTION)                                                                               \
    FUNCTION(clGetDeviceIDs)                                                                                         \
    FUNCTION(clCreateContext)                                                                                        \
    FUNCTION(clCreateSubDevicesEXT)                                                                                  \
    FUNCTION(clCreateSubDevices)                                                                                     \
    FUNCTION(clCreateCommandQueue)                                                                                   \
    FUNCTION(clCreateCommandQueueWithProperties)

#endif
