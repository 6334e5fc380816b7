"""The registers that something has written on every way to an instruction, and what the hardware wrote before the code.

A place counts as written if every way that lanes take from where they enter runs an instruction that writes it. A predicated
write proves nothing, nor does one to a register that only the run time knows. A place that the code reads with no write
before it, on any way, was delivered: by the hardware when the thread began (r0, the payload), or by who called the function.
Hardware delivers whole registers. A function that is not known keeps what the code reads again behind its call.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kernlens.analysis.flow.definitions import definitions_of
from kernlens.analysis.flow.liveness import Liveness, Steps, liveness_of, may_be_written
from kernlens.errors import TooManyError
from kernlens.model.effects import FALLS, GENERAL, registers_in
from kernlens.model.instruction import Instructions

_EVERYTHING = -1


class Written:
    """The written places of one kernel's code. Raises TooManyError for code that is too entangled to follow."""

    def __init__(self, liveness: Liveness) -> None:
        self._liveness = liveness
        self._blocks = liveness.blocks
        effects = liveness.effects.effects
        self.writes = [effect.written for effect in effects]
        self._ends = [0 if effect.is_partial else written for effect, written in zip(effects, self.writes, strict=True)]
        self._delivered = self._find_delivered()
        self._before = self._follow()

    def before(self, row: int) -> int:
        """Return the places that are written just before instruction ``row``."""
        block = self._blocks.block_of(row)
        places = self._before[block]
        for index in range(self._blocks.firsts[block], row):
            places |= self._ends[index]
        return places

    def unwritten(self, rows: range, places: int) -> dict[int, int]:
        """Return those of ``places`` that nothing is known to have written, at each of ``rows`` that has some."""
        missing: dict[int, int] = {}
        for block in range(self._blocks.block_of(rows.start), self._blocks.block_of(rows[-1]) + 1):
            rest = places & ~self._before[block]
            for row in self._blocks.code[block]:
                # What the first instruction of the range writes is there behind it.
                seen = rest & ~self._ends[row] if row == rows.start else rest
                if seen and row in rows:
                    missing[row] = seen
                rest &= ~self._ends[row]
        return missing

    def stale(self, start: int, places: int) -> int:
        """Return those of ``places`` that hold at instruction ``start`` what nothing reads there or later: a register that
        another value left. What the writer of a byte wrote beside it may be read: then it is a part of that value."""
        live = self._liveness.before(start)
        dead = places & ~live & ~self.writes[start] & self.before(start)
        if not dead:
            return 0
        needed = definitions_of(self._liveness, start, places & live).keys()
        writers = definitions_of(self._liveness, start, dead)
        bytes_left = 0
        for writer, written in writers.items():
            if writer not in needed:
                bytes_left |= written
        return bytes_left

    def still(self, rows: range, places: int) -> dict[int, int]:
        """Return those of ``places`` that may hold at each of ``rows`` what they hold before the first of them."""
        still: dict[int, int] = {}
        followed = [0] * len(self._blocks.code)
        waiting = [(self._blocks.block_of(rows.start), rows.start, places)]
        while waiting:
            block, first, rest = waiting.pop()
            for row in range(first, self._blocks.code[block].stop):
                if row in rows and rest:
                    still[row] = still.get(row, 0) | rest
                rest &= ~self._ends[row]
            for successor in self._blocks.successors[block] if rest else ():
                if more := rest & ~followed[successor]:
                    followed[successor] |= more
                    waiting.append((successor, self._blocks.code[successor].start, more))
        return still

    def is_delivered(self, row: int, places: int) -> bool:
        """Return whether no instruction may have written any of ``places`` before instruction ``row``."""
        block = self._blocks.block_of(row)
        written = _joined(self.writes[self._blocks.firsts[block] : row]) | self._may_be_before[block]
        return not written & places

    def _find_delivered(self) -> dict[int, int]:
        """Return the places that are delivered where lanes enter: entry block -> places."""
        blocks, effects = self._blocks, self._liveness.effects
        size = effects.register_bytes
        of_blocks = [_joined(self.writes[code.start : code.stop]) for code in blocks.code]
        before = self._may_be_before = may_be_written(blocks, of_blocks, [0] * len(of_blocks))
        read = {0: 1 << GENERAL}  # r0 has the thread's own header, whether it is read or not.
        for block, code in enumerate(blocks.code):
            written = before[block]
            for row in code:
                entry = blocks.entry_of[block]
                read[entry] = read.get(entry, 0) | effects.effects[row].read & ~written
                written |= self.writes[row]
        whole = (1 << size) - 1
        return {
            entry: _joined([whole << GENERAL + number * size for number in registers_in(places, size)])
            for entry, places in read.items()
        }

    def _follow(self) -> list[int]:
        """Return for each block the places that are written before it."""
        blocks = self._blocks
        of_blocks = [_joined(self._ends[code.start : code.stop]) for code in blocks.code]
        before = [_EVERYTHING] * len(blocks.code)
        behind = [_EVERYTHING] * len(blocks.code)
        routes = self._liveness.effects.routes
        ends = [routes.get(code[-1], FALLS) if code else FALLS for code in blocks.code]
        steps = Steps(len(blocks.code))
        has_changed = True
        while has_changed:
            has_changed = False
            for block, code in enumerate(blocks.code):
                steps.take()
                now = self._delivered.get(block, 0) if blocks.is_entry(block) else _EVERYTHING
                for predecessor in blocks.predecessors[block]:
                    is_return = not blocks.code[predecessor] and block > 0 and ends[block - 1].is_call
                    # Behind a call there is what the caller wrote before it, too.
                    now &= behind[predecessor] | (behind[block - 1] if is_return else 0)
                before[block] = now
                now |= of_blocks[block]
                if code and ends[block].is_call and not ends[block].targets:
                    now &= self._needed_behind(block)
                has_changed |= now != behind[block]
                behind[block] = now
        return before

    def _needed_behind(self, block: int) -> int:
        return _joined([self._liveness.entering(successor) for successor in self._blocks.successors[block]])


def _joined(parts: Sequence[int]) -> int:
    places = 0
    for part in parts:
        places |= part
    return places


@lru_cache(2)
def written_of(instructions: Instructions) -> Written | None:
    """Return the written places of a kernel's code, kept for those who ask again soon; None where ``liveness_of`` knows
    nothing, and of code that is too entangled to follow."""
    liveness = liveness_of(instructions)
    try:
        return None if liveness is None else Written(liveness)
    except TooManyError:
        return None
