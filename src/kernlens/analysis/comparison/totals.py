"""The sums of a comparison of many kernels: how many grew, by how much on the whole, and which lost width or spill more."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kernlens.analysis.comparison.kernel_changes import KernelChange
from kernlens.analysis.comparison.pairs import Pairing
from kernlens.analysis.comparison.source_lines import SourceLines
from kernlens.dataclass import dataclass
from kernlens.model.build import Source
from kernlens.model.figure import Figure
from kernlens.model.figures import WAITS, figure_named
from kernlens.model.spills import SPILLED_BYTES, spill_messages

_INSTRUCTIONS = figure_named("instructions")
_SIMD = figure_named("simd")
#: Nobody asks for these here, so that no program simulates them.
_WAIT_CYCLES = figure_named("wait_cycles")
#: The figures of which there is a mean: what a change does to the whole.
MEANS = (_INSTRUCTIONS, _WAIT_CYCLES, figure_named("code_size"))


@dataclass(frozen=True, slots=True)
class Mean:
    """The geometric mean of new divided by old of a figure, over the ``kernels`` of which both are known and not 0; None if
    there are none. ``old`` and ``new`` are the sums of these. ``reason`` is why there are none, if all agree
    on one."""

    figure: Figure
    ratio: float | None
    kernels: int
    old: int
    new: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A kernel of which a value differs."""

    change: KernelChange
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums. Of the ``compared`` kernels ``equal`` do not differ, ``grown`` and ``shrunk`` have more or fewer instructions,
    and the others as many. The means are those of all that differ. ``simd`` are the kernels with another SIMD width, ``spills``
    those that spill more or less: in bytes; where a side does not state bytes, in registers if both state these, or else in
    messages. Those of two instruction sets are compared in bytes only."""

    compared: int
    equal: int
    grown: int
    shrunk: int
    means: tuple[Mean, ...]
    simd: tuple[ValueChange, ...]
    spills: tuple[ValueChange, ...]
    #: Whether any kernel that differs has a SIMD width, or spills that can be compared, on both sides.
    knows_simd: bool
    knows_spills: bool

    @property
    def others(self) -> int:
        """The number of kernels that differ with as many instructions."""
        return self.compared - self.equal - self.grown - self.shrunk


def totals(pairing: Pairing, changes: Sequence[KernelChange]) -> Totals:
    """Return the sums of a comparison; ``changes`` are the kernels of the pairing that differ. Their waits are computed."""
    counts = [(change, _value_change(change, _INSTRUCTIONS)) for change in changes]
    spills = [(change, *both) for change in changes if (both := _spills(change))]
    return Totals(
        len(pairing.kernels),
        len(pairing.kernels) - len(changes),
        sum(each is not None and each.new > each.old for _, each in counts),
        sum(each is not None and each.new < each.old for _, each in counts),
        tuple(_mean(figure, changes) for figure in MEANS),
        tuple(each for change in changes if (each := _value_change(change, _SIMD))),
        tuple(ValueChange(*each) for each in spills if each[1] != each[2]),
        any(None not in (_SIMD.read(change.pair.old), _SIMD.read(change.pair.new)) for change in changes),
        bool(spills),
    )


def programs_of_equal_code(pairing: Pairing, changes: Sequence[KernelChange]) -> list[tuple[str, int]]:
    """Return the names of programs whose sources differ although their kernels do not, each with the number of lines; of a
    source that was compiled several times one."""
    differing = {id(change.pair.new_program) for change in changes}
    differing |= {id(each.program) for each in (*pairing.only_old, *pairing.only_new)}
    equal: dict[str | int, tuple[str, int]] = {}
    for old, new in {id(both.new_program): (both.old_program, both.new_program) for both in pairing.kernels}.values():
        if differing.isdisjoint((id(old), id(new))) and (lines := _lines(old.build.sources, new.build.sources)):
            equal.setdefault(new.build.path or id(new), (new.name, lines))
    return list(equal.values())


def _lines(old: Sequence[Source], new: Sequence[Source]) -> int:
    same = {(source.path, source.text) for source in old} & {(source.path, source.text) for source in new}
    left, right = ([source for source in side if (source.path, source.text) not in same] for side in (old, new))
    return len(SourceLines(left, right).edited) if left and right else 0


def _value_change(change: KernelChange, figure: Figure) -> ValueChange | None:
    values = change.change_of(figure)
    if values is None or values.old is None or values.new is None:
        return None
    return ValueChange(change, values.old, values.new)


def _mean(figure: Figure, changes: Sequence[KernelChange]) -> Mean:
    values = [
        (old, new)
        for change in changes
        if figure is not _WAIT_CYCLES or not (change.pair.old.simulates_waits or change.pair.new.simulates_waits)
        for old, new in [(figure.read(change.pair.old), figure.read(change.pair.new))]
        if old and new
    ]
    if not values:
        reasons = {kernel.waits_reason for change in changes for kernel in (change.pair.old, change.pair.new)}
        is_other = figure in WAITS and len(reasons) == 1 and not any(change.pair.has_sync for change in changes)
        return Mean(figure, None, 0, 0, 0, next(iter(reasons)) if is_other else None)
    ratio = math.exp(sum(math.log(new / old) for old, new in values) / len(values))
    return Mean(figure, ratio, len(values), sum(old for old, _ in values), sum(new for _, new in values))


def _spills(change: KernelChange) -> tuple[int, int] | None:
    """Return what spills on both sides, in one unit; None if it is not known."""
    kernels = change.pair.old, change.pair.new
    both: tuple[int | None, int | None] = SPILLED_BYTES.read(kernels[0]), SPILLED_BYTES.read(kernels[1])
    if None in both and not change.pair.has_two_isas:
        registers = tuple(kernel.resources.spilled_registers for kernel in kernels)
        if all(registers):
            both = sum(registers[0].values()), sum(registers[1].values())
        else:
            both = spill_messages(kernels[0].costs), spill_messages(kernels[1].costs)
    old, new = both
    return None if old is None or new is None else (old, new)
