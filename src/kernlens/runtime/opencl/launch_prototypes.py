"""The functions of OpenCL that launch kernels, with the types of their results and arguments, and the numbers that they take.

Names and numbers: ``CL/cl.h`` and ``CL/cl_ext.h`` of the OpenCL headers (``cl_intel_unified_shared_memory``).
"""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, ClassVar

_WAIT = (c_uint32, c_void_p, c_void_p)
_IMAGE_COPY = (c_void_p, c_void_p, c_uint32, c_void_p, c_void_p, c_size_t, c_size_t, c_void_p, *_WAIT)
PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "clCreateCommandQueue": (c_void_p, (c_void_p, c_void_p, c_uint64, c_void_p)),
    "clReleaseCommandQueue": (c_int32, (c_void_p,)),
    "clCreateBuffer": (c_void_p, (c_void_p, c_uint64, c_size_t, c_void_p, c_void_p)),
    "clCreateSubBuffer": (c_void_p, (c_void_p, c_uint64, c_uint32, c_void_p, c_void_p)),
    "clCreateImage": (c_void_p, (c_void_p, c_uint64, c_void_p, c_void_p, c_void_p, c_void_p)),
    "clGetImageInfo": (c_int32, (c_void_p, c_uint32, c_size_t, c_void_p, c_void_p)),
    "clReleaseMemObject": (c_int32, (c_void_p,)),
    "clCreateSampler": (c_void_p, (c_void_p, c_uint32, c_uint32, c_uint32, c_void_p)),
    "clReleaseSampler": (c_int32, (c_void_p,)),
    "clSVMAlloc": (c_void_p, (c_void_p, c_uint64, c_size_t, c_uint32)),
    "clSVMFree": (None, (c_void_p, c_void_p)),
    "clSetKernelArg": (c_int32, (c_void_p, c_uint32, c_size_t, c_void_p)),
    "clSetKernelArgSVMPointer": (c_int32, (c_void_p, c_uint32, c_void_p)),
    "clSetKernelExecInfo": (c_int32, (c_void_p, c_uint32, c_size_t, c_void_p)),
    "clEnqueueNDRangeKernel": (
        c_int32,
        (c_void_p, c_void_p, c_uint32, c_void_p, c_void_p, c_void_p, *_WAIT),
    ),
    "clEnqueueWriteBuffer": (c_int32, (c_void_p, c_void_p, c_uint32, c_size_t, c_size_t, c_void_p, *_WAIT)),
    "clEnqueueReadBuffer": (c_int32, (c_void_p, c_void_p, c_uint32, c_size_t, c_size_t, c_void_p, *_WAIT)),
    "clEnqueueWriteImage": (c_int32, _IMAGE_COPY),
    "clEnqueueReadImage": (c_int32, _IMAGE_COPY),
    "clEnqueueSVMMemcpy": (c_int32, (c_void_p, c_uint32, c_void_p, c_void_p, c_size_t, *_WAIT)),
    "clFinish": (c_int32, (c_void_p,)),
    "clGetEventProfilingInfo": (c_int32, (c_void_p, c_uint32, c_size_t, c_void_p, c_void_p)),
    "clReleaseEvent": (c_int32, (c_void_p,)),
    "clGetExtensionFunctionAddressForPlatform": (c_void_p, (c_void_p, c_char_p)),
}
#: Functions of unified shared memory, which a platform gives by their names.
EXTENSION: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "clHostMemAllocINTEL": (c_void_p, (c_void_p, c_void_p, c_size_t, c_uint32, c_void_p)),
    "clDeviceMemAllocINTEL": (c_void_p, (c_void_p, c_void_p, c_void_p, c_size_t, c_uint32, c_void_p)),
    "clSharedMemAllocINTEL": (c_void_p, (c_void_p, c_void_p, c_void_p, c_size_t, c_uint32, c_void_p)),
    "clMemFreeINTEL": (c_int32, (c_void_p, c_void_p)),
    "clSetKernelArgMemPointerINTEL": (c_int32, (c_void_p, c_uint32, c_void_p)),
    "clEnqueueMemcpyINTEL": (c_int32, (c_void_p, c_uint32, c_void_p, c_void_p, c_size_t, *_WAIT)),
}

CL_QUEUE_PROFILING_ENABLE = 2
CL_BUFFER_CREATE_TYPE_REGION = 0x1220
CL_IMAGE_ELEMENT_SIZE = 0x1111
CL_KERNEL_EXEC_INFO_SVM_PTRS, CL_KERNEL_EXEC_INFO_USM_PTRS = 0x11B6, 0x4203
CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END = 0x1282, 0x1283
CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE2D_ARRAY = 0x10F5, 0x10F3
#: What a kernel may do with memory, and where it is; the host's rights and its own memory are not the kernel's.
FLAGS_OF_KERNEL = 0x1 | 0x2 | 0x4 | 0x10 | 0x1000
#: What shared virtual memory may ask for, and that of coarse grain, which every device has that has any.
FLAGS_OF_SVM, COARSE = 0x1 | 0x2 | 0x4 | 0x400 | 0x800, 0x7


class Region(ctypes.Structure):
    """``cl_buffer_region``."""

    _fields_: ClassVar = [("origin", c_size_t), ("size", c_size_t)]


class ImageFormat(ctypes.Structure):
    """``cl_image_format``."""

    _fields_: ClassVar = [("order", c_uint32), ("data_type", c_uint32)]


class ImageDescription(ctypes.Structure):
    """``cl_image_desc``."""

    _fields_: ClassVar = [
        ("object_type", c_uint32), ("width", c_size_t), ("height", c_size_t), ("depth", c_size_t),
        ("array_size", c_size_t), ("row_pitch", c_size_t), ("slice_pitch", c_size_t), ("mip_levels", c_uint32),
        ("samples", c_uint32), ("buffer", c_void_p),
    ]  # fmt: skip
