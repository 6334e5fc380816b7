/* What OpenCL kernels were given (recording/given_kernels.h). */
#include "opencl_layer/kept/launches.h"
#include "opencl_layer/kept/parts.h"
#include "recording/given_kernels.h"

#include <CL/cl_ext.h>

#include <string.h>

static const cl_icd_dispatch *next;

void kept_kernel_created(cl_kernel kernel, cl_program program, const char *name)
{
    if (next != NULL)
        given_kernel_created(kernel, counters_identity(program), name);
}

void kept_kernel_cloned(cl_kernel clone, cl_kernel of)
{
    given_kernel_cloned(clone, of);
}

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint number, size_t size, const void *value)
{
    cl_int status = next->clSetKernelArg(kernel, number, size, value);
    if (status == CL_SUCCESS)
        given_value(kernel, number, size, value);
    return status;
}

static cl_int CL_API_CALL set_shared_virtual(cl_kernel kernel, cl_uint number, const void *pointer)
{
    cl_int status = next->clSetKernelArgSVMPointer(kernel, number, pointer);
    if (status == CL_SUCCESS)
        given_pointer(kernel, number, pointer);
    return status;
}

static bool flag_of(const void *value, size_t size)
{
    cl_bool flag = CL_FALSE;
    if (value != NULL && size == sizeof flag)
        memcpy(&flag, value, size);
    return flag != CL_FALSE;
}

struct execution {
    cl_kernel_exec_info what;
    size_t size;
    const void *value;
};

/* Notes what a kernel reaches beside its arguments. */
static void reaches(struct given_kernel *own, const void *context)
{
    const struct execution *execution = context;
    bool flag = flag_of(execution->value, execution->size);
    if (execution->what == CL_KERNEL_EXEC_INFO_SVM_PTRS || execution->what == CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL)
        given_reaches(own, execution->value, execution->size);
    else if (execution->what == CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL)
        own->reaches_host = flag;
    else if (execution->what == CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL)
        own->reaches_device = flag;
    else if (execution->what == CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL)
        own->reaches_shared = flag;
}

static cl_int CL_API_CALL set_execution(cl_kernel kernel, cl_kernel_exec_info what, size_t size, const void *value)
{
    cl_int status = next->clSetKernelExecInfo(kernel, what, size, value);
    if (status == CL_SUCCESS)
        given_change(kernel, reaches, &(struct execution){what, size, value});
    return status;
}

void kernels_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind)
{
    next = behind;
    given_kernels_watch();
    dispatch->clSetKernelArg = set_argument;
    dispatch->clSetKernelArgSVMPointer = set_shared_virtual;
    dispatch->clSetKernelExecInfo = set_execution;
}
