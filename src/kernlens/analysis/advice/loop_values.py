"""Values that are the same in each round of a loop, as far as the code of the loop shows it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator
from functools import cached_property

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.flow.definitions import definitions_of
from kernlens.analysis.flow.liveness import Liveness, liveness_of
from kernlens.model.effects import ADDRESSES, GENERAL, Effects
from kernlens.model.intel_instructions import SEND, IntelInstruction, IntelInstructions
from kernlens.model.loop_nest import Loops
from kernlens.model.register_links import BEFORE_THE_CODE

#: Instructions that are followed, one from another, for a message: what has more is not told.
_DEPTH = 64
#: Blocks of all loops together that are looked at, at most: code with more is made to have them.
_MOST_BLOCKS = 1 << 20
#: Bytes of an address, at most.
_ADDRESS_BYTES = 8


def loops_to_follow(facts: Facts) -> Loops | None:
    """Return the loops of a kernel; None if they are not known, or too many."""
    loops = facts.kernel.loops
    return loops if loops is not None and len(loops.loops) * len(loops.blocks) <= _MOST_BLOCKS else None


class LoopValues:
    """The registers of a kernel's innermost loops. ``code`` is the kernel's; ``rows`` are those of the loop ``number``."""

    def __init__(self, facts: Facts, loops: Loops, code: IntelInstructions, effects: Effects, number: int) -> None:
        self._facts = facts
        self.code = code
        self._loops = loops
        self._effects = effects.effects
        self._register_bytes = effects.register_bytes
        self._known: dict[int, bool] = {}
        self._known_before: dict[tuple[int, int], bool] = {}
        self._depth = 0
        self.rows = [row for part in loops.rows(number) for row in part]

    @cached_property
    def _members(self) -> frozenset[int]:
        return frozenset(self.rows)

    @cached_property
    def _liveness(self) -> Liveness | None:
        return liveness_of(self.code)

    @cached_property
    def _written(self) -> int:
        """The places that instructions of the loop write."""
        written = 0
        for row in self.rows:
            written |= self._writes(row)
        return written

    def has_fixed_address(self, row: int) -> bool:
        """Return whether the message ``row`` accesses the same addresses in each round."""
        return self._is_fixed(row, self._address(row))

    def address_key(self, row: int) -> Hashable:
        """Return what is equal for messages of the loop with a fixed address only if their addresses are equal."""
        code, places = self.code, self._address(row) & ~((1 << GENERAL) - 1)
        message = code[row].message
        offset = message and (message.extended_descriptor, message.extended_register)
        # The address may be copied anew for each message.
        for _ in range(_DEPTH):
            writers = self._all_writers(row, places)
            if len(writers) != 1 or code.opcodes[row := min(writers)] != "mov":
                break
            places = self._reads(row)
        return offset, places, writers, code[row].sources[0].value if not places else None

    def _all_writers(self, row: int, places: int) -> frozenset[int]:
        """Return the instructions that may have written places before ``row`` that the loop writes."""
        left = places & self._written
        writers = set(self.writers(row, left))
        for writer in writers:
            left &= ~self._writes(writer)
        if left and self._liveness is not None:
            writers.update(definitions_of(self._liveness, self._block(row).start, left))
        return frozenset(writers - {BEFORE_THE_CODE})

    def writers(self, row: int, places: int) -> Iterator[int]:
        """Yield the instructions before ``row`` in its block that write these places last, nearest first."""
        for before in self._earlier(row, places):
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

    def _is_fixed(self, row: int, places: int) -> bool:
        """Return whether these places hold the same before ``row`` in each round."""
        places &= self._written
        for before in self._earlier(row, places):
            written = places & self._writes(before)
            if written and not self._makes_the_same(before):
                return False
            places &= ~written
            if not places:
                return True
        return not places or self._is_fixed_before(self._block(row).start, places)

    def _makes_the_same(self, row: int) -> bool:
        """Return whether an instruction of the loop writes the same in each round."""
        if row not in self._known:
            self._known[row] = False  # So it is for one that reads what it has written itself.
            is_plain = not self._effects[row].is_partial and not self.code.flags[row] & SEND
            if is_plain and self._depth < _DEPTH:
                self._depth += 1
                self._known[row] = self._is_fixed(row, self._reads(row))
                self._depth -= 1
        return self._known[row]

    def _is_fixed_before(self, first: int, places: int) -> bool:
        """Return what ``_is_fixed`` does for places that other blocks write: each must have one writer."""
        if (first, places) not in self._known_before:
            self._known_before[first, places] = False
            self._known_before[first, places] = self._has_single_writers(first, places)
        return self._known_before[first, places]

    def _has_single_writers(self, first: int, places: int) -> bool:
        if self._liveness is None:
            return False
        seen = 0
        for writer, written in definitions_of(self._liveness, first, places).items():
            if seen & written:
                return False
            seen |= written
            if writer != BEFORE_THE_CODE and writer in self._members and not self._makes_the_same(writer):
                return False
        return True

    def _earlier(self, row: int, places: int) -> list[int]:
        """Return the instructions before ``row`` in its block that may write these places, nearest first."""
        start = self._block(row).start
        rows = set[int]()
        for chunk in self._chunks(places):
            writers = self._writers.get(chunk, [])
            rows.update(writers[bisect_left(writers, start) : bisect_left(writers, row)])
        return sorted(rows, reverse=True)

    @cached_property
    def _writers(self) -> dict[int, list[int]]:
        """The instructions of the loop that write to each chunk of the places, ascending."""
        writers: dict[int, list[int]] = {}
        for row in self.rows:
            for chunk in self._chunks(self._writes(row)):
                writers.setdefault(chunk, []).append(row)
        return writers

    def _chunks(self, places: int) -> Iterator[int]:
        """Yield the numbers of the chunks, each as large as a register, that hold one of these places."""
        size, number = self._register_bytes, 0
        while places:
            skipped = ((places & -places).bit_length() - 1) // size
            number += skipped
            places >>= skipped * size
            yield number
            places >>= size
            number += 1

    def _block(self, row: int) -> range:
        blocks = self._loops.blocks
        return blocks[bisect_right(blocks, row, key=lambda block: block.start) - 1]

    def _reads(self, row: int) -> int:
        return self._effects[row].read >> ADDRESSES << ADDRESSES

    def _writes(self, row: int) -> int:
        """Return the places that an instruction writes. The answer of one lane is its element, at the begin of a register."""
        writes, access = self._effects[row].written, self._facts.kinds[row].access
        if access is None or access.lanes != 1 or not access.element_bytes or "block" in access.operation:
            return writes
        destination = self.code[row].destination
        if destination is None or destination.file != "r" or access.elements != 1:
            return writes
        size = max(access.element_bytes, 4)
        return writes & ((1 << size) - 1 << GENERAL + destination.number * self._register_bytes)

    def _address(self, row: int) -> int:
        """Return the places of a message's addresses and of what says where they are; of a gather send those of its data
        too."""
        instruction, access = self.code[row], self._facts.kinds[row].access
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

    def _sent(self, instruction: IntelInstruction) -> int:
        """Return the places of the registers with a message's data, if they are apart from its addresses."""
        message, sources = instruction.message, instruction.sources
        if message is None or not message.data_registers or len(sources) < 2 or sources[1].file != "r":
            return 0
        size = self._register_bytes
        return ((1 << message.data_registers * size) - 1) << GENERAL + sources[1].number * size
