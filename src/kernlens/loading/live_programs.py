"""Live objects to programs: what a driver holds becomes the same Program as a file does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernlens.errors import ArgumentError, KernlensError, UnsupportedError
from kernlens.isa.devices import device
from kernlens.loading.context import Context
from kernlens.loading.linkable import module_of
from kernlens.loading.open import open_bytes
from kernlens.model.build import Build
from kernlens.model.module import Module
from kernlens.model.program import Program

if TYPE_CHECKING:
    from kernlens.runtime.driver_environment import DriverEnvironment

#: What a live program holds besides machine code that can be read, by the names of a Build.
_PARTS = ("sources", "spirv", "options", "log", "binary")


def from_opencl(program: Any) -> list[Program]:
    """Return the Programs that a live OpenCL program holds, one per device it is built for.

    ``program`` is a ``pyopencl.Program`` or a raw ``cl_program`` handle. Source text comes from CL_PROGRAM_SOURCE, debug
    data from CL_PROGRAM_DEBUG_INFO_INTEL where the program binary has none. Raises UnsupportedError, with the reason, if
    no device's binary can be read; of another platform, with what can be had there instead.
    """
    from kernlens.runtime.opencl.program_queries import INTEL_GPU_PLATFORMS, live_builds, program_platform

    builds = live_builds(program)
    try:
        return programs_of(builds)
    except KernlensError as error:
        platform = program_platform(program)
        if platform in INTEL_GPU_PLATFORMS or not any(build.binary for build in builds):
            raise
        raise UnsupportedError(_other_platform(platform, builds)) from error


def _other_platform(platform: str, builds: tuple[Build, ...]) -> str:
    """Return a sentence on what a program of a platform that is not Intel's for GPUs has, and how to get it."""
    parts = [name for name in _PARTS if any(getattr(build, name) for build in builds)]
    return (
        f"the program is one of {platform} for {', '.join(build.device for build in builds)}, whose machine code kernlens"
        f" does not read; kernlens.opencl.live_builds(program) gives its {', '.join(parts)}, and"
        " kernlens.opencl.request_program_snapshot, called before the build, any stage of its compile that"
        " request_program_snapshot_list names"
    )


def from_level_zero(module: Any) -> list[Program]:
    """Return the Program that a live Level Zero module (a LiveModule of ``kernlens.level_zero``) holds. Raises ArgumentError
    for anything else."""
    from kernlens.runtime.level_zero.live_module import LiveModule
    from kernlens.runtime.level_zero.module_build import live_build

    if not isinstance(module, LiveModule):
        raise ArgumentError(
            f"kernlens.from_level_zero: module must be a LiveModule, not {type(module).__name__};"
            " build_spirv of kernlens.level_zero makes one, and LiveModule.from_handle takes an application's"
        )
    return programs_of((live_build(module),))


def programs_of(builds: Sequence[Build]) -> list[Program]:
    """Return a Program for each build whose binary holds machine code that can be read."""
    programs: list[Program] = []
    reasons: list[str] = []
    for build in builds:
        if not build.binary:
            reasons.append(f"{build.device}: {build.missing.get('binary', 'the driver gives no binary')}")
            continue
        context = Context(build, device(build.device_ip) if build.device_ip else None)
        opened = open_bytes(memoryview(build.binary), build.name, context).programs
        programs += [replace(program, name=build.name) if len(opened) == 1 else program for program in opened]
    if not programs:
        raise UnsupportedError("the program holds no machine code of an Intel GPU: " + "; ".join(reasons))
    return programs


def compiled_modules(
    modules: Sequence[tuple[Program, Module]], environment: DriverEnvironment
) -> list[tuple[Program, Module]]:
    """Return ``modules`` with those that are SPIR-V built on a driver, with their options and constants; the others
    stay as they are. Raises RefusedCallError before a call that is known to crash the driver, LevelZeroError with the
    log for a module that does not build."""
    from kernlens.runtime.isolation import IsolatedDriver

    compiled = []
    with IsolatedDriver(environment) as driver:
        for program, module in modules:
            if program.format == "spirv":
                driver.build_spirv(module.name, bytes(program.spirv), module.options or "", constants=module.constants)
                (built,) = programs_of(driver.live_builds(module.name))
                compiled.append((built, module_of(built, name=module.name)))
            else:
                compiled.append((program, module))
    return compiled
