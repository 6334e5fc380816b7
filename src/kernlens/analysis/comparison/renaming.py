"""A check whether two kernels do the same with other registers, through branches and loops.

Both are walked at once, along the edges that lanes take: which place of the new kernel holds what a place of the old one
does is noted at each write, and asked at each read. Where ways meet, only what holds on all of them is kept, until nothing
changes any more. So each value may have a register of its own, but must have it on every way.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.analysis.flow.blocks import Blocks, blocks_of
from kernlens.dataclass import replace
from kernlens.model.effects import Effect, Effects

#: For each distance from an old place to the new one that holds the same: these old places, as bits.
Relation = dict[int, int]
#: Instructions that may be walked over, for each of them and in all; kernels that need more count as changed.
_STEPS_PER_INSTRUCTION = 64
_FREE_STEPS = 20_000
#: What libiga64 remarks on the message of a barrier.
_BARRIER = "signal barrier"


def is_renaming(old: Effects, new: Effects, texts: Sequence[str]) -> bool:
    """Return whether instructions with these effects, and the same ``texts`` but for registers' names, read the same values."""
    if old.effects == new.effects:
        return old.routes == new.routes
    return old.routes == new.routes and _Walk(old, new, texts).is_same()


class _Walk:
    def __init__(self, old: Effects, new: Effects, texts: Sequence[str]) -> None:
        sides = [
            [_told(effect) if _BARRIER in text else effect for effect, text in zip(effects.effects, texts, strict=True)]
            for effects in (old, new)
        ]
        self._effects = list(zip(*sides, strict=True))
        # What switched-off lanes do not keep from being written.
        self._is_masked = [not text.lstrip().startswith("(W") for text in texts]
        self._blocks: Blocks = blocks_of(old)
        accesses = {
            access for effects in (old, new) for each in effects.effects for access in (*each.reads, *each.writes)
        }
        size = max((start + pattern.bit_length() for start, pattern in accesses), default=0)
        self._all = (1 << size) - 1
        self._steps = _FREE_STEPS + _STEPS_PER_INSTRUCTION * len(self._effects)

    def is_same(self) -> bool:
        if self._blocks.is_open:
            return False  # What a function reads that is not known must lie where it did.
        count = len(self._blocks.code)
        before: list[Relation | None] = [None] * count
        waiting = {block for block in range(count) if self._blocks.is_entry(block)}
        for entry in waiting:
            before[entry] = {0: self._all}
        while waiting:
            block = min(waiting)
            waiting.remove(block)
            relation = before[block]
            assert relation is not None
            code = self._blocks.code[block]
            self._steps -= len(code) + 1
            after = self._after(code, relation)
            if after is None or self._steps < 0:
                return False
            for successor in self._blocks.successors[block]:
                arriving = self._across(after, block, successor)
                known = before[successor]
                met = arriving if known is None else _met(known, arriving)
                if met != known:
                    before[successor] = met
                    waiting.add(successor)
        return True

    def _after(self, code: range, relation: Relation) -> Relation | None:
        """Return what holds behind these instructions; None if one reads something else."""
        relation = dict(relation)
        for index in code:
            old, new = self._effects[index]
            if (old.is_lower_bound or new.is_lower_bound) and any(
                relation[distance] for distance in relation if distance
            ):
                return None  # What it reads is not known, so that all must lie where it did.
            if not _reads_the_same(old, new, relation):
                return None
            _write(old, new, relation)
        return relation

    def _across(self, relation: Relation, block: int, successor: int) -> Relation:
        """Return a relation without what skipped code, which other lanes may run, writes in lanes that are switched off."""
        blocks = self._blocks
        if not blocks.code[successor] or not blocks.code[block] or successor <= block + 1:
            return relation
        start, stop = blocks.code[block].stop, blocks.code[successor].start
        self._steps -= stop - start
        if self._steps < 0:
            return relation
        relation = dict(relation)
        for index in range(start, stop):
            if not self._is_masked[index]:
                old, new = self._effects[index]
                _disturb(old, new, relation)
        return relation


def _told(barrier: Effect) -> Effect:
    """Return the effect of a barrier, which reads the third dword of its message. The compiler leaves the others unchanged."""
    return replace(barrier, reads=tuple((start + 8, 0xF) for start, _ in barrier.reads))


def _reads_the_same(old: Effect, new: Effect, relation: Relation) -> bool:
    if len(old.reads) != len(new.reads) or len(old.writes) != len(new.writes):
        return False
    for (start, pattern), (other, same) in zip(old.reads, new.reads, strict=True):
        if pattern != same or (pattern << start) & ~relation.get(other - start, 0):
            return False
    return all(old_write[1] == new_write[1] for old_write, new_write in zip(old.writes, new.writes, strict=True))


def _write(old: Effect, new: Effect, relation: Relation) -> None:
    """Note what an instruction writes; where a predicate may leave what was there, that must have been the same."""
    if not old.writes:
        return
    relations = []
    for (start, pattern), (other, _) in zip(old.writes, new.writes, strict=True):
        places = pattern << start
        relations.append((other - start, places & relation.get(other - start, 0) if old.is_partial else places))
    _end(old.written, new.written, relation)
    for distance, places in relations:
        relation[distance] = relation.get(distance, 0) | places


def _disturb(old: Effect, new: Effect, relation: Relation) -> None:
    """End what may or may not have been overwritten, but for pairs that are written together."""
    together: Relation = {}
    for (start, pattern), (other, _) in zip(old.writes, new.writes, strict=True):
        distance = other - start
        together[distance] = together.get(distance, 0) | pattern << start & relation.get(distance, 0)
    _end(old.written, new.written, relation)
    for distance, places in together.items():
        relation[distance] = relation.get(distance, 0) | places


def _end(old: int, new: int, relation: Relation) -> None:
    """End what is known of places that are overwritten on either side."""
    for distance in list(relation):
        left = relation[distance] & ~old & ~(new >> distance if distance >= 0 else new << -distance)
        if left:
            relation[distance] = left
        else:
            del relation[distance]


def _met(first: Relation, second: Relation) -> Relation:
    """Return what both relations hold."""
    return {distance: both for distance, places in first.items() if (both := places & second.get(distance, 0))}
