"""The cuts of variables' ranges by another way: byte by byte, along all ways through the single instructions, from what
libiga64's texts say of registers and branches. Slow, and knows nothing of blocks, of liveness or of kernlens's decoded effects.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from kernlens.analysis.flow.variable_cuts import Held, range_cuts, register_places
from kernlens.model.effects import GENERAL
from kernlens.model.kernel import Kernel
from kernlens.model.variable import Location
from tests.corpus.oracles.register_texts import SaidOfRegisters
from tests.corpus.slow_liveness import all_ways, entries_of, live_bytes, stated_of

#: Stands for what registers hold when lanes enter.
_BEFORE = -1
_SELECTS = ("sel", "csel")


class SlowCuts:
    """The same as ``RangeCuts``, of one kernel."""

    def __init__(self, kernel: Kernel, register_bytes: int) -> None:
        self._offsets = list(kernel.instructions.offsets)
        self._size = register_bytes
        self._stated: list[SaidOfRegisters] = stated_of(kernel, register_bytes)
        self._following = all_ways(self._offsets, self._stated)
        self._entries = entries_of(self._following)
        self._live = live_bytes(self._offsets, self._stated)
        self._came: dict[tuple[int, frozenset[int]], set[int]] = {}
        self._leader: dict[tuple[int, int], tuple[int, int]] = {}
        self._read: set[tuple[int, int]] = set()
        self._join()

    def _writers(self, byte: int) -> list[int]:
        return [index for index, each in enumerate(self._stated) if each.writes >> byte & 1]

    def _ends(self, writers: Sequence[int]) -> frozenset[int]:
        stated = self._stated
        return frozenset(
            index for index in writers if not stated[index].is_predicated or stated[index].mnemonic in _SELECTS
        )

    def _reached(self, writer: int, ends: frozenset[int]) -> set[int]:
        """Return the instructions before which a place may hold what ``writer`` wrote, if these end it."""
        key = writer, ends
        if key not in self._came:
            waiting = list(self._entries if writer == _BEFORE else self._following[writer])
            seen: set[int] = set()
            while waiting:
                index = waiting.pop()
                if index not in seen:
                    seen.add(index)
                    if index not in ends:
                        waiting += self._following[index]
            self._came[key] = seen
        return self._came[key]

    def _join(self) -> None:
        """Join writers that one instruction reads a byte of, whichever wrote it."""
        alike = defaultdict[tuple[tuple[int, ...], tuple[int, ...], int], int](int)
        readers_of, writers_of = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
        for index, each in enumerate(self._stated):
            for of, places in ((readers_of, each.reads), (writers_of, each.writes)):
                for byte in _bytes(places >> GENERAL << GENERAL):
                    of[byte].append(index)
        for byte, readers in readers_of.items():
            alike[tuple(readers), tuple(writers_of[byte]), (byte - GENERAL) // self._size] += 1
        for readers_, writers, register in alike:
            ends = self._ends(writers)
            for reader in readers_:
                came = [writer for writer in (_BEFORE, *writers) if reader in self._reached(writer, ends)]
                for writer in came:
                    self._read.add((writer, register))
                    first, second = self._lead((came[0], register)), self._lead((writer, register))
                    self._leader[max(first, second)] = min(first, second)

    def _lead(self, key: tuple[int, int]) -> tuple[int, int]:
        while self._leader.get(key, key) != key:
            key = self._leader[key]
        return key

    def of(self, location: Location, *, is_given: bool, declaring: Collection[int]) -> dict[int, Held]:
        """Return what the place holds before each instruction of the range at which that is not all the variable's."""
        rows = range(bisect_left(self._offsets, location.low), bisect_left(self._offsets, location.high))
        lost, updated = defaultdict[int, int](int), defaultdict[int, int](int)
        if not rows:
            return {}
        places = register_places(location, self._size)
        own = {byte: self._own(byte, rows, is_given) for byte in _bytes(places)}
        values = {
            self._lead((writer, (byte - GENERAL) // self._size))
            for byte, writers in own.items()
            for writer in writers
            if (writer, (byte - GENERAL) // self._size) in self._read
        }
        for byte, writers in own.items():
            register, everybody = (byte - GENERAL) // self._size, self._writers(byte)
            ends = self._ends(everybody)
            for writer in everybody:
                if writer in writers:
                    continue
                key = writer, register
                is_same = key in self._read and self._lead(key) in values
                is_update = is_same or writer in declaring or self._stated[writer].reads >> byte & 1
                into = updated if is_update else lost
                for row in self._reached(writer, ends):
                    if row in rows and not (row == rows.start and row in writers):
                        into[row] |= 1 << byte
        return {row: Held(lost[row], updated[row]) for row in {*lost, *updated}}

    def _own(self, byte: int, rows: range, is_given: bool) -> set[int]:
        writers = self._writers(byte)
        if rows.start in writers:
            return {rows.start}
        ends = self._ends(writers)
        own = {writer for writer in (_BEFORE, *writers) if rows.start in self._reached(writer, ends)}
        is_needed = bool(self._live[rows.start] >> byte & 1)
        first = next((row for row in writers if row in rows), None)
        if first is None or (is_given and is_needed):
            return own
        return {*own, first} if not is_needed or first in self._straight(rows.start) else own

    def _straight(self, start: int) -> set[int]:
        """Return the instructions from one on that all lanes run which run that one, before they may part or others join."""
        came = defaultdict[int, int](int)
        for targets in self._following:
            for target in targets:
                came[target] += 1
        straight, index = {start}, start
        while self._following[index] == [index + 1] and came[index + 1] == 1 and not self._stated[index].labels:
            index += 1
            straight.add(index)
        return straight


def _bytes(places: int) -> Iterator[int]:
    while places:
        lowest = places & -places
        yield lowest.bit_length() - 1
        places ^= lowest


def different_cuts(
    kernel: Kernel, declaring: dict[int, list[int]], longest: int = 200
) -> Iterator[tuple[int, str | None]]:
    """Yield for each location in registers of a kernel's variables, of the first ``longest``, at how many instructions it is
    cut, and where kernlens and the reference differ, None if nowhere. ``declaring``: line -> its instructions."""
    reader, effects = range_cuts(kernel.instructions), kernel.instructions.effects
    assert reader is not None
    assert effects is not None
    slow = SlowCuts(kernel, effects.register_bytes)
    pairs = [(variable, location) for variable in kernel.variables for location in variable.locations]
    for variable, location in pairs[:longest]:
        if not register_places(location, effects.register_bytes):
            continue
        is_given, lines = variable.is_argument and not variable.calls, declaring.get(variable.line, [])
        cuts = reader.of(location, is_given, lines)
        theirs = slow.of(location, is_given=is_given, declaring=lines)
        ours = {row: held for row, held in cuts.held.items() if held != Held(0, 0)}
        differing = sorted(row for row in {*ours, *theirs} if ours.get(row) != theirs.get(row))
        where = f"{kernel.name}: {variable.name} {location.low:#x} at {differing[:4]}" if differing else None
        yield len(theirs), where
