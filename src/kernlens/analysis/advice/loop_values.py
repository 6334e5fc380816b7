"""Values that are the same in each round of a loop, as far as the code of the loop shows it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.flow.definitions import definitions_of
from kernlens.analysis.flow.liveness import Liveness, liveness_of
from kernlens.model.effects import ADDRESSES, GENERAL, Effects, mask
from kernlens.model.instruction import SEND, Instruction
from kernlens.model.loop_nest import Loops
from kernlens.model.register_links import BEFORE_THE_CODE

#: Instructions that are followed for one message, at most: what has more is not told.
_STEPS = 256
#: Bytes of an address, at most.
_ADDRESS_BYTES = 8


class LoopValues:
    """The registers of a kernel's innermost loops. ``rows`` are those of the loop ``number``."""

    def __init__(self, facts: Facts, loops: Loops, effects: Effects, number: int) -> None:
        self._facts = facts
        self._loops = loops
        self._effects = effects.effects
        self._register_bytes = effects.register_bytes
        self.rows = [row for part in loops.rows(number) for row in part]

    @cached_property
    def _members(self) -> frozenset[int]:
        return frozenset(self.rows)

    @cached_property
    def _liveness(self) -> Liveness | None:
        return liveness_of(self._facts.code)

    @cached_property
    def _written(self) -> int:
        """The places that instructions of the loop write."""
        written = 0
        for row in self.rows:
            written |= self._writes(row)
        return written

    def has_fixed_address(self, row: int) -> bool:
        """Return whether the message ``row`` accesses the same addresses in each round."""
        return self._is_fixed(row, self._address(row), _STEPS) > 0

    def writers(self, row: int, places: int) -> Iterator[int]:
        """Yield the instructions before ``row`` in its block that write these places last, nearest first."""
        for before in range(row - 1, self._block(row).start - 1, -1):
            if written := places & self._writes(before):
                yield before
                places &= ~written
            if not places:
                return

    def data(self, row: int) -> int:
        """Return the places of the data that a message sends; of a gather send those of its addresses too."""
        reads = self._reads(row)
        return (reads & ~self._address(row)) or reads

    def sources(self, row: int) -> int:
        """Return the places that an instruction reads, but for flags."""
        return self._reads(row)

    def _is_fixed(self, row: int, places: int, steps: int) -> int:
        """Return the steps that are left if these places hold the same before ``row`` in each round; 0 if not, or too many
        steps were needed."""
        for before in range(row - 1, self._block(row).start - 1, -1):
            effect = self._effects[before]
            written = places & self._writes(before)
            if not written:
                continue
            if effect.is_partial or self._facts.code.flags[before] & SEND:
                return 0
            steps = self._is_fixed(before, self._reads(before), steps - 1) if steps > 1 else 0
            if not steps:
                return 0
            places &= ~written
            if not places:
                return steps
        return steps if not places & self._written else self._is_fixed_outside(row, places, steps)

    def _is_fixed_outside(self, row: int, places: int, steps: int) -> int:
        """Return what ``_is_fixed`` does for places that other blocks write: each must have one writer, of which the loop
        has none or all."""
        if self._liveness is None or steps <= 1:
            return 0
        first = self._block(row).start
        definitions = definitions_of(self._liveness, first, places)
        seen = 0
        for writer, written in definitions.items():
            if seen & written:
                return 0
            seen |= written
            if writer != BEFORE_THE_CODE and writer in self._members:
                if self._effects[writer].is_partial or self._facts.code.flags[writer] & SEND:
                    return 0
                steps = self._is_fixed(writer, self._reads(writer), steps - 1) if steps > 1 else 0
                if not steps:
                    return 0
        return steps

    def _block(self, row: int) -> range:
        blocks = self._loops.blocks
        return blocks[bisect_right(blocks, row, key=lambda block: block.start) - 1]

    def _reads(self, row: int) -> int:
        return mask(self._effects[row].reads) >> ADDRESSES << ADDRESSES

    def _writes(self, row: int) -> int:
        """Return the places that an instruction writes. The answer of one lane is its element, at the begin of a register."""
        writes, access = mask(self._effects[row].writes), self._facts.kinds[row].access
        if access is None or access.lanes != 1 or not access.element_bytes or "block" in access.operation:
            return writes
        destination = self._facts.code[row].destination
        if destination is None or destination.file != "r" or access.elements != 1:
            return writes
        size = max(access.element_bytes, 4)
        return writes & ((1 << size) - 1 << GENERAL + destination.number * self._register_bytes)

    def _address(self, row: int) -> int:
        """Return the places of a message's addresses and of what says where they are; of a gather send those of its data
        too."""
        instruction, access = self._facts.code[row], self._facts.kinds[row].access
        places = self._reads(row) & ~self._sent(instruction)
        if access is None or access.lanes != 1 or "block" in access.operation:
            return places
        source = instruction.sources[0]
        if source.kind != "register" or source.file != "r":
            return places
        # The registers have room for the addresses of all lanes, of which one is read.
        return places & (
            (1 << GENERAL) - 1 | (1 << _ADDRESS_BYTES) - 1 << GENERAL + source.number * self._register_bytes
        )

    def _sent(self, instruction: Instruction) -> int:
        """Return the places of the registers with a message's data, if they are apart from its addresses."""
        message, sources = instruction.message, instruction.sources
        if message is None or not message.data_registers or len(sources) < 2 or sources[1].file != "r":
            return 0
        size = self._register_bytes
        return ((1 << message.data_registers * size) - 1) << GENERAL + sources[1].number * size
