"""The costs of a kernel and of each of its source lines, as its machine code tells: the instruction mix, and the bytes
of its messages. Each instruction counts once, however often it runs. The figures are those of ``model.figures.COSTS``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from itertools import accumulate, chain
from operator import mul
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass
from kernlens.errors import UnknownCostError
from kernlens.model.figures import COSTS, CYCLES, LineColumn
from kernlens.model.instruction_kind import ATOMIC, LOAD, PREFETCH, STORE, Access, InstructionKind
from kernlens.model.source_map import IN_PROLOGUE, INHERITED, NO_LINE, SourceMap

if TYPE_CHECKING:
    from kernlens.model.waits import Waits


class Costs(dict[str, int]):
    """A value for each figure of ``figures.COSTS``, by its key, and the number of ``instructions``; where waits are asked for,
    of ``CYCLES`` too. Of a misspelt key the error names the nearest."""

    def __missing__(self, key: str) -> int:
        """Raise UnknownCostError."""
        raise UnknownCostError(key, tuple(self))


#: The cycles of each row, by the keys of ``figures.CYCLES``; empty where nobody asks for waits.
Cycles = Mapping[str, Sequence[int]]
_NO_CYCLES: Cycles = {}


@dataclass(frozen=True, slots=True)
class LineCosts:
    """The costs of the source line ``line`` of the file ``path``. ``certain`` is the number of its instructions that are
    certainly its own, ``inherited`` the number of those that stand under it besides, as the compiler gave them no place:
    they are not in its costs."""

    path: str
    line: int
    costs: Costs
    certain: int
    inherited: int = 0


@dataclass(frozen=True, slots=True)
class CostliestLines:
    """A kernel's costs in parts: of its costliest lines, the costliest first, of its ``other_line_count`` other lines, of
    the prologue, of the instructions that only stand under a neighbour's line, and of the others that have no line. Together
    they are those of the kernel."""

    lines: list[LineCosts]
    other_line_count: int
    other_lines: Costs
    prologue: Costs
    inherited: Costs
    without_line: Costs


def costs_of(kinds: Iterable[InstructionKind], weights: Sequence[int] | None = None) -> Costs:
    """Return the costs of instructions of these kinds together; each counts as often as ``weights`` say, once without."""
    kinds = list(kinds)
    distinct = {id(kind): kind for kind in kinds}
    counts = Counter(map(id, kinds))
    if weights is not None:
        counts.clear()
        for kind, weight in zip(kinds, weights, strict=True):
            counts[id(kind)] += weight
    total = Costs(dict.fromkeys(("instructions", *(figure.key for figure in COSTS)), 0))
    for number, count in counts.items():
        for key, cost in _costs_of_one(distinct[number]):
            total[key] += count * cost
    return total


def cycles_of(waits: Waits | None) -> Cycles:
    """Return the cycles of a kernel's rows; empty where its waits are not known."""
    if waits is None:
        return {}
    cycles = [0] * len(waits.starts)
    for row, wait in waits.waits.items():
        cycles[row] = wait.cycles
    return dict(zip(CYCLES, (waits.issue, cycles), strict=True))


def costs_of_rows(
    kinds: Sequence[InstructionKind],
    rows: Sequence[int],
    cycles: Cycles = _NO_CYCLES,
    weights: Sequence[int] | None = None,
) -> Costs:
    """Return the costs of these rows together, of a kernel whose instructions are of these kinds, with their cycles. Each
    row counts as often as ``weights`` say, once without."""
    own = None if weights is None else [weights[row] for row in rows]
    costs = costs_of((kinds[row] for row in rows), own)
    for key, column in cycles.items():
        each: Iterable[int] = (column[row] for row in rows)
        costs[key] = sum(each if own is None else map(mul, each, own))
    return costs


def costliest_lines(
    kinds: Sequence[InstructionKind],
    source_map: SourceMap,
    column: LineColumn,
    count: int,
    cycles: Cycles = _NO_CYCLES,
    weights: Sequence[int] | None = None,
) -> CostliestLines:
    """Return the costs of a kernel, whose instructions are of these kinds, by line: of the ``count`` lines with most of
    ``column``, without those that have none of it. Each instruction counts as often as ``weights`` say, once without. A
    kernel may have hundreds of thousands of lines."""
    if column.keys[0] in cycles:
        each: Iterable[int] = cycles[column.keys[0]]
    else:
        of_kind = {id(kind): column.sum(costs_of([kind])) for kind in {id(kind): kind for kind in kinds}.values()}
        each = (of_kind[id(kind)] for kind in kinds)
    before = list(accumulate(each if weights is None else map(mul, each, weights), initial=0))
    weighed = (
        (-weight, path, line)
        for (path, line), ranges in source_map.lines.items()
        if (weight := sum(before[run.stop] - before[run.start] for run in ranges))
    )
    lines = [(path, line) for _, path, line in nsmallest(count, weighed)]
    return costs_by_line(kinds, source_map, lines, cycles, weights)


def costs_by_line(
    kinds: Sequence[InstructionKind],
    source_map: SourceMap,
    chosen: Sequence[tuple[str, int]],
    cycles: Cycles = _NO_CYCLES,
    weights: Sequence[int] | None = None,
) -> CostliestLines:
    """Return the costs of a kernel by line, of the ``chosen`` lines in their order; the other words are those of
    ``costliest_lines``."""
    ranges_of = source_map.lines
    lines = [
        LineCosts(
            *line,
            costs_of_rows(kinds, [*chain.from_iterable(ranges_of[line])], cycles, weights),
            certain_of(source_map, line, weights),
            sum(map(len, source_map.inherited.get(line, ()))),
        )
        for line in chosen
    ]
    rest: dict[str, list[int]] = {IN_PROLOGUE: [], INHERITED: [], NO_LINE: []}
    for row, (place, origin) in enumerate(zip(source_map.places, source_map.origins, strict=True)):
        if origin in (IN_PROLOGUE, INHERITED):
            rest[origin].append(row)
        elif place is None:
            rest[NO_LINE].append(row)
    apart = [costs_of_rows(kinds, part, cycles, weights) for part in rest.values()]
    others = costs_of_rows(kinds, range(len(kinds)), cycles, weights)
    for part in (*(line.costs for line in lines), *apart):
        for key, cost in part.items():
            others[key] -= cost
    return CostliestLines(lines, len(ranges_of) - len(lines), others, *apart)


def certain_of(source_map: SourceMap, line: tuple[str, int], weights: Sequence[int] | None = None) -> int:
    """Return how many instructions of a line are certainly its own; each counts as often as ``weights`` say."""
    if weights is None:
        return source_map.lines[line].certain
    rows = chain.from_iterable(source_map.lines[line])
    return sum(weights[row] for row in rows if source_map.certain[row])


def _costs_of_one(kind: InstructionKind) -> Iterable[tuple[str, int]]:
    yield "instructions", 1
    access = kind.access
    if access is None:
        yield f"{kind.name}_instructions", 1
        return
    yield "sends", 1
    if access.size is None and access.action != PREFETCH:
        yield "dynamic_messages", 1
    yield from _costs_of_access(kind, access)
    if kind.copied_to is not None and kind.copied_to.access is not None:
        yield from _costs_of_access(kind.copied_to, kind.copied_to.access)


def _costs_of_access(kind: InstructionKind, access: Access) -> Iterable[tuple[str, int]]:
    if not access.action:
        yield f"{kind.name}_instructions", 1
        return
    if access.action == PREFETCH:
        yield f"{kind.name}_prefetches", 1
        return
    size = access.size or 0
    yield f"{kind.name}_{access.action}s", 1
    if access.action in (LOAD, ATOMIC):
        yield f"{kind.name}_load_bytes", size
    if access.action in (STORE, ATOMIC):
        yield f"{kind.name}_store_bytes", size
    if access.is_spill:
        yield ("spill_stores" if access.action == STORE else "fill_loads"), 1
        yield ("spill_store_bytes" if access.action == STORE else "spill_load_bytes"), size
