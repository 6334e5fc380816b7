"""Natural loops and their nesting, along the ways that lanes take.

They are gathered from the innermost outwards, as P. Havlak describes it ("Nesting of Reducible and Irreducible Loops",
ACM TOPLAS 19(4), 1997): a loop that is complete counts as its header for the loops around it. A loop that control also
enters elsewhere than at its header is irreducible.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from kernlens.analysis.flow.blocks import StraightCode, straight_code
from kernlens.errors import TooManyError
from kernlens.model.effects import Route
from kernlens.model.instruction import Instructions
from kernlens.model.loop_nest import Loop, Loops

#: Natural loops take a step per block and per edge into it, of which there are three at most. An edge into the midst of a
#: loop is followed again in each loop around it.
_STEPS_PER_BLOCK = 16


def loops_of(instructions: Instructions) -> Loops | None:
    """Return the loops of a kernel's instructions; None where their decoder does not tell where control goes, and of code
    whose loops are too entangled to follow."""
    count = len(instructions)
    if not _leads_back(instructions):  # So it is in most kernels, and their routes need not be read.
        return Loops([], array("i", [-1]) * count, [range(count)] if count else [])
    routes = instructions.routes
    try:
        return None if routes is None else loops_of_routes(routes, count)
    except TooManyError:
        return None


def loops_of_routes(routes: Mapping[int, Route], count: int) -> Loops:
    """Return the loops of ``count`` instructions with these routes. Raises TooManyError for code that no compiler writes."""
    straight = straight_code(routes, count)
    number_at = {part.start: number for number, part in enumerate(straight.code)}
    called = {
        number_at[target]
        for route in routes.values()
        if route.is_call
        for target in route.targets
        if target in number_at
    }
    return _Forest(straight, called).loops()


def _leads_back(instructions: Instructions) -> bool:
    """Return whether a branch goes backwards: without any there is no loop."""
    offsets = instructions.offsets
    return any(target <= offsets[index] for index, targets in instructions.branches.items() for target in targets)


class _Forest:
    """The loops of a control-flow graph, by the depth-first order of its blocks.

    ``_order`` holds the blocks in that order; all other numbers are positions in it. The blocks that come from position
    p on are p to ``_last[p]``.
    """

    def __init__(self, straight: StraightCode, called: set[int]) -> None:
        self._straight = straight
        count = len(straight.code)
        self._order: list[int] = []
        self._position = [-1] * count
        self._last = [0] * count
        for entry in (0, *sorted(called)) if count else ():
            if self._position[entry] < 0:
                self._walk(entry)
        #: Where lanes enter. Those behind ``_apart`` are of code that no edge leads to: a function that only its address
        #: calls, or dead code, which is not followed into other code.
        self._entries = {self._position[block] for block in called}
        self._apart = len(self._order)
        for entry in range(count):
            if self._position[entry] < 0:
                self._walk(entry)
        self._parents: list[int | None] = [None] * count
        #: Position of a header -> the positions that lead back to it, and whether it is the header of an irreducible loop.
        self._backs: dict[int, list[int]] = {}
        self._irreducible: set[int] = set()
        self._gather()

    def _walk(self, entry: int) -> None:
        steps, position, order = self._straight.steps, self._position, self._order
        position[entry] = len(order)
        order.append(entry)
        pending = [(entry, iter(steps[entry]))]
        while pending:
            block, following = pending[-1]
            for successor in following:
                if position[successor] < 0:
                    position[successor] = len(order)
                    order.append(successor)
                    pending.append((successor, iter(steps[successor])))
                    break
            else:
                self._last[position[block]] = len(order) - 1
                pending.pop()

    def _gather(self) -> None:
        count = len(self._order)
        into: list[list[int]] = [[] for _ in range(count)]
        for block, following in enumerate(self._straight.steps):
            source = self._position[block]
            for target in (self._position[successor] for successor in following):
                if source < self._apart or target >= self._apart:
                    into[target].append(source)
        outside: list[set[int]] = []
        for header, sources in enumerate(into):
            backs = [source for source in sources if header <= source <= self._last[header]]
            outside.append({source for source in sources if not header <= source <= self._last[header]})
            if backs:
                self._backs[header] = backs
        whole = list(range(count))
        left = _STEPS_PER_BLOCK * (count + 1)

        def outermost(position: int) -> int:
            """Return the header of the outermost loop so far that holds the block, itself if none does."""
            while whole[position] != position:
                whole[position] = whole[whole[position]]
                position = whole[position]
            return position

        for header in sorted(self._backs, reverse=True):
            held = {outermost(source) for source in self._backs[header]} - {header}
            pending = list(held)
            is_irreducible = False
            while pending:
                inner = pending.pop()
                if inner in self._entries:
                    is_irreducible = True
                    self._entries.add(header)  # The loops around it have that entry too.
                left -= len(outside[inner]) + 1
                if left < 0:
                    raise TooManyError(
                        "the code's control flow is too complex for loop analysis", format="machine-code"
                    )
                for source in outside[inner]:
                    known = outermost(source)
                    if not header <= known <= self._last[header]:
                        is_irreducible = True
                        outside[header].add(known)
                    elif known != header and known not in held:
                        held.add(known)
                        pending.append(known)
            for inner in held:
                whole[inner] = header
                self._parents[inner] = header
            if is_irreducible:
                self._irreducible.add(header)

    def loops(self) -> Loops:
        """Return the loops; a header comes before the blocks of its loop, so each stands behind those around it."""
        code, order = self._straight.code, self._order
        headers = self._in_nesting_order()
        number_of = {header: number for number, header in enumerate(headers)}
        parents = [number_of[around] if (around := self._parents[header]) is not None else None for header in headers]
        depths: list[int] = []
        for around in parents:
            depths.append(1 if around is None else depths[around] + 1)
        lasts = list(range(len(headers)))
        for number in reversed(range(len(headers))):
            if (around := parents[number]) is not None:
                lasts[around] = max(lasts[around], lasts[number])
        loops = [
            Loop(
                header=code[order[header]],
                back_rows=tuple(sorted(code[order[back]][-1] for back in self._backs[header])),
                parent=parents[number],
                depth=depths[number],
                last=lasts[number],
                is_irreducible=header in self._irreducible,
            )
            for number, header in enumerate(headers)
        ]
        innermost = array("i", [-1]) * (code[-1].stop if code else 0)
        for position, block in enumerate(order):
            header = position if position in number_of else self._parents[position]
            if header is not None:
                part = code[block]
                innermost[part.start : part.stop] = array("i", [number_of[header]]) * len(part)
        return Loops(loops, innermost, code)

    def _in_nesting_order(self) -> list[int]:
        """Return the headers, each before those of the loops inside its own, neighbours in the order of their code."""
        inside: dict[int | None, list[int]] = {}
        for header in sorted(self._backs, key=lambda header: -self._order[header]):
            inside.setdefault(self._parents[header], []).append(header)
        headers: list[int] = []
        pending = inside.get(None, [])
        while pending:
            header = pending.pop()
            headers.append(header)
            pending += inside.get(header, ())
        return headers
