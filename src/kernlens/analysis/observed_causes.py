"""Causes of waste, told from what a kernel did on its data, the largest first.

A cause is told of when it wastes at least a tenth of the kernel's units of global memory or wavefronts of local memory, or a
quarter of its lanes. Accesses that waste in the same way, such as those of a structure's fields, are one cause. Each states the
counts that it follows from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from kernlens.analysis.machine_accesses import JOINED, machine_accesses
from kernlens.analysis.observed_code import Line, ObservedCode, observed_code, observed_texts
from kernlens.analysis.strides import is_used_up
from kernlens.dataclass import dataclass, replace
from kernlens.model.behaviour import ATOMIC, CONSTANT, GLOBAL, LOCAL, UNITS, Behaviour, ObservedAccess, ObservedBranch
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace

#: An access is told of from so many times its ideal on.
_TIMES = 2
_TIMES_IN_LOCAL_MEMORY = 1.5
#: Consecutive addresses that begin within a unit move one unit more; neighbours move it too, so caches may serve it.
_MISALIGNED_SHARE = 0.25
#: The least share of what the kernel moves or runs.
LEAST_SHARE = 0.1
#: Lanes of a line are few below this share of those that a work-group has.
_FEW = 0.75
#: A tree that adds up a work-group leaves a fifth idle, which is no fault.
_IDLE_SHARE = 0.25
_NEAR = 64
#: Bytes of a lane from which on a request is no narrow one; requests of one kind that a sub-group makes at least, and their
#: share of all.
_WORD, _MANY, _MOST_REQUESTS = 4, 4, 0.4
_LOCAL_FENCE = re.compile(r"\bbarrier\s*\(\s*(?:CLK_LOCAL_MEM_FENCE|1)\s*\)")
_MACRO = re.compile(r"\s*#\s*define\s+(\w+)")


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause: its ``kind``, the ``place`` of the source, what the counts say, and what to try. ``share`` is what it wastes, of
    the kernel's ``resource`` (``units``, ``wavefronts`` or ``lanes``), from 0 to 1; both None where that is not counted.
    ``wasted`` is how much it wastes: units, wavefronts, atomics that wait for another one of their request, instructions of
    whole sub-groups that the idle lanes are, or waits at barriers. ``others`` are the places of the other accesses that do the
    same and are counted with it."""

    kind: str
    place: SourcePlace | None
    counts: str
    action: str
    share: float | None
    resource: str | None
    wasted: float
    others: tuple[SourcePlace | None, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """The path and number of each of its lines, its own first."""
        return tuple(dict.fromkeys((each.path, each.line) for each in (self.place, *self.others) if each is not None))

    @property
    def sentence(self) -> str:
        """The counts in words, with the lines of all accesses."""
        if not self.others:
            return self.counts
        own = self.place and (self.place.path, self.place.line)
        is_here = any(each is None or (each.path, each.line) == own for each in self.others)
        places = [
            str(line) if own and path == own[0] else f"{path.rpartition('/')[2]}:{line}"
            for path, line in self.lines
            if (path, line) != own
        ]
        where = ["this line"] if is_here else []
        where += [f"line{'s' if len(places) > 1 else ''} {', '.join(places)}"] if places else []
        number = len(self.others)
        more = f"{number} more access{'es' if number > 1 else ''} of {' and '.join(where)}"
        return f"{self.counts}; {more} {'do' if number > 1 else 'does'} the same"


def causes_of_kernel(program: Program, kernel: Kernel) -> tuple[Cause, ...]:
    """Return the causes of all launches of a kernel together; none if it was not observed. Units that the machine code spares,
    as it joins accesses of a line, are no waste: a cause that may be mended so is not told."""
    observed = observed_code(kernel)
    if observed is None:
        return ()
    causes = causes_of_launches(observed, observed_texts(program, observed))
    spared: Counter[Line] = Counter()
    for access in machine_accesses(kernel.unread()) if any(cause.resource == "units" for cause in causes) else ():
        if access.state == JOINED and access.units is not None:
            spared[access.line] += access.units[1] - access.units[0]
    whole = _of_lines(_spared(causes, spared) if spared else causes)
    return tuple(sorted(whole, key=lambda each: (-(each.share or 0), -each.wasted)))


def _of_lines(causes: Iterable[Cause]) -> Iterator[Cause]:
    """Yield the causes, those of one kind of a line as one in the words of the first."""
    lines: dict[Hashable, list[Cause]] = {}
    for cause in causes:
        place = cause.place and (cause.place.path, cause.place.line)
        lines.setdefault((cause.kind, place), []).append(cause)
    for first, *more in lines.values():
        share = sum(each.share for each in (first, *more) if each.share) or None
        wasted = sum(each.wasted for each in (first, *more))
        others = (*first.others, *(place for each in more for place in (each.place, *each.others)))
        yield replace(first, share=share, wasted=wasted, others=others)


def _spared(causes: Sequence[Cause], spared: Mapping[Line, int]) -> Iterator[Cause]:
    """Yield the causes with what they waste at least, if so many units of each line may be spared: no unit of a line is spared
    of two of its causes."""
    left = dict(spared)
    for cause in causes:
        lines = [line for line in cause.lines if line in left] if cause.resource == "units" else []
        if not lines:
            yield cause
            continue
        wasted = cause.wasted
        for line in lines:
            less = min(wasted, left[line])
            left[line] -= int(less)
            wasted -= less
        moved = cause.wasted / (cause.share or 1) - sum(spared.values())
        if wasted >= LEAST_SHARE * moved > 0:
            yield replace(cause, share=wasted / moved, wasted=wasted)


def causes_of_launches(observed: ObservedCode, texts: Mapping[str, Sequence[str]]) -> tuple[Cause, ...]:
    """Return the causes of a kernel's launches together, each once, with the words of the launch that wastes most by it. Places
    are those of the kernel's line table; ``texts`` has the lines of source files by their paths there, and in the launches."""
    parts: dict[Hashable, list[tuple[float, Cause]]] = {}
    for launch in observed.launches:
        ordinals: Counter[Hashable] = Counter()
        for cause in observed_causes(launch, texts):
            place, *others = (_known_as(each, observed) for each in (cause.place, *cause.others))
            key = cause.kind, place
            whole = replace(cause, place=place, others=tuple(others))
            parts.setdefault((key, ordinals[key]), []).append((float(launch.times), whole))
            ordinals[key] += 1
    causes = [_together(each, len(observed.launches)) for each in parts.values()]
    return tuple(sorted(causes, key=lambda cause: (-(cause.share or 0), -cause.wasted)))


def _known_as(place: SourcePlace | None, observed: ObservedCode) -> SourcePlace | None:
    """Return a launch's place as the kernel's line table has it."""
    return place and replace(place, path=observed.paths.get(place.path, place.path))


def _together(parts: Sequence[tuple[float, Cause]], launches: int) -> Cause:
    """Return one cause of several launches; its share, if others do not have it, is that of the launch that wastes most."""
    wasted = sum(times * cause.wasted for times, cause in parts)
    _, most = max(parts, key=lambda part: part[0] * part[1].wasted)
    if len(parts) < max(2, launches) or not all(cause.share for _, cause in parts):
        return replace(most, wasted=wasted)
    return replace(most, wasted=wasted, share=wasted / sum(times * c.wasted / (c.share or 1) for times, c in parts))


def observed_causes(observed: Behaviour, texts: Mapping[str, Sequence[str]]) -> tuple[Cause, ...]:
    """Return the causes, those that waste the largest share first. ``texts`` has the lines of source files by their paths."""
    causes = [
        *_of_global_memory(observed),
        *_of_requests(observed),
        *_of_local_memory(observed),
        *_of_atomics(observed),
        *_of_lanes(observed),
        *_of_barriers(observed, texts),
    ]
    return tuple(sorted(causes, key=lambda cause: -(cause.share or 0)))


def _of_global_memory(observed: Behaviour) -> Iterator[Cause]:
    chosen = UNITS.index(observed.unit)
    moved = [access for access in observed.accesses if access.space in (GLOBAL, CONSTANT) and access.requests]
    total = sum(access.units[chosen] for access in moved)
    ways: dict[Hashable, list[tuple[ObservedAccess, Cause]]] = {}
    for access in moved:
        units, least = access.units[chosen], access.least[chosen]
        if units < _TIMES * least or access.kind == ATOMIC:
            continue
        if access.pattern == "consecutive" and (
            units - least < _MISALIGNED_SHARE * total or units <= _units_of_all_lanes(observed, access)
        ):
            continue
        counts = (
            f"a {access.kind} of {access.width} bytes touches {_mean(units, access)} units of {observed.unit} bytes a request"
            f" where {_mean(least, access)} would do ({access.pattern})"
        )
        share = (units - least) / total
        cause = Cause(_kind_of(access), access.place, counts, _action_of(access), share, "units", units - least)
        ways.setdefault(_way(access, cause), []).append((access, cause))
    wasteful = (parts for parts in ways.values() if not is_used_up([access for access, _ in parts], chosen))
    yield from _of_ways([cause for _, cause in parts] for parts in wasteful)


def _of_requests(observed: Behaviour) -> Iterator[Cause]:
    """Yield loads of one address by all lanes, and accesses of few bytes, if most requests are such and sub-groups make many:
    each is a message, however little it moves."""
    moved = [access for access in observed.accesses if access.space in (GLOBAL, CONSTANT) and access.requests]
    total = sum(access.requests for access in moved)
    sub_groups = max(1, observed.sub_groups)
    ways: dict[str, list[tuple[float, ObservedAccess]]] = {}
    for access in moved:
        lanes = access.lanes / access.requests
        is_many = access.kind != ATOMIC and lanes >= _FEW * observed.machine.width
        if not is_many or access.place is None:
            continue
        if access.kind == "load" and access.space == GLOBAL and access.pattern == "same address":
            kind, wasted = "repeated load", access.requests * (1 - 1 / lanes)
        elif access.width < _WORD and access.pattern == "consecutive":
            kind, wasted = "narrow access", access.requests * (1 - access.width / _WORD)
        else:
            continue
        ways.setdefault(kind, []).append((wasted, access))
    for kind, parts in ways.items():
        requests = sum(access.requests for _, access in parts)
        if requests < _MANY * sub_groups or requests < _MOST_REQUESTS * total:
            continue
        wasted, access = max(parts, key=lambda part: part[0])
        each = f"{requests / sub_groups:,.1f} requests of a sub-group"
        if kind == "repeated load":
            counts = f"all lanes load the same {access.width} bytes, in {each}"
            action = "let each lane load another one, and share them by local memory or sub-group functions"
        else:
            counts = f"a lane {access.kind}s {access.width} bytes at a time, in {each}"
            action = f"let a work-item take {_WORD // access.width} neighbours or more, as a vector"
        others = tuple(part.place for _, part in parts if part is not access)
        every = sum(each for each, _ in parts)
        yield Cause(kind, access.place, counts, action, every / total, "requests", every, others)


def _way(access: ObservedAccess, cause: Cause) -> Hashable:
    """Return what accesses that waste in the same way share: their buffer, and how the addresses of lanes follow each other.
    Where the buffer is not known, they are those of one line. One that begins within a unit stands alone."""
    argument = access.example.argument if access.example is not None else None
    line = access.place and (access.place.path, access.place.line)
    buffer = argument or (None if access.space == LOCAL else line)
    return cause.kind, access.space, access.pattern, buffer, id(access) if access.pattern == "consecutive" else None


def _of_ways(ways: Iterable[Sequence[Cause]]) -> Iterator[Cause]:
    """Yield those causes that waste enough together, each at the line that wastes most."""
    for causes in ways:
        share, wasted = sum(each.share or 0 for each in causes), sum(each.wasted for each in causes)
        if share < LEAST_SHARE:
            continue
        lines: Counter[Hashable] = Counter()
        for each in causes:
            lines[each.lines] += each.wasted  # type: ignore[assignment]
        first = max(causes, key=lambda each: (lines[each.lines], each.wasted))
        others = sorted((each.place for each in causes if each is not first), key=_order)
        yield replace(first, share=share, wasted=wasted, others=tuple(others))


def _order(place: SourcePlace | None) -> tuple[str, int]:
    return ("", 0) if place is None else (place.path, place.line)


def _units_of_all_lanes(observed: Behaviour, access: ObservedAccess) -> int:
    """Return the units of consecutive requests of whole sub-groups. Where lanes that part touch no more, the idle ones are the
    cause."""
    bytes_of_lane = -(-access.bytes // access.lanes)
    return access.requests * -(-observed.machine.width * bytes_of_lane // observed.unit)


def _kind_of(access: ObservedAccess) -> str:
    if _is_misaligned(access):
        return "misaligned access"
    return "scattered access" if access.pattern == "irregular" else "strided access"


def _is_misaligned(access: ObservedAccess) -> bool:
    """Tell whether the lanes' bytes follow each other: then they begin within a unit, or parts of them are accessed alone."""
    return access.pattern == "consecutive" or access.stride == (access.width, access.width)


def _action_of(access: ObservedAccess) -> str:
    if _is_misaligned(access):
        return "begin at a multiple of the access's bytes and of the unit: pad rows, or read whole vectors of aligned arrays"
    stride = access.stride
    is_even = access.pattern != "irregular" and stride is not None and stride[0] == stride[1]
    return action_of_stride(stride[0] if is_even and stride is not None else None)


def action_of_stride(stride: int | None) -> str:
    """Return what to try where neighbours are so many bytes apart; None: a number that is not known."""
    if stride is not None and abs(stride) <= _NEAR:
        return (
            "neighbouring work-items read fields of neighbouring structures, or every Nth element: keep each field in an array"
            " of its own, or load fields that stand beside one another as a vector"
        )
    return (
        "let neighbouring work-items access neighbouring elements: exchange the ids, or go through a tile in local memory;"
        " where addresses come from data, sort it"
    )


def _of_local_memory(observed: Behaviour) -> Iterator[Cause]:
    local = [access for access in observed.accesses if access.space == LOCAL and access.wavefronts is not None]
    total = sum(access.wavefronts or 0 for access in local)
    ways: dict[Hashable, list[Cause]] = {}
    for access in local:
        waves, least = access.wavefronts or 0, access.least_wavefronts or 0
        if not waves or waves < _TIMES_IN_LOCAL_MEMORY * least or access.kind == ATOMIC:
            continue
        counts = (
            f"a {access.kind} of {access.width} bytes in local memory takes {_mean(waves, access)} wavefronts a request where"
            f" {_mean(least, access)} would do ({access.pattern})"
        )
        share = (waves - least) / total
        action = "pad each row of the array by one element"
        cause = Cause("bank conflict", access.place, counts, action, share, "wavefronts", waves - least)
        ways.setdefault(_way(access, cause), []).append(cause)
    yield from _of_ways(ways.values())


def _of_atomics(observed: Behaviour) -> Iterator[Cause]:
    for access in observed.accesses:
        if access.kind == ATOMIC and access.requests and access.contention >= _TIMES * access.requests:
            counts = f"{_mean(access.contention, access)} lanes of a request change the same address"
            action = "add up within the sub-group or work-group first, or give each its own address"
            yield Cause("contention", access.place, counts, action, None, None, access.contention - access.requests)


def _of_lanes(observed: Behaviour) -> Iterator[Cause]:
    width = observed.machine.width
    items = observed.local_size[0] * observed.local_size[1] * observed.local_size[2]
    whole = items / -(-items // width)
    slots = sum(count * runs for _, count, _, runs, _ in observed.pieces) * width
    if not slots:
        return
    if whole <= (1 - LEAST_SHARE) * width:
        counts = f"work-groups of {items:,} work-items fill {whole:.1f} of the {width} lanes of a sub-group"
        action = f"take work-groups of a multiple of {width}"
        share = 1 - whole / width
        yield Cause("half-filled sub-groups", None, counts, action, share, "lanes", share * slots / width)
    yield from _idle(observed, whole, slots)


def _idle(observed: Behaviour, whole: float, slots: int) -> Iterator[Cause]:
    """Yield the lines at which lanes are idle, those behind one parting as one cause at the line that wastes most. A line may
    also have a condition that all lanes run: only its blocks with idle lanes count."""
    lines: dict[tuple[str, int], list[float]] = {}
    for place, count, runs, of_sub_groups, is_whole in observed.pieces:
        if is_whole and runs < _FEW * whole * of_sub_groups:
            sums = lines.setdefault((place.path, place.line), [0.0, 0.0])
            sums[0] += count * runs
            sums[1] += count * of_sub_groups
    parts: dict[tuple[str, int], list[tuple[float, SourcePlace, float]]] = {}
    for (path, line), (ran, full) in lines.items():
        place = SourcePlace(path, line)
        parting = _parting(observed.branches, place)
        parts.setdefault((path, parting), []).append(((whole * full - ran) / slots, place, ran / full))
    for (_, parting), lost in parts.items():
        share = sum(each for each, _, _ in lost)
        if share >= _IDLE_SHARE:
            _, place, lanes = max(lost, key=lambda each: each[0])
            where = f"; they part at line {parting}" if parting else ""
            counts = f"{lanes:.1f} of {observed.machine.width} lanes are at work{where}"
            action = "give the work-items of a sub-group the same way: branch on the group's number, or sort the work"
            yield Cause("idle lanes", place, counts, action, share, "lanes", share * slots / observed.machine.width)


def _parting(branches: Sequence[ObservedBranch], place: SourcePlace) -> int:
    """Return the line at which the lanes part, the last one that is not behind the place; 0 if there is none."""
    parted = [each for each in branches if each.parted and each.place is not None and each.place.path == place.path]
    lines = [each.place.line for each in parted if each.place is not None and each.place.line <= place.line]
    return max(lines, default=0)


def _of_barriers(observed: Behaviour, texts: Mapping[str, Sequence[str]]) -> Iterator[Cause]:
    """Yield barriers that order accesses to local memory alone, in a kernel that has none. In a race such a barrier may be
    meant for other memory: its flag is wrong then, and it is not needless."""
    if any(access.space == LOCAL for access in observed.accesses) or observed.copied_bytes:
        return
    if any(fault.kind == "race" for fault in observed.faults):
        return
    for place, count in observed.barriers:
        lines = texts.get(place.path, ()) if place is not None else ()
        if place is not None and 0 < place.line <= len(lines) and _is_local_fence(lines, lines[place.line - 1]):
            counts = f"{count:,} times a work-group waits for its accesses to local memory, and has none"
            yield Cause("barrier over nothing", place, counts, "leave the barrier out", None, None, count)


def _is_local_fence(lines: Sequence[str], line: str) -> bool:
    """Tell whether a line of a file orders local memory alone, itself or by a macro of that file."""
    if _LOCAL_FENCE.search(line):
        return True
    macros = {match[1] for each in lines if _LOCAL_FENCE.search(each) and (match := _MACRO.match(each))}
    return not macros.isdisjoint(re.findall(r"\w+", line))


def _mean(number: int, access: ObservedAccess) -> str:
    return f"{number / access.requests:.1f}".removesuffix(".0")
