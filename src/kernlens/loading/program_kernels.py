"""The facts that all kernels of a program share: those by which drivers load it, how their code ends, and their launches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from kernlens.isa.intel import raw_code
from kernlens.model.kernel_resources import KernelResources

if TYPE_CHECKING:
    from kernlens.isa.intel.launch_rules import ProgramFacts
    from kernlens.model.build import Build
    from kernlens.model.kernel import Kernel


class ProgramKernels:
    """The resources of a program's kernels, which drivers load together, by name, and the code that is stated of each."""

    def __init__(
        self,
        resources: Callable[[], Iterable[tuple[str, KernelResources]]] = tuple,
        codes: Callable[[], Iterable[memoryview]] = tuple,
        *,
        has_spirv: bool = True,
    ) -> None:
        self._resources = resources
        self._codes = codes
        self._has_spirv = has_spirv

    @cached_property
    def ends_differ(self) -> bool:
        """True if behind the ends of their threads some of the kernels for Xe-LP to Xe-HPC have a ``nop``, and others none."""
        return len({raw_code.nops_at_end(code) for code in self._codes()} - {None}) > 1

    @cached_property
    def facts(self) -> ProgramFacts:
        """Facts of the program by which a driver loads it, or does not."""
        from kernlens.analysis.cxx_names import kernel_title
        from kernlens.isa.intel.launch_rules import program_facts

        facts = program_facts(self._resources(), has_spirv=self._has_spirv)
        return facts._replace(kernel=kernel_title(facts.kernel), bindless=kernel_title(facts.bindless))


def launched_kernels(kernels: Mapping[str, Kernel], build: Build) -> dict[str, Kernel]:
    """Return the kernels with what is known of their launches."""
    shared, behaviours, times = build.launch_shared, build.behaviours, build.device_times
    if not (shared or behaviours or times):
        return dict(kernels)
    from kernlens.model.kernel_launches import KernelLaunches

    def launches(name: str) -> KernelLaunches:
        return KernelLaunches(shared.get(name), lambda: behaviours.get(name, ()), times.get(name))

    return {
        name: kernel.launched(launches(name)) if name in shared or name in behaviours or name in times else kernel
        for name, kernel in kernels.items()
    }
