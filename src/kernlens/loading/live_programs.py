"""Live objects to programs: what a driver holds becomes the same Program as a file does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kernlens.errors import UnsupportedError
from kernlens.isa.devices import device
from kernlens.loading.context import Context
from kernlens.loading.open import open_bytes
from kernlens.model.build import Build
from kernlens.model.program import Program


def from_opencl(program: Any) -> list[Program]:
    """The Programs that a live OpenCL program holds, one per device it is built for.

    ``program`` is a ``pyopencl.Program`` or a raw ``cl_program`` handle. Source text comes from CL_PROGRAM_SOURCE, debug
    data from CL_PROGRAM_DEBUG_INFO_INTEL where the program binary has none. Raises UnsupportedError, with the reason, if
    no device's binary can be read as Intel machine code.
    """
    from kernlens.runtime.opencl.program_queries import live_builds

    return programs_of(live_builds(program))


def from_level_zero(module: Any) -> list[Program]:
    """The Program that a live Level Zero module (``kernlens.runtime.level_zero`` LiveModule) holds."""
    from kernlens.runtime.level_zero.module_build import live_build

    return programs_of((live_build(module),))


def programs_of(builds: Sequence[Build]) -> list[Program]:
    """A Program for each build whose binary holds Intel machine code."""
    programs: list[Program] = []
    reasons: list[str] = []
    for build in builds:
        if not build.binary:
            reasons.append(f"{build.device}: {build.missing.get('binary', 'the driver gives no binary')}")
            continue
        context = Context(build, device(build.device_ip) if build.device_ip else None)
        found = open_bytes(memoryview(build.binary), build.name, context).programs
        programs += [replace(program, name=build.name) if len(found) == 1 else program for program in found]
    if not programs:
        raise UnsupportedError("the program holds no machine code of an Intel GPU: " + "; ".join(reasons))
    return programs
