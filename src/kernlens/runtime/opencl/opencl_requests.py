"""A worker's requests about OpenCL, which build programs and then refer to them by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from kernlens.errors import NotFoundError
from kernlens.runtime.opencl.opencl_library import open_opencl
from kernlens.runtime.opencl.program_building import OpenCLContext, OpenCLProgram, opencl_devices
from kernlens.runtime.opencl.program_queries import read_builds


class OpenCLRequests:
    """The requests about OpenCL: each method answers one with plain data.

    Programs are built for all devices of the platform whose name contains ``platform``.
    """

    def __init__(self, on_call: Callable[[str], None]) -> None:
        self._on_call = on_call
        self._programs: dict[str, OpenCLProgram] = {}

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

    def _keep(self, program: OpenCLProgram) -> Mapping[str, Any]:
        self._programs[program.name] = program
        return {"log": program.log}
