"""The rows over which general registers hold a value: live ranges, each with the value that it is a part of.

A value is what the writes of a register have in common that a reader cannot tell apart: two writes are of one value where
some instruction reads a byte that either of them may have written. The bytes of a register may hold several values at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kernlens.analysis.flow.liveness import Liveness, Steps, liveness_of
from kernlens.analysis.flow.register_uses import RegisterUse, bytes_in, registers_of
from kernlens.errors import TooManyError
from kernlens.model.effects import GENERAL, registers_in
from kernlens.model.instruction import Instructions
from kernlens.model.register_links import BEFORE_THE_CODE


class LiveRange(NamedTuple):
    """Neighbouring rows over which ``register`` holds the value with this number: each needs it, now or later, or writes it."""

    register: int
    rows: range
    value: int


class LiveRanges(NamedTuple):
    """A kernel's live ranges by register, then by row; and of each write that is read, by row and register, the number of the
    value (BEFORE_THE_CODE: what was there before). Values are numbered in the order of the ranges."""

    ranges: list[LiveRange]
    values: dict[tuple[int, int], int]


def live_ranges(instructions: Instructions, uses: Sequence[RegisterUse]) -> LiveRanges | None:
    """Return the live ranges of instructions; None if ``liveness_of`` knows nothing, and of code that is too entangled to
    follow.

    ``uses`` are their ``register_uses``. At each row, ranges hold as many registers as ``Liveness.counts`` has there.
    """
    liveness = liveness_of(instructions)
    if liveness is None:
        return None
    values = _Values(uses)
    try:
        ranges = sorted(_Ranges(liveness, values).ranges())
    except TooManyError:
        return None
    numbers: dict[tuple[int, int], int] = {}
    joined: list[LiveRange] = []
    #: Value -> its last range. A row may read a value and write it, too.
    last_of: dict[int, int] = {}
    for register, first, stop, writer in ranges:
        value = numbers.setdefault((writer, register), len(numbers))
        last = last_of.get(value)
        if last is not None and joined[last].rows.stop >= first:
            rows = joined[last].rows
            joined[last] = LiveRange(register, range(rows.start, max(rows.stop, stop)), value)
        else:
            last_of[value] = len(joined)
            joined.append(LiveRange(register, range(first, stop), value))
    written = {(use.writer, use.register) for use in uses}
    return LiveRanges(joined, {key: numbers[values.first_writer(*key), key[1]] for key in written})


class _Values:
    """The values of a kernel, each by one of its writers: writers of the same value have the same."""

    def __init__(self, uses: Iterable[RegisterUse]) -> None:
        self._same: dict[tuple[int, int], int] = {}
        reader, others = (-1, -1), list[tuple[int, int]]()
        for use in uses:
            if (use.reader, use.register) != reader:
                reader, others = (use.reader, use.register), []
            for writer, read in others:
                if read & use.read:
                    self._join(writer, use.writer, use.register)
            others.append((use.writer, use.read))

    def first_writer(self, writer: int, register: int) -> int:
        """Return the writer that stands for the value that ``writer`` writes to the register."""
        same = self._same
        while (known := same.get((writer, register), writer)) != writer:
            same[writer, register] = same.get((known, register), known)
            writer = known
        return writer

    def _join(self, left: int, right: int, register: int) -> None:
        first, second = self.first_writer(left, register), self.first_writer(right, register)
        if first != second:
            self._same[max(first, second), register] = min(first, second)


#: Bytes of each value that a register holds, by the writer that stands for it.
_Held = dict[int, int]


class _Ranges:
    """The live ranges, block by block, from what registers hold where lanes enter each."""

    def __init__(self, liveness: Liveness, values: _Values) -> None:
        self._liveness, self._values = liveness, values
        self._size = liveness.effects.register_bytes
        #: Register -> what it holds at the start of each block.
        self._entering: list[dict[int, _Held]] = [{} for _ in liveness.blocks.code]
        self._follow()

    def ranges(self) -> list[tuple[int, int, int, int]]:
        """Return the register, the first row, the row behind the last, and the value's writer of each range in one block."""
        ranges: list[tuple[int, int, int, int]] = []
        for block in range(len(self._liveness.blocks.code)):
            self._walk(block, ranges)
        return ranges

    def _walk(self, block: int, ranges: list[tuple[int, int, int, int]]) -> None:
        effects, size = self._liveness.effects.effects, self._size
        code = self._liveness.blocks.code[block]
        #: Register -> writer of a value -> its bytes that are still needed, and the first row of its range.
        held = {
            register: {writer: (bits, code.start) for writer, bits in values.items()}
            for register, values in self._entering[block].items()
        }

        def leave(register: int, bits: int, end: int) -> None:
            """End the ranges that held nothing but these bytes of the register."""
            values = held.get(register, {})
            for writer, (needed, first) in list(values.items()):
                if rest := needed & ~bits:
                    values[writer] = (rest, first)
                else:
                    del values[writer]
                    ranges.append((register, first, end, writer))

        before = 0
        for row, live in zip(code, self._liveness.within(block), strict=True):
            for register in registers_in(ended := before & ~live, size):
                leave(register, ended >> GENERAL + register * size & (1 << size) - 1, row)
            before = live
            effect = effects[row]
            for register, written in registers_of(effect.written, size).items():
                before |= written << GENERAL + register * size
                if not effect.is_partial:
                    leave(register, written, row + 1)
                values = held.setdefault(register, {})
                writer = self._values.first_writer(row, register)
                needed, first = values.get(writer, (0, row))
                values[writer] = (needed | written, first)
        for register, values in held.items():
            ranges += [(register, first, code.stop, writer) for writer, (_, first) in values.items()]

    def _follow(self) -> None:
        """Fill what registers hold where blocks start: what was written before, along the ways of lanes."""
        liveness, entering, size = self._liveness, self._entering, self._size
        blocks = liveness.blocks
        needs = [bytes_in(liveness.entering(block), size) for block in range(len(blocks.code))]
        covered: list[dict[int, int]] = [{} for _ in needs]
        for block, need in enumerate(needs):
            if blocks.is_entry(block):
                entering[block] = {
                    number: {self._values.first_writer(BEFORE_THE_CODE, number): need[number]} for number in need
                }
                covered[block] = dict(need)
        written = [self._written(code) for code in blocks.code]
        waiting, is_waiting = list(range(len(needs) - 1, -1, -1)), [True] * len(needs)
        steps = Steps(len(needs))
        while waiting:
            steps.take()
            block = waiting.pop()
            is_waiting[block] = False
            ends, writes = written[block]
            for successor in blocks.successors[block]:
                has_more = False
                for register, needed in needs[successor].items():
                    open_bytes = needed & ~covered[successor].get(register, 0)
                    if not open_bytes:
                        continue
                    staying = open_bytes & ~ends.get(register, 0)
                    sources = [(entering[block].get(register, {}), staying), (writes.get(register, {}), open_bytes)]
                    for values, bits in sources:
                        for writer, value_bytes in values.items():
                            if more := value_bytes & bits:
                                into = entering[successor].setdefault(register, {})
                                into[writer] = into.get(writer, 0) | more
                                covered[successor][register] = covered[successor].get(register, 0) | more
                                has_more = True
                if has_more and not is_waiting[successor]:
                    is_waiting[successor] = True
                    waiting.append(successor)

    def _written(self, code: range) -> tuple[dict[int, int], dict[int, _Held]]:
        """Return of a block which bytes of registers end there, and what it leaves in them."""
        effects = self._liveness.effects.effects
        ends: dict[int, int] = {}
        writes: dict[int, _Held] = {}
        for row in code:
            effect = effects[row]
            for register, written in registers_of(effect.written, self._size).items():
                values = writes.setdefault(register, {})
                if not effect.is_partial:
                    ends[register] = ends.get(register, 0) | written
                    values = {writer: rest for writer, bits in values.items() if (rest := bits & ~written)}
                writer = self._values.first_writer(row, register)
                writes[register] = values | {writer: values.get(writer, 0) | written}
        return ends, writes
