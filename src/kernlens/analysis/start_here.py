"""Where to start in an application whose kernels an interpreter counted: the lines that waste most of all its work.

The work of a kernel is a sum of counts: the instructions that sub-groups ran, the units of global memory and the wavefronts of
local memory that they moved, and the atomics that had to follow another one. It ranks, and is not time. Launches of which only
the first work-groups ran count as if the others were like them. Where a device's time of all these kernels is known, a kernel
weighs what it took, and its lines share that as they do its work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kernlens.analysis.costs import cycles_of
from kernlens.analysis.executions import kernel_with_executions
from kernlens.analysis.observed_causes import LEAST_SHARE, Cause, causes_of_kernel
from kernlens.analysis.observed_code import Line, ObservedCode, observed_code
from kernlens.dataclass import dataclass, replace
from kernlens.errors import KernlensError
from kernlens.model.behaviour import ATOMIC, CONSTANT, GLOBAL, LOCAL, UNITS, Behaviour
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace

#: Lines that are told of.
MOST = 5
#: The place of no kernel among others.
_NONE = (-1, -1.0)
#: A cause that wastes less of all work is told only of a line that does much of it.
_LITTLE = 0.01


@dataclass(frozen=True, slots=True)
class StartLine:
    """A line to start at, of a kernel: its ``cause`` of waste, or None for a line that does much and wastes nothing that
    is known. ``share`` is what the cause wastes, or the line does, of the work of all kernels, from 0 to 1; with ``is_timed``
    each kernel's work weighs the device's time of its launches, and so do its cycles. ``cycles`` is the
    line's share of all cycles, each instruction's estimated ones as often as sub-groups ran it; None if they are not known of
    every kernel, or the line has no code."""

    program: Program
    kernel: Kernel
    place: SourcePlace | None
    cause: Cause | None
    share: float
    cycles: float | None
    is_timed: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """The ``lines`` to start at, of so many observed ``kernels`` and their ``launches``, those that waste most first.
    ``has_estimate``: the cycles of all lines are known."""

    lines: tuple[StartLine, ...]
    kernels: int
    launches: int
    has_estimate: bool


@dataclass(frozen=True, slots=True)
class _Observed:
    """A kernel that was observed. ``work`` of each line is that of all launches, and ``cycles`` those of its code."""

    program: Program
    kernel: Kernel
    observed: ObservedCode
    scale: float
    work: Counter[Line]
    cycles: Counter[Line] | None


def start_here(selection: Iterable[tuple[Program, Sequence[Kernel]]], *, has_estimate: bool = True) -> Start:
    """Return where to start among these kernels, of which those count that were observed. ``has_estimate``: with their cycles,
    for which their code is decoded."""
    every = [
        each
        for program, kernels in selection
        for kernel in kernels
        if (each := _observed(program, kernel, has_estimate=has_estimate))
    ]
    is_timed = bool(every) and all(each.work.total() > 0 and _time_of(each.kernel) > 0 for each in every)
    every = [_timed(each) for each in every] if is_timed else every
    work = sum(each.work.total() for each in every) or 1
    cycles = sum(each.cycles.total() for each in every if each.cycles is not None)
    is_estimated = bool(cycles) and all(each.cycles is not None for each in every)
    causes = [line for each in every for line in _causes(each, work, cycles if is_estimated else 0)]
    heavy = [line for each in every for line in _heavy(each, work, cycles if is_estimated else 0)]
    lines = [replace(line, is_timed=is_timed) for line in _ranked(causes, heavy)[:MOST]]
    launches = sum(launch.launches for each in every for launch in each.observed.launches)
    return Start(tuple(lines), len(every), launches, is_estimated)


def by_work(
    selection: Sequence[tuple[Program, Sequence[Kernel]]], *, is_together: bool = True
) -> list[tuple[Program, list[Kernel]]]:
    """Return the kernels in the order of the device's time, where that is known, else of their work, the most first and those
    that nobody timed or observed last. ``is_together``: those of a program stay together."""
    works = {id(kernel): (_time_of(kernel), _work_of(kernel)) for _, kernels in selection for kernel in kernels}
    ordered = [
        (program, sorted(kernels, key=lambda each: works[id(each)], reverse=True)) for program, kernels in selection
    ]
    if not is_together:
        ordered = [(program, [kernel]) for program, kernels in ordered for kernel in kernels]
    return sorted(ordered, key=lambda both: max((works[id(each)] for each in both[1]), default=_NONE), reverse=True)


def _time_of(kernel: Kernel) -> int:
    """Return the device's time of a kernel; -1 where nothing says it."""
    return -1 if kernel.launch_time is None else kernel.launch_time.total_ns


def _timed(each: _Observed) -> _Observed:
    """Return a kernel whose work and cycles add up to the device's time of its launches."""
    time = _time_of(each.kernel)
    factor = time / each.work.total()
    cycles, all_cycles = each.cycles, each.cycles.total() if each.cycles is not None else 0
    if cycles is not None and all_cycles > 0:
        cycles = Counter({line: amount * time / all_cycles for line, amount in cycles.items()})
    work = Counter({line: amount * factor for line, amount in each.work.items()})
    return replace(each, scale=each.scale * factor, work=work, cycles=cycles)


def _work_of(kernel: Kernel) -> float:
    observed = observed_code(kernel)
    return -1.0 if observed is None else _scale(observed) * _work(observed).total()


def _observed(program: Program, kernel: Kernel, *, has_estimate: bool) -> _Observed | None:
    observed = observed_code(kernel)
    if observed is None or not observed.launches:
        return None
    scale = _scale(observed)
    work = Counter({line: scale * amount for line, amount in _work(observed).items()})
    return _Observed(program, kernel, observed, scale, work, _cycles(program, kernel, scale) if has_estimate else None)


def _scale(observed: ObservedCode) -> float:
    """Return how much more all work-groups of a kernel's launches are than those that ran."""
    done = sum(launch.times * launch.groups_done for launch in observed.launches)
    return float(sum(launch.times * launch.groups for launch in observed.launches) / done) if done else 1.0


def _work(observed: ObservedCode) -> Counter[Line]:
    """Return the work of each line of a kernel."""
    work: Counter[Line] = Counter()
    for launch in observed.launches:
        times = float(launch.times)
        for place, amount in _counts(launch):
            work[observed.paths.get(place.path, place.path), place.line] += times * amount  # type: ignore[assignment]
    return work


def _counts(launch: Behaviour) -> Iterator[tuple[SourcePlace, int]]:
    for place, count, _, runs, _ in launch.pieces:
        yield place, count * runs
    chosen = UNITS.index(launch.unit)
    for access in launch.accesses:
        if access.place is None:
            continue
        if access.kind == ATOMIC:
            yield access.place, access.contention
        if access.space in (GLOBAL, CONSTANT):
            yield access.place, access.units[chosen]
        elif access.space == LOCAL:
            yield access.place, access.wavefronts or 0


def _cycles(program: Program, kernel: Kernel, scale: float) -> Counter[Line] | None:
    """Return the estimated cycles of each line, as often as its instructions ran; None if they are not known."""
    try:
        weighed = kernel_with_executions(program, kernel)
        weights, source_map, columns = weighed.trip_weights, kernel.source_map, cycles_of(kernel.waits)
    except KernlensError:
        return None
    if weights is None or weights.observed is None or source_map is None or not columns:
        return None
    cycles: Counter[Line] = Counter()
    for row, each in enumerate(zip(*columns.values(), strict=True)):
        place = source_map.places[row]
        if place is not None:
            cycles[place.path, place.line] += scale * weights.rows[row] * sum(each)
    return cycles


def _causes(each: _Observed, work: float, cycles: float) -> Iterator[StartLine]:
    for cause in causes_of_kernel(each.program, each.kernel):
        share = min(1.0, each.scale * cause.wasted / work)
        yield StartLine(each.program, each.kernel, cause.place, cause, share, _share_of(each, cause.place, cycles))


def _heavy(each: _Observed, work: float, cycles: float) -> Iterator[StartLine]:
    """Yield the lines that do much: by their cycles where these are known, else by their work."""
    amounts, total = (each.cycles, cycles) if cycles and each.cycles is not None else (each.work, work)
    for line, amount in amounts.items():
        if amount >= LEAST_SHARE * total:
            place = SourcePlace(*line)
            own = each.work[line] / work
            yield StartLine(each.program, each.kernel, place, None, own, _share_of(each, place, cycles))


def _share_of(each: _Observed, place: SourcePlace | None, cycles: float) -> float | None:
    if not cycles or place is None or each.cycles is None:
        return None
    return each.cycles[place.path, place.line] / cycles


def _ranked(causes: Sequence[StartLine], heavy: Sequence[StartLine]) -> list[StartLine]:
    """Return the lines in their order: causes that waste enough of all work, then lines that do much of it. One that does much
    and wastes little of it has its cause."""
    lines = sorted((line for line in causes if line.share >= _LITTLE), key=lambda line: -line.share)
    told = {(id(line.kernel), place) for line in lines for place in _lines(line)}
    little = {(id(line.kernel), place): line for line in causes if line.share < _LITTLE for place in _lines(line)[:1]}
    for line in sorted(heavy, key=lambda line: -(line.share if line.cycles is None else line.cycles)):
        keys = [(id(line.kernel), place) for place in _lines(line)]
        if not told.intersection(keys):
            lines += [little.get(key, line) for key in keys]
    return lines


def _lines(line: StartLine) -> tuple[Line, ...]:
    """Return all lines that it is about."""
    if line.cause is not None:
        return line.cause.lines
    return ((line.place.path, line.place.line),) if line.place is not None else ()
