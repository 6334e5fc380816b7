"""Barriers one behind the other, with nothing between them to wait for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.model.advice import EQUAL, Advice
from kernlens.model.source_map import SourcePlace

_BARRIER, _FENCE = "barrier", "fence"
_FLAG = re.compile(r"\w+", re.ASCII)


def _advise(facts: Facts) -> Iterator[Advice]:
    kinds, loops = facts.kinds, facts.kernel.loops
    barriers = [row for row, kind in enumerate(kinds) if kind.access is not None and kind.access.operation == _BARRIER]
    if len(barriers) < 2 or loops is None:
        return
    groups: dict[SourcePlace | None, list[tuple[int, int]]] = {}
    for block in loops.blocks:
        earlier: int | None = None
        for row in block:
            access = kinds[row].access
            if access is None:
                continue
            if access.operation == _BARRIER:
                if earlier is not None:
                    groups.setdefault(_place(facts, row), []).append((earlier, row))
                earlier = row
            elif access.operation != _FENCE and not access.is_spill:
                earlier = None
    counts = Counter(_place(facts, row) for row in barriers)
    for place, pairs in groups.items():
        # Elsewhere the same barrier of the source may order something: in another copy of a loop, or of a function.
        if place is not None and (len(pairs) < counts[place] or not all(_is_alone(facts, *pair) for pair in pairs)):
            continue
        before = _place(facts, pairs[0][0])
        rows = [each for earlier, row in pairs for each in range(earlier + 1, row + 1) if _orders(facts, each)]
        where = (
            f" (line {before.line})" if before is not None and place is not None and before.line != place.line else ""
        )
        construct = facts.tokens.at(place) if place else None
        yield RULE.advice(
            facts,
            place,
            rows,
            f"`{construct.token}`" if construct else "A barrier",
            f"orders nothing: no memory is accessed between it and the barrier before it{where}",
            "remove it"
            if _has_flags_of(facts, place, before)
            else "remove it, and give the barrier before it its flags too",
        )


def _place(facts: Facts, row: int) -> SourcePlace | None:
    source_map = facts.kernel.source_map
    return source_map.place(row) if source_map else None


def _is_alone(facts: Facts, earlier: int, row: int) -> bool:
    """Return whether a barrier follows the earlier one wherever its function is called: that is in the same call of it."""
    source_map = facts.kernel.source_map
    calls, before = (source_map.inlined_at(each) if source_map else () for each in (row, earlier))
    return before[len(before) - len(calls) :] == calls


def _has_flags_of(facts: Facts, place: SourcePlace | None, before: SourcePlace | None) -> bool:
    """Return whether the barrier before one orders the same kinds of memory."""
    words = [facts.tokens.at(each) if each else None for each in (place, before)]
    flags = [
        frozenset(_FLAG.findall(" ".join(each.arguments))) if each and not each.is_macro else None for each in words
    ]
    return flags[0] is not None and flags[1] is not None and flags[0] <= flags[1]


def _orders(facts: Facts, row: int) -> bool:
    access = facts.kinds[row].access
    return access is not None and access.operation in (_BARRIER, _FENCE)


RULE = Rule("barrier-behind-barrier", "Barrier behind barrier", (EQUAL,), _advise)
