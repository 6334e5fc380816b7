"""A worker's requests about OpenCL, which build programs and then refer to them by name."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kernlens.errors import NotFoundError
from kernlens.model.build import Build, BuildToolchain, HeldParts
from kernlens.runtime.opencl.error_codes import BUILD_PROGRAM_FAILURE, OpenCLError
from kernlens.runtime.opencl.opencl_library import open_opencl
from kernlens.runtime.opencl.program_building import Constants, OpenCLContext, OpenCLProgram, opencl_devices
from kernlens.runtime.opencl.program_queries import CL_DEVICE_PLATFORM, program_binaries, read_builds

if TYPE_CHECKING:
    from kernlens.runtime.opencl.launch_replay import BuiltPrograms

CL_PLATFORM_VERSION = 0x0901


class OpenCLRequests:
    """The requests about OpenCL: each method answers one with plain data. Programs are built for all devices of Intel's
    platform; ``build`` builds one for a device of its own."""

    def __init__(self, on_call: Callable[[str], None]) -> None:
        self._on_call = on_call
        self._programs: dict[str, OpenCLProgram] = {}
        self._built: BuiltPrograms | None = None

    @cached_property
    def _context(self) -> OpenCLContext:
        open_opencl().on_call = self._on_call
        return OpenCLContext("Intel")

    def devices(self) -> list[Mapping[str, Any]]:
        """List every device of every platform."""
        open_opencl().on_call = self._on_call
        return [
            {"platform": device.platform, "name": device.name, "driver_version": device.driver_version}
            for device in opencl_devices()
        ]

    def build_source(self, name: str, text: str, options: str = "") -> Mapping[str, Any]:
        """Build program ``name`` from OpenCL C."""
        return self._keep(self._context.build_source(text, options, name))

    def build_spirv(self, name: str, spirv: bytes, options: str = "") -> Mapping[str, Any]:
        """Build program ``name`` from SPIR-V."""
        return self._keep(self._context.build_spirv(spirv, options, name))

    def load_binary(self, name: str, binary: bytes, options: str = "") -> Mapping[str, Any]:
        """Build program ``name`` from a binary."""
        return self._keep(self._context.load_binary(binary, options, name))

    def live_builds(self, name: str) -> object:
        """Return all that program ``name`` holds, a Build per device."""
        program = self._programs.get(name)
        if program is None:
            raise NotFoundError(f"the worker has no program {name!r}; it has: {', '.join(self._programs) or 'none'}")
        return read_builds(program.context.library, program.handle, name)

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
        every = opencl_devices()
        devices = [device for device in every if device.platform == platform and device_name in ("", device.name)]
        if position >= len(devices):
            names = ", ".join(dict.fromkeys(device.platform for device in every)) or "none"
            raise NotFoundError(
                f"there is no OpenCL platform {platform!r} with {position + 1} devices; there are: {names}"
            )
        device = devices[position]
        context = OpenCLContext(platform, [device])
        if parts:
            program = context.link([context.compile_part(part) for part in parts], options)
        elif text is not None:
            program = context.build_source(text, options)
        else:
            program = context.build_spirv(spirv or b"", options, constants=constants)
        call = ("clGetDeviceInfo", device.handle, CL_DEVICE_PLATFORM)
        handle = int.from_bytes(library.query(*call, query="CL_DEVICE_PLATFORM"), "little")
        version = library.text("clGetPlatformInfo", handle, CL_PLATFORM_VERSION, query="CL_PLATFORM_VERSION")
        (binary,) = program_binaries(library, program.handle, (device.handle,))
        return Build(
            name=program.name,
            device=device.name,
            toolchain=BuildToolchain(f"{device.platform} {device.driver_version}, {version}"),
            parts=HeldParts(log=program.log, binary=binary or b""),
        )

    def replay(self, position: int, **job: Any) -> Mapping[str, Any]:
        """Run a launch again on the ``position``-th device of all; see ``launch_replay.replay``."""
        from kernlens.runtime.opencl.launch_replay import replay

        built = self._programs_on(position)
        try:
            return replay(open_opencl(), built, **job)
        except OpenCLError as error:
            if error.code != BUILD_PROGRAM_FAILURE:
                self._built = None  # A kernel that failed may have spoilt the context for all others.
            raise

    def program_binary(self, position: int, program: Mapping[str, Any]) -> bytes:
        """Return the binary of a program, as ``launch_replay`` takes one, on the ``position``-th device of all."""
        built = self._programs_on(position)
        (binary,) = program_binaries(open_opencl(), built.of(program).handle, (built.device.handle,))
        return binary or b""

    def _programs_on(self, position: int) -> BuiltPrograms:
        from kernlens.runtime.opencl.launch_replay import BuiltPrograms, chosen_device

        library = open_opencl()
        library.on_call = self._on_call
        device = chosen_device(opencl_devices(library), position)
        if self._built is None or self._built.device.handle != device.handle:
            self._built = BuiltPrograms(device)
        return self._built

    def _keep(self, program: OpenCLProgram) -> Mapping[str, Any]:
        self._programs[program.name] = program
        return {"log": program.log}
