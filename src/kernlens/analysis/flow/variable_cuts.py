"""The truth of a variable's stated places: what the code overwrites of them, along the ways that lanes take.

Compilers state hulls: a place from the first to the last instruction at which a variable may be there, with holes between, in
which the code keeps something else there. A range is cut only on proof. An instruction that writes a byte of the place is

* *own*: it wrote what the compiler states to be the variable. That is the instruction at the start of the range if it writes
  the byte, else whatever wrote what the byte holds at that start. Within a block compilers move instructions, also that one
  which writes the variable behind the range's start. So the first that writes the byte in that block is own, too, but of an
  argument of the kernel, which is there from the beginning, if some instruction still reads it. The same holds of the first
  in the range at all, if nobody reads any more what the byte held at the start.
* an *update*: some instruction may read what it wrote or what an own one wrote, and cannot tell the two apart, so that both are
  of one value for the compiler (the ``i`` of a loop). Or it reads the byte that it writes, or is of the line that declares
  the variable. Then the byte may hold a new value of the variable.
* *other*: none of these. What the compiler stated to be there is gone.

What the byte holds at an instruction is what any of the instructions wrote that reach it with nothing written in between. A
predicated write reaches with what was there before. Writes through an address that only the run time knows are not seen, nor
what lanes write that others wait for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from kernlens.analysis.flow.definitions import definitions_of
from kernlens.analysis.flow.live_ranges import live_ranges
from kernlens.analysis.flow.liveness import Liveness, Steps, liveness_of
from kernlens.analysis.flow.register_uses import register_uses
from kernlens.dataclass import dataclass
from kernlens.model.effects import GENERAL, registers_in
from kernlens.model.instruction import Instructions
from kernlens.model.register_links import BEFORE_THE_CODE
from kernlens.model.variable import REGISTER, Location

#: The register file that effects tell byte by byte.
_GENERAL_FILE = "r"
#: Beyond these a place is no register of any device.
_MOST_BITS = 1 << 20


class Held(NamedTuple):
    """The content of a place at one instruction, in bytes of the registers: those that may hold what another value's
    instruction wrote (``lost``), and those that may hold a new value of the variable (``updated``)."""

    lost: int
    updated: int


NOTHING = Held(0, 0)


@dataclass(frozen=True, slots=True)
class Cuts:
    """The cuts of one location. ``rows`` are the instructions of its range, ``places`` its bytes of general registers.
    ``held`` says what these hold before those of ``rows`` at which that is not all the variable's. ``others`` are the
    instructions of the kernel that overwrite it, ``updaters`` those that update it."""

    rows: range
    places: int
    held: Mapping[int, Held]
    others: tuple[int, ...]
    updaters: tuple[int, ...]

    def at(self, row: int) -> Held:
        """Return what the place holds just before instruction ``row``."""
        return self.held.get(row, NOTHING)


def register_places(location: Location, register_bytes: int) -> int:
    """Return the bytes of general registers that a location takes, of all lanes, as places of ``model.effects``."""
    places = 0
    for lane in location.lanes:
        for piece in lane:
            if piece.kind != REGISTER or piece.file != _GENERAL_FILE or piece.bits == 0:
                continue
            bits = piece.bits if piece.bits is not None else 8 * register_bytes
            first = 8 * register_bytes * piece.number + piece.bit
            if first + bits <= _MOST_BITS:
                low, high = first // 8, -(-(first + bits) // 8)
                places |= ((1 << (high - low)) - 1) << GENERAL + low
    return places


class RangeCuts:
    """The cuts of the locations of one kernel's variables."""

    def __init__(self, instructions: Instructions, liveness: Liveness, values: Mapping[tuple[int, int], int]) -> None:
        self._offsets = instructions.offsets
        self._liveness = liveness
        self._values = values
        self._effects = liveness.effects.effects
        self.register_bytes = liveness.effects.register_bytes
        self._writes = [effect.written for effect in self._effects]

    def of(self, location: Location, is_given: bool = False, declaring: Collection[int] = ()) -> Cuts:
        """Return the cuts of a location; none if it is in no general register. ``is_given``: of an argument of the kernel.
        ``declaring`` are the instructions of the line that declares the variable. Raises TooManyError for code that is too
        entangled to follow."""
        rows = range(bisect_left(self._offsets, location.low), bisect_left(self._offsets, location.high))
        places = register_places(location, self.register_bytes)
        writers = [row for row, written in enumerate(self._writes) if written & places] if places and rows else []
        if not any(row in rows for row in writers):
            # What flows into the range from elsewhere was stated there, or is not known.
            writers = [] if not self._is_entered_behind(rows) else writers
        if not writers:
            return Cuts(rows, places, {}, (), ())
        own = self._own_writers(writers, rows, places, is_given)
        updates, others = self._sorted(writers, own, places, declaring)
        if not updates and not others:
            return Cuts(rows, places, {}, (), ())
        held = self._follow(rows, own, updates, others)
        return Cuts(rows, places, held, tuple(sorted(others)), tuple(sorted(updates)))

    def of_two_values(self, rows: range, places: int) -> int:
        """Return the bytes that the block in which a range begins writes again, another value, while what they held at the
        start is still read. One of both values is the variable's: nothing tells which."""
        rest = places & self._liveness.before(rows.start) & ~self._writes[rows.start]
        block = self._liveness.blocks.code[self._liveness.blocks.block_of(rows.start)]
        doubtful = 0
        for row in range(rows.start + 1, min(rows.stop, block.stop)):
            again = self._writes[row] & rest
            rest &= ~again
            again &= ~self._effects[row].read
            for register in registers_in(again, self.register_bytes):
                part = again & ((1 << self.register_bytes) - 1) << GENERAL + register * self.register_bytes
                number = self._values.get((row, register))
                before = definitions_of(self._liveness, rows.start, part)
                if number is None or all(self._values.get((writer, register)) != number for writer in before):
                    doubtful |= part
        return doubtful

    def _is_entered_behind(self, rows: range) -> bool:
        """Return whether lanes may come to the middle of the range from outside of it."""
        blocks = self._liveness.blocks
        for block in range(blocks.block_of(rows.start) + 1, blocks.block_of(rows[-1]) + 1):
            for number in blocks.predecessors[block]:
                code = blocks.code[number]
                if not code or code[-1] not in rows:
                    return True
        return False

    def _sorted(
        self, writers: Sequence[int], own: Mapping[int, int], places: int, declaring: Collection[int]
    ) -> tuple[dict[int, int], dict[int, int]]:
        """Return the instructions that are updates and others, each with the bytes that it writes."""
        size = self.register_bytes
        numbers = {
            (register, self._values[writer, register])
            for writer, written in own.items()
            for register in registers_in(written, size)
            if (writer, register) in self._values
        }
        updates: dict[int, int] = {}
        others: dict[int, int] = {}
        whole = (1 << size) - 1
        for row in writers:
            rest = self._writes[row] & places & ~own.get(row, 0)
            again = rest if row in declaring else rest & self._effects[row].read
            if again:
                updates[row] = again
            for register in registers_in(rest & ~again, size):
                part = rest & ~again & whole << GENERAL + register * size
                is_same = (register, self._values.get((row, register))) in numbers
                kind = updates if is_same else others
                kind[row] = kind.get(row, 0) | part
        return updates, others

    def _own_writers(self, writers: Sequence[int], rows: range, places: int, is_given: bool) -> dict[int, int]:
        """Return the instructions that wrote what the compiler states to be the variable, each with these bytes."""
        own: dict[int, int] = {}

        def add(writer: int, written: int) -> None:
            if written:
                own[writer] = own.get(writer, 0) | written

        first = self._writes[rows.start] & places
        add(rows.start, first)
        rest = places & ~first
        for writer, written in definitions_of(self._liveness, rows.start, rest).items():
            add(writer, written)
        if is_given:
            rest &= ~self._liveness.before(rows.start)
        needed = self._liveness.before(rows.start)
        block = self._liveness.blocks.code[self._liveness.blocks.block_of(rows.start)]
        for row in writers:
            if row in rows:
                # Within a block instructions move, and the range may begin before the one that the variable is of.
                first = self._writes[row] & (rest if row in block else rest & ~needed)
                add(row, first)
                rest &= ~first
        return own

    def _follow(
        self, rows: range, own: Mapping[int, int], updates: Mapping[int, int], others: Mapping[int, int]
    ) -> dict[int, Held]:
        """Return what the place holds before each instruction of the range at which that is not all the variable's."""
        blocks = self._liveness.blocks
        changes: dict[int, list[int]] = {}
        for row in sorted({*own, *updates, *others}):
            if row != BEFORE_THE_CODE:
                changes.setdefault(blocks.block_of(row), []).append(row)
        before = [NOTHING] * len(blocks.code)

        def behind(block: int, held: Held) -> Held:
            for row in changes.get(block, ()):
                held = self._after(row, held, own, updates, others)
            return held

        waiting = list(changes)
        steps = Steps(len(blocks.code))
        while waiting:
            steps.take()
            block = waiting.pop()
            lost, updated = behind(block, before[block])
            for successor in blocks.successors[block]:
                was = before[successor]
                now = Held(was.lost | lost, was.updated | updated)
                if now != was:
                    before[successor] = now
                    waiting.append(successor)
        held_at: dict[int, Held] = {}
        for block in range(blocks.block_of(rows.start), blocks.block_of(rows[-1]) + 1):
            held = before[block]
            changing = set(changes.get(block, ()))
            for row in blocks.code[block]:
                # What the first instruction of the range writes is there behind it.
                seen = (
                    held if row != rows.start else Held(held.lost & ~own.get(row, 0), held.updated & ~own.get(row, 0))
                )
                if row in rows and seen != NOTHING:
                    held_at[row] = seen
                if row in changing:
                    held = self._after(row, held, own, updates, others)
        return held_at

    def _after(
        self, row: int, held: Held, own: Mapping[int, int], updates: Mapping[int, int], others: Mapping[int, int]
    ) -> Held:
        lost, updated = held
        if not self._effects[row].is_partial:
            written = own.get(row, 0) | updates.get(row, 0) | others.get(row, 0)
            lost &= ~written
            updated &= ~written
        return Held(lost | others.get(row, 0), updated | updates.get(row, 0))


@lru_cache(2)
def range_cuts(instructions: Instructions) -> RangeCuts | None:
    """Return the reader of cuts of a kernel's code, kept for those who ask again soon; None where the decoder does not tell
    what instructions do to registers, and of code that is too entangled to follow."""
    liveness = liveness_of(instructions)
    if liveness is None:
        return None
    ranges = live_ranges(instructions, list(register_uses(instructions)))
    return None if ranges is None else RangeCuts(instructions, liveness, ranges.values)
