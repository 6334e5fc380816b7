"""The rounds of a loop of the source that are in one round of a loop of the code, by the bytes of their accesses.

A loop of the code holds the accesses of so many rounds as the compiler unrolled it, and in each of these all rounds of the
loops inside that the code has not, or that it runs there. An interpreter counted both: how often the accesses of a line ran for
each round of a loop, and the rounds of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from kernlens.analysis.observed_code import Line, ObservedCode
from kernlens.dataclass import dataclass
from kernlens.model.behaviour import CONSTANT, GLOBAL, LOCAL, Behaviour, ObservedAccess
from kernlens.model.instruction_kind import PREFETCH
from kernlens.model.kernel import Kernel

#: The most ways to nest loops that are tried for a line.
_MOST_NESTS = 256


@dataclass(frozen=True, slots=True)
class SourceLoop:
    """The loops at one line of the source, ``of_source`` in each launch, and those of the code that have their line, by their
    ``numbers``. ``rounds`` are those of a sub-group that comes in, on average; ``entries`` and ``work`` are how often
    work-items came in and the rounds that they ran, of all launches together. ``is_even``: all of them ran as many rounds."""

    line: Line
    of_source: int
    rounds: int
    entries: Fraction
    work: Fraction
    is_even: bool
    numbers: tuple[int, ...]


class Unrolling:
    """The bytes of a kernel's accesses, of its code and as they were counted. ``counts`` are the rounds of loops of the code as
    far as they are known and always the same, with the part of a last one: loops are asked for after those inside them."""

    def __init__(self, kernel: Kernel, observed: ObservedCode, loops: Sequence[SourceLoop]) -> None:
        assert kernel.loops is not None
        self.counts: dict[int, Fraction] = {}
        self._nest = kernel.loops.loops
        self._loops = sorted(loops, key=lambda loop: loop.entries)
        self._code = _code_bytes(kernel, observed.machine.width)
        self._static, self._counted = _source_bytes(observed)
        self._guarded = _guarded(observed)

    def copies(self, loop: SourceLoop, number: int) -> set[int] | None:
        """Return how many rounds of the source's loop one of the code may hold: one number where its accesses decide, several
        where they leave a choice, 0 where they are not those of the source; None without accesses."""
        common: set[int] | None = None
        for line, size in self._sizes(number).items():
            if self._static.get(line) and self._counted[line]:
                own = self._of_line(loop, line, size) or {0}
                common = own if common is None else common & own or {0}
        return common

    def rest(self, loop: SourceLoop, number: int, often: int) -> Fraction | None:
        """Return how many rounds of the source's loop are in the code right around one of the code's that holds ``often``;
        None where lines differ."""
        parent = self._nest[number].parent
        around = self._code.get(-1 if parent is None else parent, {})
        rests = set()
        for line, size in self._sizes(number).items():
            if self._static.get(line) and self._counted[line]:
                outside = around.get(line, Fraction(0)) / len(loop.numbers)
                once = 1 if self._is_condition(loop, line) else 0
                rests.add(max(Fraction(0), outside / size * often - once))
        return rests.pop() if len(rests) == 1 else None if rests else Fraction(0)

    def _ratio(self, loop: SourceLoop, line: Line, size: Fraction) -> Fraction:
        return size * loop.of_source / self._static[line]

    def _often(self, loop: SourceLoop, line: Line) -> Fraction:
        """Return how often a line's accesses ran for each round."""
        return self._ratio(loop, line, self._counted[line]) / loop.work

    def _is_condition(self, loop: SourceLoop, line: Line) -> bool:
        """Return whether a line's accesses ran once more than the rounds, as the condition of a loop does."""
        return self._often(loop, line) == 1 + loop.entries / loop.work

    def _sizes(self, number: int) -> dict[Line, Fraction]:
        """Return the bytes of a lane that one round accesses, line by line, without lines whose rounds are not known."""
        sizes: dict[Line, Fraction] = {}
        unknown: set[Line] = set()
        rounds: dict[int, Fraction | None] = {number: Fraction(1)}
        for inner in range(number, self._nest[number].last + 1):
            around = self._nest[inner].parent
            if inner != number and around is not None:
                outer, own = rounds[around], self.counts.get(inner)
                rounds[inner] = None if outer is None or own is None else outer * own
            times = rounds[inner]
            for line, size in self._code.get(inner, {}).items():
                if times is None:
                    unknown.add(line)
                else:
                    sizes[line] = sizes.get(line, Fraction(0)) + size * times
        return {line: size for line, size in sizes.items() if line not in unknown}

    def _of_line(self, loop: SourceLoop, line: Line, size: Fraction) -> set[int]:
        """Return the numbers of rounds that a line's accesses allow: with all rounds of loops around them that are inside this
        one. What ran less often than these is behind a branch."""
        copies = self._ratio(loop, line, size)
        often = self._often(loop, line)
        if copies.denominator != 1:
            return set()
        nests = self._nests(loop, copies.numerator)
        exact = {1} if self._is_condition(loop, line) else {each for each in nests if each == often}
        if not exact or (line in self._guarded and len(nests) > 1):
            exact |= {each for each in nests if each > often}
        return {copies.numerator // each for each in exact}

    def _nests(self, loop: SourceLoop, most: int) -> set[int]:
        """Return the divisors of ``most`` that loops which may be inside this one have as their rounds, each or together."""
        nests = {1}
        for each in self._loops:
            if each is loop or not each.is_even or each.rounds < 2:
                continue
            nests |= {
                nest * each.rounds
                for nest in nests
                if most % (nest * each.rounds) == 0 and each.entries <= nest * loop.work
            }
            if len(nests) > _MOST_NESTS:
                break
        return nests


def _code_bytes(kernel: Kernel, width: int) -> dict[int, dict[Line, Fraction]]:
    """Return the bytes of a lane that the code accesses, by the innermost loop and the line. Compilers join the accesses of
    several rounds in a wide one. A message of fewer lanes than a sub-group has is a part of one."""
    loops, source_map = kernel.loops, kernel.source_map
    assert loops is not None
    assert source_map is not None
    sizes: dict[int, dict[Line, Fraction]] = {}
    for row, kind in enumerate(kernel.instructions.kinds):
        place, access = source_map.places[row], kind.access
        if place is None or access is None or not access.action or access.action == PREFETCH or access.is_spill:
            continue
        own, line = sizes.setdefault(loops.innermost[row], {}), (place.path, place.line)
        part = Fraction(access.lanes, width) if 1 < access.lanes < width else Fraction(1)
        own[line] = own.get(line, Fraction(0)) + part * access.element_bytes * access.elements
    return sizes


def _source_bytes(observed: ObservedCode) -> tuple[dict[Line, int], dict[Line, Fraction]]:
    """Return the bytes that each line's accesses have, and those that all work-items of all launches asked for."""
    static: dict[Line, int] = {}
    counted: dict[Line, Fraction] = {}
    before = _before_loops(observed.launches[0])
    for launch in observed.launches:
        for each in launch.accesses:
            if each.place is not None and each.space in (GLOBAL, CONSTANT, LOCAL):
                line = observed.paths.get(each.place.path, each.place.path), each.place.line
                counted[line] = counted.get(line, Fraction(0)) + launch.times * each.lanes * each.width
                if launch is observed.launches[0] and id(each) not in before:
                    static[line] = static.get(line, 0) + each.width
    return static, counted


def _before_loops(launch: Behaviour) -> set[int]:
    """Return the accesses, by their identities, that are in the interpreted program once more before a loop: those of its
    condition, which stands at its end there."""
    entries = {loop.entries for loop in launch.loops}
    alike: dict[tuple[object, ...], list[ObservedAccess]] = {}
    for each in launch.accesses:
        alike.setdefault((each.place, each.calls, each.kind, each.space, each.width), []).append(each)
    pairs = (sorted(each, key=lambda access: access.lanes) for each in alike.values() if len(each) == 2)
    return {id(first) for first, second in pairs if first.lanes in entries and first.lanes < second.lanes}


def _guarded(observed: ObservedCode) -> set[Line]:
    """Return the lines with accesses that ran as often as one way of a branch which is not a loop's: they may have run in some
    rounds only, whatever number of them."""
    lines: set[Line] = set()
    for launch in observed.launches:
        own = [
            (of.place and of.place.line, {of.entries, rounds})
            for of in launch.loops
            for work in (round(of.entries * of.mean),)
            for rounds in (work, work - of.entries)
        ]
        ways = {
            share
            for branch in launch.branches
            if sum(map(bool, branch.shares)) > 1 and (branch.place and branch.place.line, set(branch.shares)) not in own
            for share in branch.shares
        }
        for each in launch.accesses:
            if each.place is not None and each.lanes in ways:
                lines.add((observed.paths.get(each.place.path, each.place.path), each.place.line))
    return lines


def innermost_first(loops: Iterable[SourceLoop], depths: Sequence[int]) -> list[SourceLoop]:
    """Return the loops in an order in which those of the code come after those inside them."""
    return sorted(loops, key=lambda loop: -max((depths[number] for number in loop.numbers), default=0))
