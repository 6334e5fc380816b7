"""The shortest and the longest way through a kernel's blocks, in the cycles that its compiler estimates.

A way passes each loop once at most: from where it would begin a loop again, it goes on behind the loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from kernlens.analysis.flow.blocks import straight_code
from kernlens.model.instruction import Instructions
from kernlens.model.instruction_kind import FLOAT
from kernlens.model.intel_instructions import packed_of
from kernlens.model.kernel import Kernel
from kernlens.model.path_cycles import PathCycles, Paths
from kernlens.model.waits import Waits

Cycles = Mapping[str, int]


def paths_of(kernel: Kernel) -> Paths | str:
    """Return the cycles of a kernel's ways by pipe, or the reason why they are not known. Raises UnsupportedError if no
    installed libiga64 knows the device."""
    waits, loops, routes = kernel.waits, kernel.loops, kernel.instructions.routes
    if waits is None:
        return kernel.waits_reason or "the cycles are not known"
    if loops is None or routes is None or not len(kernel.instructions):
        return "the decoder does not tell where control goes"
    if any(route.is_call or route.returns for route in routes.values()):
        return "the kernel calls functions"
    straight = straight_code(routes, len(kernel.instructions))
    number_at = {part.start: number for number, part in enumerate(straight.code)}
    headers = {number_at[loop.header.start]: number for number, loop in enumerate(loops.loops)}

    def is_inside(block: int, header: int) -> bool:
        return loops.holds(headers[header], straight.code[block].start)

    rows = list(row_cycles(kernel.instructions, waits))
    costs = [_sum(rows[row] for row in part) for part in straight.code]
    try:
        shortest, longest = extremes(straight.steps, [sum(cost.values()) for cost in costs], headers, is_inside)
    except CycleError:
        return "its loops are too entangled"
    ways: tuple[Iterable[int], ...] = (range(len(costs)), shortest, longest)
    whole, cheapest, dearest = (PathCycles(_sum(costs[block] for block in blocks)) for blocks in ways)
    return Paths(whole, cheapest, dearest, waits.origin)


def row_cycles(instructions: Instructions, waits: Waits) -> Iterator[Cycles]:
    """Yield for each instruction the cycles that it adds, by pipe: those of its issue, and of its wait in the pipe of its
    producer."""
    pipes = [_pipe(instructions, row) for row in range(len(instructions))]
    for row, pipe in enumerate(pipes):
        cycles = {pipe: waits.issue[row]}
        if wait := waits.waits.get(row):
            producer = pipes[wait.producer]
            cycles[producer] = cycles.get(producer, 0) + wait.cycles
        yield cycles


def extremes(
    steps: Sequence[Iterable[int]], costs: Sequence[int], headers: Iterable[int], is_inside: Callable[[int, int], bool]
) -> tuple[list[int], list[int]]:
    """Return the blocks of the cheapest and of the dearest way from block 0 to a block without a step.

    ``steps`` are the blocks that follow each, ``headers`` those at which loops begin, and ``is_inside(block, header)`` tells
    whether a loop holds a block. Raises CycleError if another cycle is left than these loops."""
    known = frozenset(headers)

    def forward(block: int, header_seen: frozenset[int] = frozenset()) -> set[int]:
        """Return the blocks that follow, those behind a loop in place of its header from within it."""
        following: set[int] = set()
        for step in steps[block]:
            if step not in known or not is_inside(block, step):
                following.add(step)
            elif step not in header_seen:
                behind = forward(step, header_seen | {step})
                following |= {each for each in behind if not is_inside(each, step)}
        return following

    graph = {block: forward(block) for block in range(len(steps))}
    order = list(TopologicalSorter(graph).static_order())  # What follows comes first.
    ways = []
    for choose in (min, max):
        best: dict[int, tuple[int, int | None]] = {}
        for block in order:
            onward = [(best[each][0], each) for each in graph[block] if each in best]
            if onward:
                cost, following = choose(onward)
                best[block] = cost + costs[block], following
            elif not steps[block]:
                best[block] = costs[block], None
        way: list[int] = []
        at: int | None = 0 if 0 in best else None
        while at is not None:
            way.append(at)
            at = best[at][1]
        ways.append(way)
    return ways[0], ways[1]


def _sum(parts: Iterable[Cycles]) -> Cycles:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return total


def _pipe(instructions: Instructions, row: int) -> str:
    opcode = instructions.opcodes[row]
    if opcode.startswith("send"):
        return "send"
    if opcode == "math" or opcode.endswith("dpas") or opcode == "dpasw":
        return "math" if opcode == "math" else "dpas"
    packed = packed_of(instructions)
    pipes = packed.pipes if packed is not None else None
    own = pipes.own[row] if pipes is not None else ""
    if own == "A":  # Xe-LP has one pipe for both.
        return "F" if instructions.kinds[row].name == FLOAT else "I"
    return {"M": "math", "": "other"}.get(own, own)
