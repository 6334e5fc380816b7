"""The writers of what is read, through branches and loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernlens.analysis.flow.liveness import Liveness
from kernlens.model.effects import Effect
from kernlens.model.register_links import BEFORE_THE_CODE


def definitions_of(liveness: Liveness, index: int, places: int | None = None) -> dict[int, int]:
    """Return the instructions that may have written what ``places`` hold just before instruction ``index``, each with
    its places. Without ``places``: all that are live there, and what the instruction itself writes."""
    writers: dict[int, int] = {}
    effects, blocks = liveness.effects.effects, liveness.blocks
    if places is None:
        places = liveness.before(index)
        if written := effects[index].written:
            writers[index] = written
    #: Places that are still to be followed into blocks, each into each block once.
    pending: dict[int, int] = {}
    followed = [0] * len(blocks.code)

    def follow(block: int, needed: int) -> None:
        if blocks.is_entry(block) and needed:
            writers[BEFORE_THE_CODE] = writers.get(BEFORE_THE_CODE, 0) | needed
        for predecessor in blocks.predecessors[block]:
            if more := needed & ~followed[predecessor]:
                followed[predecessor] |= more
                pending[predecessor] = pending.get(predecessor, 0) | more

    block = blocks.block_of(index)
    follow(block, _writers(effects, range(index - 1, blocks.firsts[block] - 1, -1), places, writers))
    while pending:
        block, needed = pending.popitem()
        follow(block, _writers(effects, reversed(blocks.code[block]), needed, writers))
    return writers


def _writers(effects: Sequence[Effect], backwards: Iterable[int], needed: int, writers: dict[int, int]) -> int:
    """Note which of these instructions wrote the places, and return those that were written before them."""
    for index in backwards:
        if not needed:
            break
        effect = effects[index]
        written = effect.written & needed
        if written:
            writers[index] = writers.get(index, 0) | written
            if not effect.is_partial:
                needed &= ~written
    return needed
