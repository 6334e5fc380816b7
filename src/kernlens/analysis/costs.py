"""The costs of a kernel and of each of its source lines, as its machine code tells: the instruction mix, and the bytes
of its messages. Each instruction counts once, however often it runs. The figures are those of ``model.figures.COSTS``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass
from kernlens.model.figures import COSTS, CYCLES, LineColumn
from kernlens.model.instruction_kind import ATOMIC, LOAD, STORE, InstructionKind
from kernlens.model.source_map import IN_PROLOGUE, INHERITED, NO_LINE, SourceMap

if TYPE_CHECKING:
    from kernlens.model.waits import Waits

#: A value for each figure, by its key, and the number of ``instructions``; where waits are asked for, of ``CYCLES`` too.
Costs = dict[str, int]
#: The cycles of each row, by the keys of ``figures.CYCLES``; empty where nobody asks for waits.
Cycles = Mapping[str, Sequence[int]]
_NO_CYCLES: Cycles = {}


@dataclass(frozen=True, slots=True)
class LineCosts:
    """The costs of the source line ``line`` of the file ``path``. ``inherited`` is the number of instructions that
    stand under it besides, as the compiler gave them no place: they are not in its costs."""

    path: str
    line: int
    costs: Costs
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


def costs_of(kinds: Iterable[InstructionKind]) -> Costs:
    """Return the costs of instructions of these kinds together."""
    kinds = list(kinds)
    distinct = {id(kind): kind for kind in kinds}
    total = dict.fromkeys(("instructions", *(figure.key for figure in COSTS)), 0)
    for number, count in Counter(map(id, kinds)).items():
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


def costs_of_rows(kinds: Sequence[InstructionKind], rows: Sequence[int], cycles: Cycles = _NO_CYCLES) -> Costs:
    """Return the costs of these rows together, of a kernel whose instructions are of these kinds, with their cycles."""
    return costs_of(kinds[row] for row in rows) | {key: sum(each[row] for row in rows) for key, each in cycles.items()}


def costliest_lines(
    kinds: Sequence[InstructionKind],
    source_map: SourceMap,
    column: LineColumn,
    count: int,
    cycles: Cycles = _NO_CYCLES,
) -> CostliestLines:
    """Return the costs of a kernel, whose instructions are of these kinds, by line: of the ``count`` lines with most of
    ``column``, without those that have none of it. A kernel may have hundreds of thousands of lines."""
    if column.keys[0] in cycles:
        before = list(accumulate(cycles[column.keys[0]], initial=0))
    else:
        weights = {id(kind): column.sum(costs_of([kind])) for kind in {id(kind): kind for kind in kinds}.values()}
        before = list(accumulate((weights[id(kind)] for kind in kinds), initial=0))
    ranges_of = source_map.lines
    weighed = (
        (-weight, path, line)
        for (path, line), ranges in ranges_of.items()
        if (weight := sum(before[run.stop] - before[run.start] for run in ranges))
    )
    lines = [
        LineCosts(
            path,
            line,
            costs_of_rows(kinds, [*chain.from_iterable(ranges_of[path, line])], cycles),
            sum(map(len, source_map.inherited.get((path, line), ()))),
        )
        for _, path, line in nsmallest(count, weighed)
    ]
    rest: dict[str, list[int]] = {IN_PROLOGUE: [], INHERITED: [], NO_LINE: []}
    for row, (place, origin) in enumerate(zip(source_map.places, source_map.origins, strict=True)):
        if origin in (IN_PROLOGUE, INHERITED):
            rest[origin].append(row)
        elif place is None:
            rest[NO_LINE].append(row)
    apart = [costs_of_rows(kinds, part, cycles) for part in rest.values()]
    others = costs_of(kinds) | {key: sum(each) for key, each in cycles.items()}
    for part in (*(line.costs for line in lines), *apart):
        for key, cost in part.items():
            others[key] -= cost
    return CostliestLines(lines, len(ranges_of) - len(lines), others, *apart)


def _costs_of_one(kind: InstructionKind) -> Iterable[tuple[str, int]]:
    yield "instructions", 1
    access = kind.access
    if access is None:
        yield f"{kind.name}_instructions", 1
        return
    yield "sends", 1
    if access.size is None:
        yield "dynamic_messages", 1
    if not access.action:
        yield f"{kind.name}_instructions", 1
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
