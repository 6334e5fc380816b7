"""A second build in a worker, whose compiler keeps its stages: one program for one device."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernlens.errors import NotFoundError
from kernlens.model.build import Build, BuildToolchain, HeldParts
from kernlens.runtime.opencl.opencl_library import open_opencl
from kernlens.runtime.opencl.program_building import (
    Constants,
    OpenCLContext,
    OpenCLDevice,
    OpenCLProgram,
    opencl_devices,
)
from kernlens.runtime.opencl.program_queries import program_binaries

CL_PLATFORM_VERSION = 0x0901
CL_DEVICE_PLATFORM = 0x1031


class SecondBuildRequests:
    """The request ``build``, which stands beside those of ``OpenCLRequests``."""

    def __init__(self, on_call: Callable[[str], None]) -> None:
        self._on_call = on_call

    def build(
        self,
        platform: str,
        position: int,
        options: str,
        text: str | None = None,
        spirv: bytes | None = None,
        loader: str | None = None,
        device_name: str = "",
        parts: Sequence[Mapping[str, Any]] = (),
        constants: Constants = (),
    ) -> Build:
        """Build OpenCL C ``text``, or ``spirv`` with its ``constants``, for the ``position``-th device of the platform of that
        very name, of those that are called ``device_name`` if that is given. Instead of a text, ``parts`` may be linked: each
        is what ``OpenCLContext.compile_part`` takes.

        ``loader`` is the path of the OpenCL loader to use (None: the system's). The binary is read as well, as PoCL compiles
        kernels only then. Raises NotFoundError if there is no such device, OpenCLError if the program does not build.
        """
        if loader is not None:
            # open_opencl uses the loader that the process has loaded already.
            ctypes.CDLL(loader)
        library = open_opencl()
        library.on_call = self._on_call
        device = _device(platform, position, device_name)
        context = OpenCLContext(platform, [device])
        if parts:
            program = context.link([context.compile_part(part) for part in parts], options)
        elif text is not None:
            program = context.build_source(text, options)
        else:
            program = context.build_spirv(spirv or b"", options, constants=constants)
        return _build(context, device, program)


def _device(platform: str, position: int, name: str) -> OpenCLDevice:
    devices = opencl_devices()
    of_platform = [device for device in devices if device.platform == platform and name in ("", device.name)]
    if position >= len(of_platform):
        names = ", ".join(dict.fromkeys(device.platform for device in devices)) or "none"
        raise NotFoundError(f"there is no OpenCL platform {platform!r} with {position + 1} devices; there are: {names}")
    return of_platform[position]


def _build(context: OpenCLContext, device: OpenCLDevice, program: OpenCLProgram) -> Build:
    library = context.library
    call = ("clGetDeviceInfo", device.handle, CL_DEVICE_PLATFORM)
    platform = int.from_bytes(library.query(*call, query="CL_DEVICE_PLATFORM"), "little")
    version = library.text("clGetPlatformInfo", platform, CL_PLATFORM_VERSION, query="CL_PLATFORM_VERSION")
    (binary,) = program_binaries(library, program.handle, (device.handle,))
    return Build(
        name=program.name,
        device=device.name,
        toolchain=BuildToolchain(f"{device.platform} {device.driver_version}, {version}"),
        parts=HeldParts(log=program.log, binary=binary or b""),
    )
