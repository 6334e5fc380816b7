"""OpenCL handles: of pyopencl's objects, or as bare numbers after the checks that can be made of a number."""

from __future__ import annotations

import os
import sys

from kernlens.errors import KernlensError
from kernlens.runtime.opencl.opencl_library import OpenCL


class OpenCLHandleError(KernlensError):
    """Something that is no OpenCL object, or cannot be one."""


def handle_of(thing: object, kind: str, library: OpenCL) -> int:
    """The handle of a pyopencl object, or ``thing`` itself if it is a number that can be a handle.

    Raises OpenCLHandleError if it is neither, null, not aligned, or does not begin with the table of functions that all
    objects of an installed platform begin with. The driver itself then checks that the object is a ``kind``: Intel's
    does, PoCL does not.
    """
    value = getattr(thing, "int_ptr", thing)
    if value is not thing and kind not in {base.__name__.strip("_").lower() for base in type(thing).__mro__}:
        raise OpenCLHandleError(f"this needs an OpenCL {kind}, not pyopencl's {type(thing).__name__}")
    if isinstance(value, bool) or not isinstance(value, int):
        raise OpenCLHandleError(f"an OpenCL {kind} must be pyopencl's or an integer handle, not {type(thing).__name__}")
    if value == 0:
        raise OpenCLHandleError(f"the OpenCL {kind} handle is null")
    if value < 0 or value >= 1 << 64 or value % 8:
        raise OpenCLHandleError(f"the OpenCL {kind} handle {value:#x} is no object's address")
    if sys.platform == "linux":
        tables = {_word(platform) for platform in library.platforms()} - {None}
        if _word(value) not in tables:
            raise OpenCLHandleError(f"the OpenCL {kind} handle {value:#x} is no object of an installed platform")
    return value


def _word(address: int) -> int | None:
    """The eight bytes at ``address`` of this process as a number; None if they cannot be read."""
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        found = os.pread(memory, 8, address)
    except (OSError, OverflowError):
        return None
    finally:
        os.close(memory)
    return int.from_bytes(found, "little") if len(found) == 8 else None
