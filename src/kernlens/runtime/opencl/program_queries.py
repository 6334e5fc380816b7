"""Everything that a live OpenCL program holds, for each of its devices."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from ctypes import c_void_p
from functools import partial
from typing import TypeVar

from kernlens.errors import KernlensError
from kernlens.model.binary import c_text
from kernlens.model.build import Build, BuildToolchain, HeldParts, Source
from kernlens.model.device import IpVersion
from kernlens.model.kernel import ReportedKernel
from kernlens.runtime.level_zero.native_binary import NativeBinary
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.opencl.handle_checks import handle_of
from kernlens.runtime.opencl.kernel_queries import read_kernel
from kernlens.runtime.opencl.opencl_library import SIZE_LIMIT, OpenCL, open_opencl

CL_PROGRAM_DEVICES = 0x1163
CL_PROGRAM_SOURCE = 0x1164
CL_PROGRAM_BINARY_SIZES = 0x1165
CL_PROGRAM_BINARIES = 0x1166
CL_PROGRAM_KERNEL_NAMES = 0x1168
CL_PROGRAM_IL = 0x1169
CL_PROGRAM_DEBUG_INFO_INTEL = 0x4100
CL_PROGRAM_DEBUG_INFO_SIZES_INTEL = 0x4101
CL_PROGRAM_BUILD_STATUS = 0x1181
CL_PROGRAM_BUILD_OPTIONS = 0x1182
CL_PROGRAM_BUILD_LOG = 0x1183
CL_PLATFORM_NAME = 0x0902
CL_DEVICE_PLATFORM = 0x1031
CL_DEVICE_NAME = 0x102B
CL_DRIVER_VERSION = 0x102D
CL_DEVICE_IP_VERSION_INTEL = 0x4250

#: The name of NVIDIA's platform.
CUDA_PLATFORM = "NVIDIA CUDA"
OCLGRIND_PLATFORM, RUSTICL_PLATFORM = "Oclgrind", "rusticl"
#: The names of Intel's GPU platforms, older and newer drivers.
INTEL_GPU_PLATFORMS = frozenset({"Intel(R) OpenCL HD Graphics", "Intel(R) OpenCL Graphics"})

#: What platforms answer for the binaries of a program that is not built: CL_INVALID_PROGRAM is PoCL's.
_NOT_BUILT_CODES = (-44, -45)

#: CL_BUILD_SUCCESS.
_BUILD_SUCCESS = 0

NOT_BUILT = "the program is not built for this device"
NO_DEBUG = "the program holds no debug data: build it with -gline-tables-only or -g"
NO_SOURCE = (
    "the program was not made from source text (nor is one that pyopencl takes from its cache: set PYOPENCL_NO_CACHE=1)"
)
NO_SPIRV = "the program was not made from SPIR-V, and the driver does not give the SPIR-V that it made itself"

Answer = TypeVar("Answer")


def live_builds(program: object, name: str = "program") -> tuple[Build, ...]:
    """Return what ``program`` (pyopencl's or a raw ``cl_program``) holds: a Build per device, in the program's order.

    A part that the platform does not give is empty, and ``missing`` holds the reason. Raises OpenCLHandleError for what is
    no program, OpenCLError if even the standard queries fail.
    """
    library = open_opencl()
    return read_builds(library, handle_of(program, "program", library), name)


def read_builds(library: OpenCL, handle: int, name: str) -> tuple[Build, ...]:
    """Return the Builds of ``live_builds`` for a checked handle."""
    devices = program_devices(library, handle)
    shared: dict[str, str] = {}
    source = _optional("sources", shared, lambda: _program_text(library, handle, CL_PROGRAM_SOURCE) or None, NO_SOURCE)
    spirv = _optional("spirv", shared, lambda: _program_query(library, handle, CL_PROGRAM_IL) or None, NO_SPIRV)
    binaries = program_binaries(library, handle, devices)
    debug = _optional("debug", shared, lambda: program_debug(library, handle, devices), NO_DEBUG)
    names: tuple[str, ...] = ()
    if any(binaries):
        ask = partial(_program_text, library, handle, CL_PROGRAM_KERNEL_NAMES)
        names = tuple(filter(None, (_optional("kernels", shared, ask, NOT_BUILT) or "").split(";")))
    builds = []
    for position, device in enumerate(devices):
        missing = dict(shared)
        device_debug = None if debug is None else debug[position]
        binary = binaries[position]
        if binary is None:
            missing["binary"] = NOT_BUILT
        if device_debug is None:
            missing.setdefault("debug", NO_DEBUG)
        ask_log = partial(_build_text, library, handle, device, CL_PROGRAM_BUILD_LOG)
        log = _optional("log", missing, ask_log, NOT_BUILT)
        driver_version = library.text("clGetDeviceInfo", device, CL_DRIVER_VERSION, query="CL_DRIVER_VERSION")
        builds.append(
            Build(
                name=name,
                device=library.text("clGetDeviceInfo", device, CL_DEVICE_NAME, query="CL_DEVICE_NAME").strip(),
                toolchain=BuildToolchain(f"opencl driver {driver_version}"),
                options=_build_text(library, handle, device, CL_PROGRAM_BUILD_OPTIONS),
                ok=binary is not None,
                reason=None if binary is not None else NOT_BUILT,
                device_ip=_ip_text(_device_number(library, device, CL_DEVICE_IP_VERSION_INTEL)),
                # Intel's drivers crash when they are asked of a kernel on a device that it is not built for.
                kernels=tuple(
                    _kernel(library, handle, name, device, position == 0, binary)
                    for name in (() if binary is None else names or _names_in(binary))
                ),
                missing=missing,
                parts=HeldParts(
                    log=log or "",
                    binary=binary or b"",
                    debug=device_debug or b"",
                    spirv=spirv or b"",
                    sources=(Source("", source, "program"),) if source else (),
                ),
            )
        )
    return tuple(builds)


def program_platform(program: object) -> str:
    """Return the name of the platform that ``program`` (pyopencl's or a raw ``cl_program``) belongs to."""
    library = open_opencl()
    device = program_devices(library, handle_of(program, "program", library))[0]
    platform = library.query("clGetDeviceInfo", device, CL_DEVICE_PLATFORM, query="CL_DEVICE_PLATFORM")
    handle = int.from_bytes(platform, "little")
    return library.text("clGetPlatformInfo", handle, CL_PLATFORM_NAME, query="CL_PLATFORM_NAME")


def program_devices(library: OpenCL, handle: int) -> tuple[int, ...]:
    """Return the devices that the program belongs to, as raw handles."""
    handles = library.query("clGetProgramInfo", handle, CL_PROGRAM_DEVICES, query="CL_PROGRAM_DEVICES")
    return struct.unpack(f"<{len(handles) // 8}Q", handles)


def program_binaries(library: OpenCL, handle: int, devices: tuple[int, ...]) -> tuple[bytes | None, ...]:
    """Return the program's binary for each of its devices; None for a device that it is not built for."""
    sizes, binaries = (CL_PROGRAM_BINARY_SIZES, "CL_PROGRAM_BINARY_SIZES"), (CL_PROGRAM_BINARIES, "CL_PROGRAM_BINARIES")
    try:
        return _per_device(library, handle, devices, sizes, binaries)
    except OpenCLError as error:
        if error.code not in _NOT_BUILT_CODES:
            raise
        return (None,) * len(devices)


def program_debug(library: OpenCL, handle: int, devices: tuple[int, ...]) -> tuple[bytes | None, ...]:
    """Return the debug data for each device, or None. Raises OpenCLError if the platform lacks Intel's query."""
    return _per_device(
        library,
        handle,
        devices,
        (CL_PROGRAM_DEBUG_INFO_SIZES_INTEL, "CL_PROGRAM_DEBUG_INFO_SIZES_INTEL"),
        (CL_PROGRAM_DEBUG_INFO_INTEL, "CL_PROGRAM_DEBUG_INFO_INTEL"),
    )


def _per_device(
    library: OpenCL, handle: int, devices: tuple[int, ...], sizes_query: tuple[int, str], bytes_query: tuple[int, str]
) -> tuple[bytes | None, ...]:
    """Return the answer of two queries: the sizes per device, then the bytes, through an array of pointers to room for each.

    Of a program that is built for some of its devices only, Intel's drivers answer the sizes of debug data one after the
    other from the first entry on, and yet write the bytes through each device's own pointer; and for a device that it is
    not built for they give a binary that holds no machine code. So each pointer leads to room for the largest, and only
    the devices that the program is built for count.
    """
    built = [position for position, device in enumerate(devices) if _is_built(library, handle, device)]
    if not built:
        # Drivers have aborted when they were asked for the binaries of a program that is not built.
        return (None,) * len(devices)
    answer = (ctypes.c_size_t * len(devices))()
    size = ctypes.sizeof(answer)
    library.call("clGetProgramInfo", handle, sizes_query[0], size, answer, None, query=sizes_query[1])
    largest = max(answer)
    if not 0 < largest <= SIZE_LIMIT:
        return (None,) * len(devices)
    rooms = [ctypes.create_string_buffer(largest) for _ in devices]
    pointers = (c_void_p * len(devices))(*(ctypes.addressof(room) for room in rooms))
    library.call("clGetProgramInfo", handle, bytes_query[0], size, pointers, None, query=bytes_query[1])
    sizes = {position: answer[position] for position in built}
    if not all(sizes.values()):
        sizes = dict(zip(built, [length for length in answer if length], strict=False))
    return tuple(room.raw[: sizes[position]] if position in sizes else None for position, room in enumerate(rooms))


def _is_built(library: OpenCL, handle: int, device: int) -> bool:
    what = ("clGetProgramBuildInfo", handle, device, CL_PROGRAM_BUILD_STATUS)
    status = library.query(*what, query="CL_PROGRAM_BUILD_STATUS")
    return int.from_bytes(status, "little", signed=True) == _BUILD_SUCCESS


def _names_in(binary: bytes) -> tuple[str, ...]:
    """Return the kernels of Intel's binary: drivers name none of a program that its first device does not have built."""
    try:
        return NativeBinary(binary, "the program").kernel_names
    except KernlensError:
        return ()


def _kernel(
    library: OpenCL, handle: int, name: str, device: int, is_first: bool, binary: bytes | None
) -> ReportedKernel:
    try:
        kernel = library.create("clCreateKernel", handle, name.encode(), input=name)
    except OpenCLError as error:
        return ReportedKernel(name, reason=str(error))
    try:
        reported = read_kernel(library, kernel, name, device, is_first_device=is_first)
    finally:
        library.result("clReleaseKernel", kernel)
    return with_code(reported, binary)


def with_code(kernel: ReportedKernel, binary: bytes | None) -> ReportedKernel:
    """Return ``kernel`` with what ``binary``, the program's, adds: the length of its code, and other devices' code.
    Only Intel's binaries can be read; for those of another platform, ``kernel`` is returned unchanged."""
    from dataclasses import replace

    if binary is None:
        return kernel
    try:
        native = NativeBinary(binary, kernel.name)
        code, heap = bytes(native.code(kernel.name)), bytes(native.heap(kernel.name))
    except KernlensError as error:
        return kernel if kernel.binary is None else replace(kernel, reason=f"the code's length is not known: {error}")
    if kernel.binary is not None:
        return replace(kernel, code=code)
    return replace(kernel, binary=heap, code=code, origin="CL_PROGRAM_BINARIES", reason=None)


def _optional(what: str, reasons: dict[str, str], ask: Callable[[], Answer | None], absent: str) -> Answer | None:
    """Return what ``ask`` gives, else None with the reason in ``reasons``: ``absent``, or that the query was refused."""
    try:
        answer = ask()
    except OpenCLError as error:
        reasons[what] = f"{absent}, or the platform does not have the query ({error})"
        return None
    if answer is None:
        reasons[what] = absent
    return answer


def _program_query(library: OpenCL, handle: int, query: int) -> bytes:
    return library.query("clGetProgramInfo", handle, query, query=f"{query:#x}")


def _program_text(library: OpenCL, handle: int, query: int) -> str:
    return c_text(_program_query(library, handle, query))


def _build_text(library: OpenCL, handle: int, device: int, query: int) -> str:
    return library.text("clGetProgramBuildInfo", handle, device, query, query=f"{query:#x}")


def _device_number(library: OpenCL, device: int, query: int) -> int | None:
    try:
        return int.from_bytes(library.query("clGetDeviceInfo", device, query, query=f"{query:#x}"), "little")
    except OpenCLError:
        return None


def _ip_text(ip: int | None) -> str | None:
    # 22.43 packs the version differently, so that its architecture reads as 0.
    version = None if ip is None else IpVersion.unpack(ip)
    return str(version) if version is not None and version.architecture else None
