"""The raw machine code and the arguments of a live OpenCL kernel.

``CL_KERNEL_BINARY_PROGRAM_INTEL`` gives the kernel's machine code with its padding, from before the driver's
relocations. The query names no device: of a program for several devices it gives the first device's code.
"""

from __future__ import annotations

import struct

from kernlens.errors import KernlensError
from kernlens.model.binary import c_text
from kernlens.model.kernel import KernelArgument, ReportedKernel
from kernlens.model.kernel_resources import KernelResources
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.opencl.handle_checks import handle_of
from kernlens.runtime.opencl.opencl_library import OpenCL, open_opencl

CL_KERNEL_NUM_ARGS = 0x1191
CL_KERNEL_BINARY_PROGRAM_INTEL = 0x407D
CL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11B1
CL_KERNEL_LOCAL_MEM_SIZE = 0x11B2
CL_KERNEL_PRIVATE_MEM_SIZE = 0x11B4
CL_KERNEL_SPILL_MEM_SIZE_INTEL = 0x4109
CL_KERNEL_ARG_ADDRESS_QUALIFIER = 0x1196
CL_KERNEL_ARG_ACCESS_QUALIFIER = 0x1197
CL_KERNEL_ARG_TYPE_NAME = 0x1198
CL_KERNEL_ARG_TYPE_QUALIFIER = 0x1199
CL_KERNEL_ARG_NAME = 0x119A

BINARY_ORIGIN = "CL_KERNEL_BINARY_PROGRAM_INTEL"
_ADDRESS_SPACES = {0x119B: "global", 0x119C: "local", 0x119D: "constant", 0x119E: "private"}
_ACCESS = {0x11A0: "read_only", 0x11A1: "write_only", 0x11A2: "read_write"}
_TYPE_QUALIFIERS = {1: "const", 2: "restrict", 4: "volatile", 8: "pipe"}


def kernel_binary(kernel: object) -> bytes:
    """Return a kernel's raw machine code, padding included. ``kernel`` is pyopencl's or a raw ``cl_kernel``. Raises
    OpenCLError if the platform does not have Intel's query, OpenCLHandleError for what is no kernel."""
    library = open_opencl()
    return read_binary(library, handle_of(kernel, "kernel", library))


def read_binary(library: OpenCL, handle: int) -> bytes:
    return library.query("clGetKernelInfo", handle, CL_KERNEL_BINARY_PROGRAM_INTEL, query=BINARY_ORIGIN)


def kernel_arguments(kernel: object) -> tuple[KernelArgument, ...]:
    """Return a kernel's arguments; names and types are None if the program was built without ``-cl-kernel-arg-info``.
    Raises OpenCLHandleError for what is no kernel."""
    library = open_opencl()
    return read_arguments(library, handle_of(kernel, "kernel", library))


def read_arguments(library: OpenCL, handle: int) -> tuple[KernelArgument, ...]:
    (count,) = struct.unpack(
        "<I", library.query("clGetKernelInfo", handle, CL_KERNEL_NUM_ARGS, query="CL_KERNEL_NUM_ARGS")
    )
    return tuple(_argument(library, handle, index) for index in range(count))


def _argument(library: OpenCL, handle: int, index: int) -> KernelArgument:
    def ask(query: int) -> bytes:
        try:
            return library.query("clGetKernelArgInfo", handle, index, query, query="CL_KERNEL_ARG")
        except OpenCLError:
            return b""

    def number(query: int) -> int:
        return int.from_bytes(ask(query), "little")

    qualifiers = number(CL_KERNEL_ARG_TYPE_QUALIFIER)
    return KernelArgument(
        index=index,
        name=c_text(ask(CL_KERNEL_ARG_NAME)) or None,
        type_name=c_text(ask(CL_KERNEL_ARG_TYPE_NAME)) or None,
        address_space=_ADDRESS_SPACES.get(number(CL_KERNEL_ARG_ADDRESS_QUALIFIER)),
        access=_ACCESS.get(number(CL_KERNEL_ARG_ACCESS_QUALIFIER)),
        type_qualifier=" ".join(word for bit, word in _TYPE_QUALIFIERS.items() if qualifiers & bit) or None,
    )


def read_kernel(library: OpenCL, handle: int, name: str, device: int, *, is_first_device: bool) -> ReportedKernel:
    """Return all that the driver tells of a kernel on ``device``; its machine code only on the first device."""
    binary: bytes | None = None
    reason: str | None = "the query gives the machine code of the program's first device only"
    if is_first_device:
        try:
            binary, reason = read_binary(library, handle), None
        except KernlensError as error:
            reason = f"the platform has no query for a kernel's machine code ({error})"

    def number(query: int) -> int | None:
        try:
            answer = library.query("clGetKernelWorkGroupInfo", handle, device, query, query=f"{query:#x}")
        except OpenCLError:
            return None
        return int.from_bytes(answer, "little") if answer else None

    return ReportedKernel(
        name=name,
        binary=binary,
        origin=BINARY_ORIGIN if binary is not None else None,
        resources=KernelResources(
            spill_bytes=number(CL_KERNEL_SPILL_MEM_SIZE_INTEL),
            private_bytes=number(CL_KERNEL_PRIVATE_MEM_SIZE),
            slm_bytes=number(CL_KERNEL_LOCAL_MEM_SIZE),
            required_work_group_size=_required_size(library, handle, device),
        ),
        arguments=read_arguments(library, handle),
        reason=reason,
    )


def _required_size(library: OpenCL, handle: int, device: int) -> tuple[int, int, int] | None:
    try:
        answer = library.query(
            "clGetKernelWorkGroupInfo",
            handle,
            device,
            CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
            query="CL_KERNEL_COMPILE_WORK_GROUP_SIZE",
        )
    except OpenCLError:
        return None
    if len(answer) != 24:
        return None
    x, y, z = struct.unpack("<3Q", answer)
    return (x, y, z) if x else None
