"""The OpenCL loader through ctypes: queries of programs, kernels and devices, by handle.

Names and numbers: ``CL/cl.h`` of the OpenCL headers; Intel's queries: the extension headers of compute-runtime.
Every object begins with its driver's function table, so any OpenCL loader serves the handles of any other.
"""

from __future__ import annotations

import ctypes
import re
import threading
from ctypes import byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from kernlens.errors import ToolError
from kernlens.model.binary import c_text
from kernlens.runtime.driver_library import DriverLibrary
from kernlens.runtime.opencl.error_codes import PLATFORM_NOT_FOUND, OpenCLError
from kernlens.runtime.opencl.launch_prototypes import PROTOTYPES

_PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "clGetPlatformIDs": (c_int32, (c_uint32, c_void_p, c_void_p)),
    "clGetPlatformInfo": (c_int32, (c_void_p, c_uint32, c_size_t, c_void_p, c_void_p)),
    "clGetDeviceIDs": (c_int32, (c_void_p, c_uint64, c_uint32, c_void_p, c_void_p)),
    "clGetDeviceInfo": (c_int32, (c_void_p, c_uint32, c_size_t, c_void_p, c_void_p)),
    "clCreateContext": (c_void_p, (c_void_p, c_uint32, c_void_p, c_void_p, c_void_p, c_void_p)),
    "clReleaseContext": (c_int32, (c_void_p,)),
    "clCreateProgramWithSource": (c_void_p, (c_void_p, c_uint32, c_void_p, c_void_p, c_void_p)),
    "clCreateProgramWithIL": (c_void_p, (c_void_p, c_void_p, c_size_t, c_void_p)),
    "clSetProgramSpecializationConstant": (c_int32, (c_void_p, c_uint32, c_size_t, c_char_p)),
    "clCreateProgramWithBinary": (c_void_p, (c_void_p, c_uint32, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)),
    "clBuildProgram": (c_int32, (c_void_p, c_uint32, c_void_p, c_char_p, c_void_p, c_void_p)),
    "clCompileProgram": (
        c_int32,
        (c_void_p, c_uint32, c_void_p, c_char_p, c_uint32, c_void_p, c_void_p, c_void_p, c_void_p),
    ),
    "clLinkProgram": (
        c_void_p,
        (c_void_p, c_uint32, c_void_p, c_char_p, c_uint32, c_void_p, c_void_p, c_void_p, c_void_p),
    ),
    "clReleaseProgram": (c_int32, (c_void_p,)),
    "clGetProgramInfo": (c_int32, (c_void_p, c_uint32, c_size_t, c_void_p, c_void_p)),
    "clGetProgramBuildInfo": (c_int32, (c_void_p, c_void_p, c_uint32, c_size_t, c_void_p, c_void_p)),
    "clCreateKernel": (c_void_p, (c_void_p, c_char_p, c_void_p)),
    "clReleaseKernel": (c_int32, (c_void_p,)),
    "clGetKernelInfo": (c_int32, (c_void_p, c_uint32, c_size_t, c_void_p, c_void_p)),
    "clGetKernelArgInfo": (c_int32, (c_void_p, c_uint32, c_uint32, c_size_t, c_void_p, c_void_p)),
    "clGetKernelWorkGroupInfo": (c_int32, (c_void_p, c_void_p, c_uint32, c_size_t, c_void_p, c_void_p)),
}

#: The largest size in bytes that a query may announce; a driver that does not check handles announces anything.
SIZE_LIMIT = 1 << 32


class OpenCL(DriverLibrary):
    """The OpenCL loader."""

    def __init__(self, library: ctypes.CDLL, path: str) -> None:
        super().__init__(library, path, "OpenCL", {**_PROTOTYPES, **PROTOTYPES})

    def call(self, name: str, *arguments: Any, query: str | None = None, input: str | None = None) -> None:
        """Call a function that returns an error code. Raises OpenCLError unless it is success."""
        code = int(self.result(name, *arguments))
        if code != 0:
            raise OpenCLError(name, code, query=query, input=input)

    def create(self, name: str, *arguments: Any, input: str | None = None) -> int:
        """Call a function that returns a handle and stores its error code through a last argument, which is added here."""
        code = c_int32(0)
        handle = self.result(name, *arguments, byref(code))
        if code.value != 0 or not handle:
            raise OpenCLError(name, code.value, input=input)
        return int(handle)

    def platforms(self) -> list[int]:
        """Return the handles of the installed platforms; having none is no error."""
        return self.handles("clGetPlatformIDs", none=PLATFORM_NOT_FOUND)

    def handles(self, name: str, *what: Any, none: int) -> list[int]:
        """Return the handles that function ``name`` lists; ``none`` is its error code where there are none."""
        count = c_uint32(0)
        code = int(self.result(name, *what, 0, None, byref(count)))
        if code == none or count.value == 0:
            return []
        handles = (c_void_p * count.value)()
        self.call(name, *what, count.value, handles, None)
        return [int(handle) for handle in handles if handle]

    def query(self, name: str, *what: Any, query: str) -> bytes:
        """Ask a ``clGet*Info`` function for the size of its answer, then for the answer, and return it. Raises
        OpenCLError if the driver does not know the query, ToolError if it announces another size than it writes."""
        size = c_size_t(0)
        self.call(name, *what, 0, None, byref(size), query=query)
        if size.value == 0:
            return b""
        if size.value > SIZE_LIMIT:
            raise ToolError(
                f"{name}({query}) reports {size.value} bytes, which is impossible: the handle is of another kind",
                command=name,
            )
        buffer = ctypes.create_string_buffer(size.value)
        written = c_size_t(0)
        self.call(name, *what, size.value, buffer, byref(written), query=query)
        if written.value not in (0, size.value):
            raise ToolError(
                f"{name}({query}) announced {size.value} bytes and then wrote {written.value}: the driver is at fault",
                command=name,
            )
        return buffer.raw

    def text(self, name: str, *what: Any, query: str) -> str:
        """Return the text that a query gives, without the terminating NUL."""
        return c_text(self.query(name, *what, query=query))


_lock = threading.Lock()
_opened: list[OpenCL] = []


def open_opencl() -> OpenCL:
    """Open the OpenCL loader that this process has loaded already (pyopencl brings one), else the system's. It is
    opened once per process. Raises ToolError if there is none."""
    with _lock:
        if not _opened:
            path = _loaded_path() or "libOpenCL.so.1"
            try:
                _opened.append(OpenCL(ctypes.CDLL(path), path))
            except OSError as error:
                raise ToolError(
                    f"the OpenCL loader {path} cannot be opened ({error}): install it (Debian: ocl-icd-libopencl1)",
                    command="clGetPlatformIDs",
                ) from error
        return _opened[0]


def _loaded_path() -> str | None:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            match = re.search(r"\s(/\S*/libOpenCL[^/\s]*\.so[^/\s]*)$", maps.read(), re.MULTILINE)
    except OSError:
        return None
    return match[1] if match else None
