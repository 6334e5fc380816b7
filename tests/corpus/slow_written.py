"""The proof that a variable is where kernlens says that it is held, by another way: byte by byte, along all ways through the
single instructions, from what libiga64's texts say of registers and branches. Knows nothing of blocks, of liveness or of
kernlens's decoded effects (but for the bytes of messages, which no text tells).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from kernlens.analysis.flow.variable_cuts import register_places
from kernlens.model.effects import GENERAL
from kernlens.model.kernel import Kernel
from kernlens.model.variable import HELD, UPDATED, StatedRange, Variable
from tests.corpus.oracles.register_texts import SaidOfRegisters
from tests.corpus.slow_liveness import all_ways, entries_of, live_bytes, stated_of, ways_from

_SELECTS = ("sel", "csel")
#: Kernels of more instructions are not asked who reads a register.
LONGEST_READ = 1_500


class SlowWritten:
    """The instructions that may run before anything has written a byte, of one kernel."""

    def __init__(self, kernel: Kernel, register_bytes: int) -> None:
        self.offsets = list(kernel.instructions.offsets)
        self.size = register_bytes
        self.stated: list[SaidOfRegisters] = stated_of(kernel, register_bytes)
        self._following = all_ways(self.offsets, self.stated)
        self._entries = entries_of(self._following)
        self._writers, self._readers = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
        for index, each in enumerate(self.stated):
            for byte in _bytes(each.writes >> GENERAL):
                self._writers[byte].append(index)
            for byte in _bytes(each.reads >> GENERAL):
                self._readers[byte].append(index)
        self._unwritten: dict[tuple[int, ...], set[int]] = {}
        self._is_delivered: dict[int, bool] = {}
        short = len(self.offsets) <= LONGEST_READ
        self.live = live_bytes(self.offsets, self.stated) if short else None

    def before(self, byte: int) -> set[int]:
        """Return the instructions that some way leads to on which no instruction has written the byte for certain."""
        if self._delivered(byte // self.size):
            return set()
        ends = tuple(
            index
            for index in self._writers[byte]
            if not self.stated[index].is_predicated or self.stated[index].mnemonic in _SELECTS
        )
        if ends not in self._unwritten:
            self._unwritten[ends] = self._ways_past(self._entries, set(ends))
        return self._unwritten[ends]

    def _ways_past(self, starts: list[int], ends: set[int]) -> set[int]:
        seen, waiting = set[int](), list(starts)
        while waiting:
            index = waiting.pop()
            if index in seen:
                continue
            seen.add(index)
            if index not in ends:
                waiting += self._after(index, ends)
        return seen

    def _after(self, index: int, ends: set[int]) -> Iterator[int]:
        """Yield where a way goes on; from a call into the function, and to behind it if a way through it writes nothing."""
        if self.stated[index].mnemonic == "call" and self._following[index] != [index + 1]:
            function = self._following[index][0]
            yield function
            inside, waiting = set[int](), [function]
            while waiting:
                row = waiting.pop()
                if row not in inside:
                    inside.add(row)
                    waiting += [] if row in ends else ways_from(row, self.offsets, self.stated)
            if any(self.stated[row].mnemonic == "ret" for row in inside - ends):
                yield index + 1
        elif self.stated[index].mnemonic != "ret" or self.stated[index].is_predicated:
            yield from ways_from(index, self.offsets, self.stated)

    def _delivered(self, register: int) -> bool:
        """Return whether the code reads a byte of a register before which no way has any write of it; r0 is always there."""
        if register not in self._is_delivered:
            self._is_delivered[register] = register == 0 or any(
                self._is_read_first(byte) for byte in range(register * self.size, (register + 1) * self.size)
            )
        return self._is_delivered[register]

    def _is_read_first(self, byte: int) -> bool:
        readers = self._readers[byte]
        if not readers:
            return False
        came, waiting = set[int](), [row for writer in self._writers[byte] for row in self._following[writer]]
        while waiting:
            index = waiting.pop()
            if index not in came:
                came.add(index)
                waiting += self._following[index]
        return any(index not in came for index in readers)


def _bytes(places: int) -> Iterator[int]:
    while places:
        lowest = places & -places
        yield lowest.bit_length() - 1
        places ^= lowest


def unproven_ranges(kernel: Kernel, slow: SlowWritten) -> Iterator[tuple[Variable, StatedRange, str | None]]:
    """Yield the ranges in registers of a kernel's variables, each with what contradicts that the variable is held there."""
    for variable in kernel.variables:
        for each in kernel.variable_ranges(variable):
            places = register_places(each.location, slow.size) >> GENERAL
            if places:
                is_claimed = each.state in (HELD, UPDATED)
                yield variable, each, _contradiction(variable, each, places, slow) if is_claimed else None


def _contradiction(variable: Variable, each: StatedRange, places: int, slow: SlowWritten) -> str | None:
    rows = range(bisect_left(slow.offsets, each.begin), bisect_left(slow.offsets, each.end))
    start = bisect_left(slow.offsets, each.location.low)
    written_at_start = slow.stated[start].writes >> GENERAL if start < len(slow.stated) else 0
    for byte in _bytes(places):
        unwritten = slow.before(byte)
        first = rows.start + (rows.start == start and bool(written_at_start >> byte & 1))
        if any(row in unwritten for row in range(first, rows.stop)):
            return f"{each.begin:#x}: r{byte // slow.size} byte {byte % slow.size} is not written on every way"
    if slow.live is None or rows.start != start or (variable.is_argument and not variable.calls):
        return None
    is_written_since = any(slow.stated[row].writes >> GENERAL & places for row in range(rows.start, rows.stop))
    if not is_written_since and not slow.live[start] >> GENERAL & places:
        return f"{each.begin:#x}: nothing reads what r{next(_bytes(places)) // slow.size} holds"
    return None
