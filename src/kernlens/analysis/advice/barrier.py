"""Barriers one behind the other, with nothing between them to wait for."""

from __future__ import annotations

from collections.abc import Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.model.advice import Advice
from kernlens.model.source_map import SourcePlace

_BARRIER, _FENCE = "barrier", "fence"


def _advise(facts: Facts) -> Iterator[Advice]:
    kinds, loops = facts.kinds, facts.kernel.loops
    barriers = [row for row, kind in enumerate(kinds) if kind.access is not None and kind.access.operation == _BARRIER]
    if len(barriers) < 2 or loops is None:
        return
    source_map = facts.kernel.source_map
    groups: dict[SourcePlace | None, tuple[list[int], SourcePlace | None]] = {}
    for block in loops.blocks:
        earlier: int | None = None
        for row in block:
            access = kinds[row].access
            if access is None:
                continue
            if access.operation == _BARRIER:
                if earlier is not None:
                    place = source_map.place(row) if source_map else None
                    before = source_map.place(earlier) if source_map else None
                    rows, _ = groups.setdefault(place, ([], before))
                    rows += [each for each in range(earlier + 1, row + 1) if _orders(facts, each)]
                earlier = row
            elif access.operation != _FENCE and not access.is_spill:
                earlier = None
    for place, (rows, before) in groups.items():
        where = (
            f" (line {before.line})" if before is not None and place is not None and before.line != place.line else ""
        )
        construct = facts.tokens.at(place) if place else None
        yield facts.advice(
            RULE.key,
            place,
            rows,
            f"`{construct.token}`" if construct else "A barrier",
            f"orders nothing: no memory is accessed between it and the barrier before it{where}",
            "remove it",
        )


def _orders(facts: Facts, row: int) -> bool:
    access = facts.kinds[row].access
    return access is not None and access.operation in (_BARRIER, _FENCE)


RULE = Rule("barrier-behind-barrier", "Barrier behind barrier", _advise)
