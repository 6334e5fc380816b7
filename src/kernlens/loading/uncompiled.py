"""Kernels that an interpreter counted, and that nothing here compiled: what they did is known, and no machine code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kernlens.isa.devices import known_device
from kernlens.loading.listed_code import ListedCode, ListedDebug, ListedKernel
from kernlens.model.allowance import Allowance
from kernlens.model.binary import EMPTY
from kernlens.model.kernel import Kernel
from kernlens.model.kernel_launches import KernelLaunches
from kernlens.model.listed_instructions import ListedInstructions
from kernlens.model.program import Kernels, Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernlens.model.behaviour import Behaviour
    from kernlens.model.build import Source


_REASON = "no machine code was compiled for it"


class _NoCode(ListedCode):
    """The parts of such a kernel: nothing costs anything in code that is not there, so that no cost is known."""

    def costs(self, kernel: Kernel) -> Mapping[str, int]:
        return {}


def uncompiled(programs: Iterable[Program]) -> Iterator[Program]:
    """Yield those of the programs that have no machine code, and whose kernels an interpreter counted, with these kernels; each
    is for the device that was counted for."""
    for program in programs:
        behaviours = program.build.behaviours
        if program.kernels or not behaviours:
            continue
        launches = [each for name in behaviours for each in behaviours[name]]
        device = next((each.device for each in launches if each.device), None)
        yield replace(
            program,
            find_sources=partial(_named_sources, program, next((each.source for each in launches if each.source), "")),
            device=known_device(device) if device is not None else None,
            kernels=Kernels({name: _kernel(program, name, behaviours) for name in behaviours}),
        )


def _named_sources(program: Program, name: str) -> tuple[Source, ...]:
    """Return the sources of a program; the only one without a name is called as the launches call it."""
    sources = program.sources
    is_only = sum(not each.path for each in sources) == 1
    return tuple(replace(each, path=each.path or name) for each in sources) if is_only else tuple(sources)


def _kernel(program: Program, name: str, behaviours: Mapping[str, Sequence[Behaviour]]) -> Kernel:
    listed = ListedKernel(
        name, EMPTY, lambda: ListedInstructions((), (), (), ()), line_reason=_REASON, waits_reason=_REASON
    )
    debug = ListedDebug([listed], program.build, Allowance(0))
    launches = KernelLaunches(None, partial(behaviours.__getitem__, name), program.build.device_times.get(name))
    return Kernel(name, _NoCode(listed, debug, program.device), launches)
