"""The registers that hold a value that is still needed, at each instruction.

A place is live where a later instruction may read what it holds, along the edges that lanes take, and where some
instruction before may have written it (or it was set when the thread began). A predicated write does not end what was
there. What waits in lanes that are switched off is not counted, functions are analysed without their callers' contexts.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property, lru_cache

from kernlens.analysis.flow.blocks import Blocks, blocks_of
from kernlens.dataclass import dataclass
from kernlens.errors import TooManyError
from kernlens.model.effects import GENERAL, Effect, Effects, mask, registers_in
from kernlens.model.instruction import Instructions

#: Some hundred megabytes for all that is kept per block; the largest kernels of the corpus need some.
_MOST_BITS = 1 << 29
_STEPS_PER_BLOCK = 200
_FORMAT = "machine-code"


@dataclass(frozen=True, slots=True)
class _Summary:
    """The effect of a block as a whole: ``reads`` before it writes them, ``ends`` what was there (with writes of all
    lanes), ``writes`` in any lane; ``needs`` is what it reads before it writes them in any lane."""

    reads: int
    ends: int
    writes: int
    needs: int


class Liveness:
    """The live places of a kernel's instructions, as bits of one number each (``model.effects`` says which).

    Raises TooManyError for code that no compiler writes: with hundreds of thousands of branches, or so entangled that
    they take long to follow.
    """

    def __init__(self, effects: Effects) -> None:
        self.effects = effects
        self.blocks: Blocks = blocks_of(effects)
        if len(self.blocks.code) * _highest(effects) > _MOST_BITS:
            raise TooManyError("the code has too many branches for register liveness analysis", format=_FORMAT)
        self._summaries = [_summary(effects.effects, code) for code in self.blocks.code]
        self._after = _backward(self.blocks, [(block.reads, block.ends) for block in self._summaries])
        self._defined = self._may_be_defined()

    def _may_be_defined(self) -> list[int]:
        """Return for each block what may have been written before it. What a block needs at which lanes enter, whatever
        they write, the thread began with, or who calls the function wrote."""
        needed = _backward(self.blocks, [(block.needs, block.writes) for block in self._summaries])
        unwritten = [
            block.needs | after & ~block.writes if self.blocks.is_entry(number) else 0
            for number, (block, after) in enumerate(zip(self._summaries, needed, strict=True))
        ]
        return may_be_written(self.blocks, [block.writes for block in self._summaries], unwritten)

    def before(self, index: int) -> int:
        """Return the places that are live just before instruction ``index``."""
        block = self.blocks.block_of(index)
        code = self.blocks.code[block]
        return self.within(block)[index - code.start]

    def entering(self, block: int) -> int:
        """Return the places that are live at the start of a block, of one without code too."""
        summary = self._summaries[block]
        return (summary.reads | self._after[block] & ~summary.ends) & self._defined[block]

    def within(self, block: int) -> list[int]:
        """Return the places that are live before each instruction of a block."""
        code, live = self.blocks.code[block], self._after[block]
        live_rows = []
        for effect in reversed(self.effects.effects[code.start : code.stop]):
            live = _before(effect, live)
            live_rows.append(live)
        live_rows.reverse()
        # What is live and was not written before is so from the block's start on, until it is written.
        unwritten = live & ~self._defined[block]
        for position, effect in enumerate(self.effects.effects[code.start : code.stop]):
            if not unwritten:
                break
            live_rows[position] &= ~unwritten
            unwritten &= ~effect.written
        return live_rows

    @cached_property
    def counts(self) -> array[int]:
        """The number of general registers in use at each instruction: a byte is live just before it, or it writes one."""
        count_of = _Counter(self.effects)
        counts = array("H", bytes(2 * len(self.effects.effects)))
        for block, code in enumerate(self.blocks.code):
            live = self.within(block)
            for position, index in enumerate(code):
                counts[index] = count_of.registers(live[position] | self.effects.effects[index].written)
        return counts

    @cached_property
    def named(self) -> int:
        """The number of general registers that an instruction reads or writes."""
        accesses = {access for effect in self.effects.effects for access in (*effect.reads, *effect.writes)}
        return sum(1 for _ in registers_in(mask(accesses), self.effects.register_bytes))


@lru_cache(2)
def liveness_of(instructions: Instructions) -> Liveness | None:
    """Return the liveness of a kernel's instructions, kept for those who ask again soon; None where their decoder does
    not tell what they do to registers, and of code whose branches are too many to follow."""
    try:
        return None if instructions.effects is None else Liveness(instructions.effects)
    except TooManyError:
        return None


def _highest(effects: Effects) -> int:
    """Return the place behind the last that is accessed."""
    accesses = {access for effect in effects.effects for access in (*effect.reads, *effect.writes)}
    return max((start + pattern.bit_length() for start, pattern in accesses), default=0)


def _before(effect: Effect, live: int) -> int:
    if not effect.is_partial:
        for start, pattern in effect.writes:
            live &= ~(pattern << start)
    for start, pattern in effect.reads:
        live |= pattern << start
    return live


def _summary(effects: Sequence[Effect], code: range) -> _Summary:
    reads = ends = writes = needs = 0
    for effect in reversed(effects[code.start : code.stop]):
        written = effect.written
        if not effect.is_partial:
            reads &= ~written
            ends |= written
        read = effect.read
        reads |= read
        writes |= written
        needs = needs & ~written | read
    return _Summary(reads, ends, writes, needs)


def _backward(blocks: Blocks, gives_and_ends: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each block what is needed behind it: of a following block what it gives, and what it does not end."""
    before = [gives for gives, _ in gives_and_ends]
    after = [0] * len(before)
    waiting, is_waiting = list(range(len(before))), [True] * len(before)
    steps = Steps(len(before))
    while waiting:
        steps.take()
        block = waiting.pop()
        is_waiting[block] = False
        needed = 0
        for successor in blocks.successors[block]:
            needed |= before[successor]
        after[block] = needed
        gives, ends = gives_and_ends[block]
        now = gives | needed & ~ends
        if now != before[block]:
            before[block] = now
            for predecessor in blocks.predecessors[block]:
                if not is_waiting[predecessor]:
                    is_waiting[predecessor] = True
                    waiting.append(predecessor)
    return after


def may_be_written(blocks: Blocks, writes: Sequence[int], gains: Sequence[int]) -> list[int]:
    """Return for each block what may have been written before it, by the code, which ``writes`` these places in each block,
    or, of what each block ``gains``, before lanes enter."""
    before = list(gains)
    waiting, is_waiting = list(range(len(writes) - 1, -1, -1)), [True] * len(writes)
    steps = Steps(len(writes))
    while waiting:
        steps.take()
        block = waiting.pop()
        is_waiting[block] = False
        behind = before[block] | writes[block]
        for successor in blocks.successors[block]:
            if behind & ~before[successor]:
                before[successor] |= behind
                if not is_waiting[successor]:
                    is_waiting[successor] = True
                    waiting.append(successor)
    return before


class Steps:
    """A counter of steps. Compilers' code takes some per block, a dozen in loops in loops."""

    def __init__(self, blocks: int) -> None:
        self._left = _STEPS_PER_BLOCK * (blocks + 1)

    def take(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooManyError("the code's control flow is too complex for register liveness analysis", format=_FORMAT)


class _Counter:
    """A counter of the general registers of which a byte is in a mask."""

    def __init__(self, effects: Effects) -> None:
        self._steps = [1 << step for step in reversed(range(effects.register_bytes.bit_length() - 1))]
        registers = -(-max(0, _highest(effects) - GENERAL) // effects.register_bytes)
        self._firsts = sum(1 << number * effects.register_bytes for number in range(registers))

    def registers(self, live: int) -> int:
        bits = live >> GENERAL
        for step in self._steps:
            bits |= bits >> step
        return (bits & self._firsts).bit_count()
