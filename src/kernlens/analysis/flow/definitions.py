"""Who wrote what is read, through branches and loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernlens.analysis.flow.liveness import Liveness
from kernlens.model.effects import Effect, mask
from kernlens.model.register_links import BEFORE_THE_CODE


def definitions_of(liveness: Liveness, index: int, places: int | None = None) -> dict[int, int]:
    """Which instructions may have written what ``places`` hold just before instruction ``index``, and of each which places.

    Without ``places``: all that are live there, and what the instruction itself writes.
    """
    found: dict[int, int] = {}
    effects, blocks = liveness.effects.effects, liveness.blocks
    if places is None:
        places = liveness.before(index)
        if written := mask(effects[index].writes):
            found[index] = written
    #: Places that are still to be followed into blocks, each into each block once.
    pending: dict[int, int] = {}
    followed = [0] * len(blocks.code)

    def follow(block: int, wanted: int) -> None:
        if blocks.is_entry(block) and wanted:
            found[BEFORE_THE_CODE] = found.get(BEFORE_THE_CODE, 0) | wanted
        for predecessor in blocks.predecessors[block]:
            if more := wanted & ~followed[predecessor]:
                followed[predecessor] |= more
                pending[predecessor] = pending.get(predecessor, 0) | more

    block = blocks.block_of(index)
    follow(block, _writers(effects, range(index - 1, blocks.firsts[block] - 1, -1), places, found))
    while pending:
        block, wanted = pending.popitem()
        follow(block, _writers(effects, reversed(blocks.code[block]), wanted, found))
    return found


def _writers(effects: Sequence[Effect], backwards: Iterable[int], wanted: int, found: dict[int, int]) -> int:
    """Notes in ``found`` which of these instructions wrote ``wanted`` places; returns what was there before them."""
    for index in backwards:
        if not wanted:
            break
        effect = effects[index]
        written = mask(effect.writes) & wanted
        if written:
            found[index] = found.get(index, 0) | written
            if not effect.is_partial:
                wanted &= ~written
    return wanted
