"""The check of OpenCL handles: pyopencl's objects, or bare numbers as far as a number can be checked."""

from __future__ import annotations

from kernlens.errors import KernlensError
from kernlens.runtime.driver_library import memory_at
from kernlens.runtime.opencl.opencl_library import OpenCL


class OpenCLHandleError(KernlensError):
    """A value that is not, or cannot be, an OpenCL object."""


def handle_of(candidate: object, kind: str, library: OpenCL) -> int:
    """Return the handle of a pyopencl object, or ``candidate`` itself if it is a number that can be a handle.

    Raises OpenCLHandleError if it is neither, null, not aligned, or does not begin with the function table with which all
    objects of an installed platform begin. Whether the object is a ``kind`` is left to the driver: Intel's checks it,
    PoCL does not.
    """
    value = getattr(candidate, "int_ptr", candidate)
    if value is not candidate and kind not in {base.__name__.strip("_").lower() for base in type(candidate).__mro__}:
        raise OpenCLHandleError(f"this needs an OpenCL {kind}, not pyopencl's {type(candidate).__name__}")
    if isinstance(value, bool) or not isinstance(value, int):
        raise OpenCLHandleError(
            f"an OpenCL {kind} must be pyopencl's or an integer handle, not {type(candidate).__name__}"
        )
    if value == 0:
        raise OpenCLHandleError(f"the OpenCL {kind} handle is null")
    if value < 0 or value >= 1 << 64 or value % 8:
        raise OpenCLHandleError(f"the OpenCL {kind} handle {value:#x} is not the address of an object")
    tables = {memory_at(platform, 8) for platform in library.platforms()} - {None}
    if memory_at(value, 8) not in tables:
        raise OpenCLHandleError(f"the OpenCL {kind} handle {value:#x} is not an object of an installed platform")
    return value
