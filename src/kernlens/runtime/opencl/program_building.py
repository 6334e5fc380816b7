"""The build of OpenCL programs without pyopencl: from source text, SPIR-V, or a binary, or linked, for a platform's devices."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from ctypes import byref, c_char_p, c_int32, c_size_t, c_void_p, cast
from typing import Any

from kernlens.dataclass import dataclass, field
from kernlens.errors import NotFoundError
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.runtime.opencl.opencl_library import OpenCL, open_opencl
from kernlens.runtime.opencl.program_queries import (
    CL_DEVICE_NAME,
    CL_DRIVER_VERSION,
    CL_PLATFORM_NAME,
    CL_PROGRAM_BUILD_LOG,
)

#: Specialization constants: of each its number, its bits, and how many bytes its type has.
Constants = Sequence[tuple[int, int, int]]

CL_DEVICE_TYPE_ALL = 0xFFFFFFFF
_DEVICE_NOT_FOUND = -1


@dataclass(frozen=True, slots=True)
class OpenCLDevice:
    """A device and its platform, as their driver names them."""

    platform: str
    name: str
    driver_version: str
    handle: int = field(default=0, repr=False, compare=False)


def opencl_devices(library: OpenCL | None = None) -> tuple[OpenCLDevice, ...]:
    """Return all devices of all platforms; none if there is no platform. Raises ToolError if there is no loader."""
    library = library or open_opencl()
    devices = []
    for platform in library.platforms():
        name = library.text("clGetPlatformInfo", platform, CL_PLATFORM_NAME, query="CL_PLATFORM_NAME")
        for device in library.handles("clGetDeviceIDs", platform, CL_DEVICE_TYPE_ALL, none=_DEVICE_NOT_FOUND):
            devices.append(
                OpenCLDevice(
                    platform=name,
                    name=library.text("clGetDeviceInfo", device, CL_DEVICE_NAME, query="CL_DEVICE_NAME").strip(),
                    driver_version=library.text(
                        "clGetDeviceInfo", device, CL_DRIVER_VERSION, query="CL_DRIVER_VERSION"
                    ),
                    handle=device,
                )
            )
    return tuple(devices)


class OpenCLContext:
    """A context of all devices of one platform: the first that has a device and whose name contains ``platform``.

    ``only`` are the devices to choose from (empty: all). Raises NotFoundError if there is no such platform with a
    device.
    """

    def __init__(self, platform: str = "", only: Sequence[OpenCLDevice] = ()) -> None:
        self.library = open_opencl()
        devices = tuple(only) or opencl_devices(self.library)
        chosen = next((device.platform for device in devices if platform.lower() in device.platform.lower()), None)
        if chosen is None:
            names = ", ".join(dict.fromkeys(device.platform for device in devices)) or "none"
            raise NotFoundError(f"no OpenCL platform {platform!r} with a device is installed here; there are: {names}")
        self.devices = tuple(device for device in devices if device.platform == chosen)
        self._handles = (c_void_p * len(self.devices))(*(device.handle for device in self.devices))
        self.handle = self.library.create(
            "clCreateContext", None, len(self.devices), self._handles, None, None, input=chosen
        )
        self._finalizer = weakref.finalize(self, self.library.result, "clReleaseContext", self.handle)

    def build_source(self, text: str, options: str = "", name: str = "program") -> OpenCLProgram:
        """Build a program from OpenCL C for all devices. Raises OpenCLError with the build log."""
        return self._built(self._with_source(text, name), options, name)

    def build_spirv(
        self, spirv: bytes, options: str = "", name: str = "program", constants: Constants = ()
    ) -> OpenCLProgram:
        """Build a program from SPIR-V for all devices. Raises OpenCLError with the build log."""
        return self._built(self._with_spirv(spirv, name, constants), options, name)

    def compile_part(self, part: Mapping[str, Any], name: str = "program") -> OpenCLProgram:
        """Compile what a link takes: ``text`` (OpenCL C) or ``spirv`` with its ``options``, ``constants`` and
        ``headers`` (names and texts), or take its ``binary``. Raises OpenCLError with the build log."""
        if part.get("binary"):
            return OpenCLProgram(self, self._with_binary(part["binary"], name), name)
        text, headers = part.get("text"), part.get("headers", ())
        if text is not None:
            handle = self._with_source(text, name)
        else:
            handle = self._with_spirv(part["spirv"], name, part.get("constants", ()))
        program = OpenCLProgram(self, handle, name)
        programs = [OpenCLProgram(self, self._with_source(header, path), path) for path, header in headers]
        handles = (c_void_p * len(headers))(*(header.handle for header in programs)) if headers else None
        names = (c_char_p * len(headers))(*(path.encode() for path, _ in headers)) if headers else None
        devices = (len(self.devices), self._handles)
        options = part.get("options", "").encode() or None
        call = (program.handle, *devices, options, len(headers), handles, names, None, None)
        return program.check("clCompileProgram", int(self.library.result("clCompileProgram", *call)))

    def link(self, parts: Sequence[OpenCLProgram], options: str = "", name: str = "program") -> OpenCLProgram:
        """Link compiled programs for all devices. Raises OpenCLError."""
        handles = (c_void_p * len(parts))(*(part.handle for part in parts))
        call = (
            self.handle,
            len(self.devices),
            self._handles,
            options.encode() or None,
            len(parts),
            handles,
            None,
            None,
        )
        return OpenCLProgram(self, self.library.create("clLinkProgram", *call, input=name), name)

    def _with_source(self, text: str, name: str) -> int:
        encoded = text.encode()
        pointer, size = c_char_p(encoded), c_size_t(len(encoded))
        create = ("clCreateProgramWithSource", self.handle, 1, byref(pointer), byref(size))
        return self.library.create(*create, input=name)

    def _with_spirv(self, spirv: bytes, name: str, constants: Constants) -> int:
        handle = self.library.create("clCreateProgramWithIL", self.handle, spirv, len(spirv), input=name)
        for number, bits, size in constants:
            value = bits.to_bytes(8, "little")[:size]
            self.library.call("clSetProgramSpecializationConstant", handle, number, size, value)
        return handle

    def load_binary(self, binary: bytes, options: str = "", name: str = "program") -> OpenCLProgram:
        """Build a program for all devices from the binary of one. Raises OpenCLError if a device does not take it."""
        return self._built(self._with_binary(binary, name), options, name)

    def _with_binary(self, binary: bytes, name: str) -> int:
        count = len(self.devices)
        sizes = (c_size_t * count)(*[len(binary)] * count)
        address = cast(c_char_p(binary), c_void_p).value
        pointers = (c_void_p * count)(*[address] * count)
        states = (c_int32 * count)()
        create = ("clCreateProgramWithBinary", self.handle, count, self._handles, sizes, pointers, states)
        return self.library.create(*create, input=name)

    def _built(self, handle: int, options: str, name: str) -> OpenCLProgram:
        program = OpenCLProgram(self, handle, name)
        count = len(self.devices)
        code = int(
            self.library.result("clBuildProgram", handle, count, self._handles, options.encode() or None, None, None)
        )
        return program.check("clBuildProgram", code)


class OpenCLProgram:
    """A program of an ``OpenCLContext``, which it keeps alive. The program is released with this object."""

    def __init__(self, context: OpenCLContext, handle: int, name: str) -> None:
        self.context = context
        self.handle = handle
        self.name = name
        self._finalizer = weakref.finalize(self, context.library.result, "clReleaseProgram", handle)

    def check(self, call: str, code: int) -> OpenCLProgram:
        """Return this program. Raises OpenCLError, with the build log, if ``call`` returned an error."""
        if code != 0:
            raise OpenCLError(call, code, device=self.context.devices[0].name, input=self.name, log=self.log)
        return self

    @property
    def log(self) -> str:
        """The build logs of all devices, one after the other."""
        logs: Sequence[str] = [
            self.context.library.text(
                "clGetProgramBuildInfo", self.handle, device.handle, CL_PROGRAM_BUILD_LOG, query="CL_PROGRAM_BUILD_LOG"
            )
            for device in self.context.devices
        ]
        return "\n".join(log for log in dict.fromkeys(logs) if log.strip())
