"""Who wrote what is read, and who reads what is written, through branches and loops."""

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
    spread = _Spread(blocks.predecessors)

    def follow(block: int, wanted: int) -> None:
        if block == 0 and wanted:
            found[BEFORE_THE_CODE] = found.get(BEFORE_THE_CODE, 0) | wanted
        spread.add(block, wanted)

    block = blocks.block_of(index)
    follow(block, _writers(effects, range(index - 1, blocks.firsts[block] - 1, -1), places, found))
    while spread.pending:
        block, wanted = spread.pending.popitem()
        follow(block, _writers(effects, reversed(blocks.code[block]), wanted, found))
    return found


def uses_of(liveness: Liveness, index: int) -> dict[int, int]:
    """Which instructions may read what instruction ``index`` writes, and of each which places."""
    found: dict[int, int] = {}
    effects, blocks = liveness.effects.effects, liveness.blocks
    spread = _Spread(blocks.successors)
    block = blocks.block_of(index)
    spread.add(block, _readers(effects, range(index + 1, blocks.code[block].stop), mask(effects[index].writes), found))
    while spread.pending:
        block, held = spread.pending.popitem()
        spread.add(block, _readers(effects, blocks.code[block], held, found))
    return found


class _Spread:
    """Places that are still to be followed into blocks, each into each block once."""

    def __init__(self, neighbours: Sequence[Sequence[int]]) -> None:
        self._neighbours = neighbours
        self._followed = [0] * len(neighbours)
        self.pending: dict[int, int] = {}

    def add(self, block: int, places: int) -> None:
        """Follows ``places`` from a block to its neighbours."""
        for neighbour in self._neighbours[block]:
            more = places & ~self._followed[neighbour]
            if more:
                self._followed[neighbour] |= more
                self.pending[neighbour] = self.pending.get(neighbour, 0) | more


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


def _readers(effects: Sequence[Effect], forwards: Iterable[int], held: int, found: dict[int, int]) -> int:
    """Notes in ``found`` which of these instructions read the places; returns what still holds its value behind them."""
    for index in forwards:
        if not held:
            break
        effect = effects[index]
        read = mask(effect.reads) & held
        if read:
            found[index] = found.get(index, 0) | read
        if not effect.is_partial:
            held &= ~mask(effect.writes)
    return held
