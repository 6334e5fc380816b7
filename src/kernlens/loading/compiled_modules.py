"""SPIR-V modules as a driver builds them: what their binaries need is certain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernlens.loading.linkable import module_of
from kernlens.loading.live_programs import programs_of
from kernlens.model.module import Module
from kernlens.model.program import Program

if TYPE_CHECKING:
    from kernlens.runtime.driver_environment import DriverEnvironment


def compiled_modules(
    modules: Sequence[tuple[Program, Module]], environment: DriverEnvironment
) -> list[tuple[Program, Module]]:
    """``modules`` with those that are SPIR-V built on a driver, with their options and constants; the others stay as they are.

    Raises RefusedCallError before a call that is known to crash the driver, LevelZeroError with the log for a module that
    does not build.
    """
    from kernlens.runtime.isolation import IsolatedDriver

    found = []
    with IsolatedDriver(environment) as driver:
        for program, module in modules:
            if program.format == "spirv":
                driver.build_spirv(module.name, bytes(program.spirv), module.options or "", constants=module.constants)
                (built,) = programs_of(driver.live_builds(module.name))
                found.append((built, module_of(built, name=module.name)))
            else:
                found.append((program, module))
    return found
