"""Samples on a kernel's instructions, and those of waits on the instructions that were waited for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kernlens.analysis.flow.distance_waits import distance_waits
from kernlens.analysis.flow.token_waits import token_waits
from kernlens.analysis.sampled_code import code_start
from kernlens.analysis.sampled_kernels import SampledKernels
from kernlens.dataclass import dataclass, field
from kernlens.model.instruction import Instructions
from kernlens.model.samples import DISTANCE, TOKEN, Counts, Reason, SampledKernel, summed


class Blame(NamedTuple):
    """The samples in which row ``waiter`` waited that are laid on row ``producer``."""

    waiter: int
    producer: int
    samples: int


@dataclass(frozen=True, slots=True)
class PlacedSamples:
    """The samples of one kernel on its instructions.

    ``counts`` has the counts of each row, by ``reasons``; ``devices`` are the profiler's devices whose samples they are,
    None for one that it does not number. ``unplaced`` has those at offsets where no instruction begins. ``blames`` lays
    the samples of waits on producers: where control may come several ways, a row has several, which get equal parts.
    ``unblamed`` samples wait for what the code alone does not tell. ``measured`` has the profiler's other counts of each
    row, by ``measures``.
    """

    profiler: str
    reasons: tuple[Reason, ...]
    devices: tuple[int | None, ...]
    counts: Mapping[int, Counts]
    unplaced: Mapping[int, Counts]
    blames: Sequence[Blame]
    unblamed: int
    measures: tuple[str, ...] = ()
    measured: Mapping[int, Counts] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of samples on instructions."""
        return sum(map(sum, self.counts.values()))

    def sum_of(self, rows: Iterable[int]) -> Counts:
        """Return the counts of some rows together."""
        return _sum(self.counts, rows, len(self.reasons))

    def measured_of(self, rows: Iterable[int]) -> Mapping[str, int]:
        """Return the other counts of some rows together by their names, without those that are 0."""
        total = _sum(self.measured, rows, len(self.measures))
        return {name: count for name, count in zip(self.measures, total, strict=True) if count}

    def laid_on(self) -> Mapping[int, int]:
        """Return for each row how many samples of other rows' waits are laid on it; without those that have none."""
        laid: dict[int, int] = defaultdict(int)
        for blame in self.blames:
            laid[blame.producer] += blame.samples
        return laid


def placed_samples(sampled: SampledKernels, name: str, instructions: Instructions) -> PlacedSamples:
    """Return the samples of the kernel that its binary calls ``name`` on its ``instructions``. Those that a profiler states
    with the text of their instructions are of this code, or left out."""
    kernels, reasons = _of_this_code(sampled.of(name), instructions), sampled.samples.reasons
    row_of = {offset: row for row, offset in enumerate(instructions.offsets)} if kernels else {}
    counts: dict[int, Counts] = {}
    unplaced: dict[int, Counts] = {}
    for offset, each in _together([kernel.counts for kernel in kernels]).items():
        if offset in row_of:
            counts[row_of[offset]] = each
        else:
            unplaced[offset] = each
    blames, unblamed = _blames(counts, reasons, instructions)
    return PlacedSamples(
        sampled.samples.profiler,
        reasons,
        tuple(dict.fromkeys(kernel.device for kernel in kernels)),
        dict(sorted(counts.items())),
        dict(sorted(unplaced.items())),
        blames,
        unblamed,
        sampled.samples.measures,
        {
            row_of[offset]: each
            for offset, each in _together([kernel.measured for kernel in kernels]).items()
            if offset in row_of
        },
    )


def _of_this_code(kernels: Sequence[SampledKernel], instructions: Instructions) -> Sequence[SampledKernel]:
    """Return the kernels whose code this is, with their offsets from its start."""
    return [
        kernel if start == 0 else kernel.moved(start)
        for kernel in kernels
        if (start := code_start(kernel, instructions)) is not None
    ]


def _sum(columns: Mapping[int, Counts], rows: Iterable[int], width: int) -> Counts:
    total = (0,) * width
    for row in rows:
        if row in columns:
            total = summed(total, columns[row])
    return total


def _together(columns: Sequence[Mapping[int, Counts]]) -> Mapping[int, Counts]:
    """Return the counts by offset of a kernel's samples on several devices together."""
    if len(columns) == 1:
        return columns[0]
    counts: dict[int, Counts] = {}
    for column in columns:
        for offset, each in column.items():
            counts[offset] = summed(counts[offset], each) if offset in counts else each
    return counts


def _blames(
    counts: Mapping[int, Counts], reasons: Sequence[Reason], instructions: Instructions
) -> tuple[list[Blame], int]:
    """Return the samples of waits laid on producers, and the number of those that have none."""
    laid: dict[tuple[int, int], int] = defaultdict(int)
    unblamed = 0
    for awaits in (TOKEN, DISTANCE):
        columns = [column for column, reason in enumerate(reasons) if reason.awaits == awaits]
        waiting = {row: number for row, each in counts.items() if (number := sum(each[column] for column in columns))}
        producers = _producers(awaits, instructions) if waiting else {}
        for row, number in waiting.items():
            awaited = producers.get(row, ())
            for producer, part in zip(awaited, _parts(number, len(awaited)), strict=True):
                laid[row, producer] += part
            unblamed += 0 if awaited else number
    return [Blame(*rows, number) for rows, number in sorted(laid.items()) if number], unblamed


def _producers(awaits: str, instructions: Instructions) -> Mapping[int, Sequence[int]]:
    """Return the rows that each waiting row may wait for."""
    if awaits == DISTANCE:
        return {wait.waiter: wait.producers for wait in distance_waits(instructions)}
    producers: dict[int, list[int]] = defaultdict(list)
    for waiter, producer in token_waits(instructions, with_takers=True):
        producers[waiter].append(producer)
    return producers


def _parts(number: int, count: int) -> list[int]:
    """Return ``count`` equal parts of a number; what is left over goes to the first ones."""
    if not count:
        return []
    part, rest = divmod(number, count)
    return [part + (position < rest) for position in range(count)]
