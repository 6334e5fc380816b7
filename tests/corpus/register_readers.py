"""The readers of what an instruction writes, by another way than kernlens's: forwards from each write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernlens.analysis.flow.liveness import Liveness
from kernlens.model.effects import Effect, mask


def readers_of(liveness: Liveness, index: int) -> dict[int, int]:
    """Return the instructions that may read what instruction ``index`` writes, and of each which places."""
    readers: dict[int, int] = {}
    effects, blocks = liveness.effects.effects, liveness.blocks
    followed = [0] * len(blocks.code)
    block = blocks.block_of(index)
    own = range(index + 1, blocks.code[block].stop)
    waiting = [(block, _read(effects, own, mask(effects[index].writes), readers))]
    while waiting:
        block, held = waiting.pop()
        for successor in blocks.successors[block]:
            if more := held & ~followed[successor]:
                followed[successor] |= more
                waiting.append((successor, _read(effects, blocks.code[successor], more, readers)))
    return readers


def _read(effects: Sequence[Effect], forwards: Iterable[int], held: int, result: dict[int, int]) -> int:
    """Note which of these instructions read the places; return what still holds its value behind them."""
    for index in forwards:
        effect = effects[index]
        if read := mask(effect.reads) & held:
            result[index] = result.get(index, 0) | read
        if not effect.is_partial:
            held &= ~mask(effect.writes)
    return held
