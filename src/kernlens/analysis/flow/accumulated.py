"""The accumulators that hold a variable which the compiler states to be in a general register.

Intel's compiler writes a value of few uses to an accumulator instead of the register that it has allotted, and states that
register still. The proof is in the code: nothing writes the register, an instruction before the range writes an
accumulator, in as many lanes and of the same size, and the last instruction of the range reads it from there, and nothing
behind it. In between instructions may add to it there. Where the register has an old value of something else, the range
must begin right behind the write.
"""

from __future__ import annotations

from typing import NamedTuple

from kernlens.analysis.flow.liveness import Liveness, liveness_of
from kernlens.model.effects import ACCUMULATORS, GENERAL, mask
from kernlens.model.instruction import Instructions
from kernlens.model.intel_instructions import IntelInstruction, IntelInstructions, packed_of
from kernlens.model.operand import type_bits, type_number
from kernlens.model.variable import REGISTER, Location

_FILE = "acc"
_PLACES = (1 << GENERAL) - (1 << ACCUMULATORS)


class Accumulated(NamedTuple):
    """The value of a variable in accumulators: their ``names``, and the instructions that wrote them."""

    names: tuple[str, ...]
    writers: tuple[int, ...]


def accumulated(instructions: Instructions, location: Location, rows: range, *, is_stale: bool) -> Accumulated | None:
    """Return where a location's value is at ``rows`` instead of in its register, None if nothing proves that it is
    anywhere. ``is_stale``: the register holds what was another value."""
    packed, liveness = packed_of(instructions), liveness_of(instructions)
    if (
        packed is None
        or liveness is None
        or not all(len(lane) == 1 and lane[0].kind == REGISTER for lane in location.lanes)
    ):
        return None
    block = _Block(packed, liveness, rows.start)
    lanes = len(location.lanes)
    by_lane: dict[int, list[IntelInstruction]] = {}
    for writer in block.writers(location):
        # Of values in two halves two instructions read one each, and the range may end between them.
        ends = range(max(rows.start, rows.stop - 2), rows.stop + 1) if writer.execution_size < lanes else rows[-1:]
        if block.is_read_last(writer, ends):
            by_lane.setdefault(writer.channel_offset, []).append(writer)
    # Of several values nothing tells which one is the variable's.
    if not by_lane or any(len(writers) != 1 for writers in by_lane.values()):
        return None
    chosen = [by_lane[lane][0] for lane in sorted(by_lane)]
    written = [each.channel_offset + lane for each in chosen for lane in range(each.execution_size)]
    if written != list(range(lanes)) or (is_stale and chosen[0].index != rows.start - len(chosen)):
        return None
    names = (f"{_FILE}{each.destination.number}" for each in chosen if each.destination)
    return Accumulated(tuple(dict.fromkeys(names)), tuple(each.index for each in chosen))


class _Block:
    """The block of instruction ``start``, and what its instructions do to accumulators."""

    def __init__(self, packed: IntelInstructions, liveness: Liveness, start: int) -> None:
        self._packed, self._start = packed, start
        number = liveness.blocks.block_of(start)
        self._code = liveness.blocks.code[number]
        effects = liveness.effects.effects[self._code.start : self._code.stop]
        self._reads = [mask(effect.reads) & _PLACES for effect in effects]
        self._writes = [mask(effect.writes) & _PLACES for effect in effects]
        self._behind = 0
        for successor in liveness.blocks.successors[number]:
            self._behind |= liveness.entering(successor)

    def writers(self, location: Location) -> list[IntelInstruction]:
        """Return the last instructions before ``start`` that write to each accumulator, if they write, in each lane, what the
        location has bits for."""
        last: dict[int, int] = {}
        for row in range(self._code.start, self._start):
            if written := self._writes[row - self._code.start]:
                last = {places: before for places, before in last.items() if not places & written} | {written: row}
        return [writer for writer in map(self._packed.__getitem__, last.values()) if _is_whole(writer, location)]

    def is_read_last(self, writer: IntelInstruction, ends: range) -> bool:
        """Return whether an instruction of ``ends`` is the last that reads what ``writer`` wrote, as an operand, or what was
        made of that in the same accumulator."""
        first = self._code.start
        mine, is_read = self._writes[writer.index - first], False
        for row in range(writer.index + 1, self._code.stop):
            reads = bool(self._reads[row - first] & mine)
            if reads and (is_read or not any(source.file == _FILE for source in self._packed[row].sources)):
                return False
            is_read |= reads and row in ends
            if self._writes[row - first] & mine and (is_read or not reads):
                return is_read
        return is_read and not self._behind & mine


def _is_whole(writer: IntelInstruction, location: Location) -> bool:
    into = writer.destination
    if into is None or into.file != _FILE or into.kind != "register" or writer.predicate:
        return False
    return type_bits(type_number(into.type)) == location.lanes[0][0].bits
