"""Hazards: instructions that do not wait for others whose registers they read or write, from Xe on, where the hardware does not
see to it.

An instruction of an in-order pipe is done once so many others of its pipe were issued behind it; what runs out of order is done
when its token is waited for. Flags and accumulators are left to the hardware, as compilers leave them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kernlens.analysis.flow.blocks import Blocks, blocks_of
from kernlens.model.code_moves import CodeMoves
from kernlens.model.effects import ACCUMULATORS, ADDRESSES, FLAGS, GENERAL, SCALARS, Effects, registers_in
from kernlens.model.instruction import Instructions
from kernlens.model.intel_instructions import SEND, IntelInstructions, packed_of
from kernlens.model.operand import Swsb

#: So many instructions of its pipe behind it, an instruction is done: Intel's compiler looks no further back
#: (``SWSB_MAX_..._DEPENDENCE_DISTANCE`` of IGC's ``SWSB_G4IR.h``: math, long, all others).
_FARTHEST, _NEAREST = {"M": 18, "L": 15}, 11
_NEVER = 1 << 30
#: Larger code is not looked at.
_MOST_ROWS = 200_000
#: Sentences on hazards; more are counted.
_MOST_TOLD = 12
_READS_WRITES, _WRITES = 2, 1
_TRACKED = ~(((1 << ADDRESSES - FLAGS) - 1 << FLAGS) | ((1 << GENERAL - ACCUMULATORS) - 1 << ACCUMULATORS))


class Hazard(NamedTuple):
    """Row ``consumer`` does not wait for ``producer``: it ``reads`` what that writes, or else writes what that writes or
    reads. ``places`` are the bytes of registers in which they meet."""

    producer: int
    consumer: int
    reads: bool
    places: int


class _State:
    """The rows that may be at work: of pipes their age in instructions of that pipe, of tokens what they may still do."""

    __slots__ = ("ages", "phases")

    def __init__(self, ages: dict[int, int], phases: dict[int, int]) -> None:
        self.ages = ages
        self.phases = phases

    def copy(self) -> _State:
        return _State(dict(self.ages), dict(self.phases))

    def join(self, other: _State) -> bool:
        """Add what may be at work in another state; return whether anything was new."""
        is_new = False
        for row, age in other.ages.items():
            if self.ages.get(row, _NEVER) > age:
                self.ages[row] = age
                is_new = True
        for row, phase in other.phases.items():
            if self.phases.get(row, 0) < phase:
                self.phases[row] = phase
                is_new = True
        return is_new


def hazards_of(instructions: IntelInstructions) -> list[Hazard]:
    """Return the hazards of code, ascending by consumer; none before Xe, and where the decoder does not tell what instructions
    do."""
    effects, pipes = instructions.effects, instructions.pipes
    if effects is None or pipes is None or not len(instructions) or len(instructions) > _MOST_ROWS:
        return []
    return _Finder(instructions, effects).hazards()


class _Finder:
    def __init__(self, instructions: IntelInstructions, effects: Effects) -> None:
        assert instructions.pipes is not None
        self._blocks: Blocks = blocks_of(effects)
        self._reads = [effect.read & _TRACKED for effect in effects.effects]
        self._writes = [effect.written & _TRACKED for effect in effects.effects]
        self._pipes = instructions.pipes
        self._swsb = Swsb.of_records(instructions.records)
        self._opcodes = instructions.opcodes
        self._is_send = [bool(flags & SEND) for flags in instructions.flags]
        self._texts = instructions.texts
        self._units = [
            next((word for word in text.split() if word.startswith("send")), opcode)
            for opcode, text in zip(self._opcodes, self._texts, strict=True)
        ]

    def hazards(self) -> list[Hazard]:
        blocks = self._blocks
        count = len(blocks.successors)
        before = [_State({}, {}) for _ in range(count)]
        waiting = list(range(count - 1, -1, -1))
        steps = 40 * count + 1000
        while waiting and steps:
            steps -= 1
            block = waiting.pop()
            state = before[block].copy()
            for row in self._rows(block):
                self._step(state, row)
            for successor in blocks.successors[block]:
                if before[successor].join(state) and successor not in waiting:
                    waiting.append(successor)
        hazards: dict[tuple[int, int, bool], Hazard] = {}
        for block in range(count):
            state = before[block].copy()
            for row in self._rows(block):
                self._wait(state, row)
                for hazard in self._met(state, row):
                    hazards.setdefault(hazard[:3], hazard)
                self._issue(state, row)
        return sorted(hazards.values(), key=lambda hazard: (hazard.consumer, hazard.producer))

    def _rows(self, block: int) -> range:
        return self._blocks.code[block] if block < len(self._blocks.code) else range(0)

    def _step(self, state: _State, row: int) -> None:
        self._wait(state, row)
        self._issue(state, row)

    def _wait(self, state: _State, row: int) -> None:
        distance = self._pipes.distances.get(row)
        own = self._pipes.own
        if distance is not None:
            ages = state.ages
            for other in [
                each for each, age in ages.items() if own[each] in distance.pipes and age >= distance.back - 1
            ]:
                del ages[other]
        swsb = self._swsb[row]
        if swsb is not None and swsb.token is not None:
            for other in [each for each in state.phases if self._token(each) == swsb.token]:
                self._end_earlier(state, other)
                if swsb.token_use == "src":
                    state.phases[other] = _WRITES
                else:
                    del state.phases[other]
        if self._opcodes[row] == "sync":
            if ".allwr" in self._texts[row]:
                state.phases.clear()
            elif ".allrd" in self._texts[row]:
                state.phases = dict.fromkeys(state.phases, _WRITES)

    def _end_earlier(self, state: _State, row: int) -> None:
        """End what began before ``row`` in the same unit: math is done in order, and messages to one unit are read in order."""
        unit = self._units[row]
        for other in list(state.phases):
            if other == row:
                return
            if self._units[other] == unit:
                if unit.startswith("send"):
                    state.phases[other] = _WRITES
                else:
                    del state.phases[other]

    def _token(self, row: int) -> int | None:
        swsb = self._swsb[row]
        return swsb.token if swsb is not None and swsb.token_use == "set" else None

    def _met(self, state: _State, row: int) -> Iterator[Hazard]:
        reads, writes, own = self._reads[row], self._writes[row], self._pipes.own
        if not reads and not writes:
            return
        for other in state.ages:
            if places := reads & self._writes[other]:
                yield Hazard(other, row, True, places)
            elif own[other] != own[row] and (places := writes & self._writes[other]):
                yield Hazard(other, row, False, places)
        for other, phase in state.phases.items():
            if self._opcodes[row] == self._opcodes[other] == "math":
                phase = _WRITES  # Its unit reads in order.
            if places := reads & self._writes[other]:
                yield Hazard(other, row, True, places)
            elif places := writes & (self._writes[other] | (self._reads[other] if phase == _READS_WRITES else 0)):
                yield Hazard(other, row, False, places)

    def _issue(self, state: _State, row: int) -> None:
        own = self._pipes.own
        pipe = own[row]
        if pipe:
            if row in self._pipes.uncounted:
                return
            ages = state.ages
            for other in [each for each in ages if own[each] == pipe]:
                ages[other] += 1
                if ages[other] >= _FARTHEST.get(pipe, _NEAREST):
                    del ages[other]
            if self._writes[row]:
                ages[row] = 0
        elif self._token(row) is not None or self._is_send[row]:
            state.phases.pop(row, None)  # The rows stand in the order in which they were issued.
            state.phases[row] = _READS_WRITES


def new_hazards(old: Instructions, new: Instructions, moves: CodeMoves) -> list[str]:
    """Return sentences on the hazards of edited code that the old code did not have, each with both instructions."""
    before, after = packed_of(old), packed_of(new)
    if before is None or after is None:
        return []
    known = {(hazard.producer, hazard.consumer) for hazard in hazards_of(before)}
    effects = after.effects
    told, count = [], 0
    for hazard in hazards_of(after):
        if hazard.producer >= len(moves.origins) or hazard.consumer >= len(moves.origins):
            continue
        if (moves.origins[hazard.producer], moves.origins[hazard.consumer]) in known:
            continue
        count += 1
        if count <= _MOST_TOLD and effects is not None:
            told.append(_sentence(after, hazard, effects.register_bytes))
    if count > _MOST_TOLD:
        told.append(f"and {count - _MOST_TOLD:,} more instructions do not wait for what they need")
    return told


def _sentence(instructions: IntelInstructions, hazard: Hazard, register_bytes: int) -> str:
    registers = [f"r{number}" for number in registers_in(hazard.places, register_bytes)]
    if not registers:
        is_scalar = hazard.places >> SCALARS & (1 << ACCUMULATORS - SCALARS) - 1
        registers = ["s0" if is_scalar else "a0"]
    named = ", ".join(registers[:4]) + (" and more" if len(registers) > 4 else "")
    verb = "reads" if hazard.reads else "writes"
    consumer, producer = (_told(instructions, row) for row in (hazard.consumer, hazard.producer))
    return f"{consumer} {verb} {named} without waiting for {producer}"


def _told(instructions: IntelInstructions, row: int) -> str:
    return f"{instructions.offsets[row]:#x} ({' '.join(instructions.texts[row].partition('//')[0].split())})"
