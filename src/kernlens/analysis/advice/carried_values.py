"""Values that a round makes of those of the round before: addresses that are loaded, and numbers that are converted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from kernlens.analysis.advice.accessed import accessed_name
from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.loop_values import loops_to_follow
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.flow.register_uses import register_uses
from kernlens.model.advice import DIFFER, EQUAL, Advice
from kernlens.model.instruction_kind import GLOBAL, LOAD, SLM
from kernlens.model.source_map import SourcePlace

#: Instructions of loops that are followed, at most: code with more is made to have them.
_MOST_ROWS = 100_000
_REAL, _WHOLE = frozenset(("f", "hf", "df")), frozenset(("b", "ub", "w", "uw", "d", "ud", "q", "uq"))


def _advise_chain(facts: Facts) -> Iterator[Advice]:
    for place, rows in _places(facts, _is_load).items():
        name = accessed_name(facts, place)
        fact = (
            "is loaded from an address that the round before has loaded: no two of these loads run beside one another"
        )
        action = "follow several chains in a work-item, or keep what follows each other in an array"
        yield CHAIN.advice(facts, place, rows, f"`{name}`" if name else "A value", fact, action)


def _is_load(facts: Facts, rows: Sequence[int]) -> list[int]:
    kinds = ((row, facts.kinds[row]) for row in rows)
    return [
        row
        for row, kind in kinds
        if kind.access is not None
        and kind.access.action == LOAD
        and kind.name in (GLOBAL, SLM)
        and not kind.access.is_spill
    ]


def _advise_conversion(facts: Facts) -> Iterator[Advice]:
    for place, rows in _places(facts, _there_and_back).items():
        fact = f"is made a float and an integer again in each round: {len(rows):,} conversions"
        action = "keep the value as a float in the loop, and convert it after the loop"
        yield CONVERSION.advice(facts, place, rows, "A value", fact, action)


def _there_and_back(facts: Facts, rows: Sequence[int]) -> list[int]:
    """Return the conversions of whole numbers to others, and back, if there are both."""
    ways: dict[bool, list[int]] = {True: [], False: []}
    for row in facts.vector(rows):
        written, sources = facts.types(row) if facts.code.opcodes[row] in ("mov", "rndz", "rndd") else ("", ())
        if sources and {written, sources[0]} & _REAL and {written, sources[0]} & _WHOLE:
            ways[written in _REAL].append(row)
    return sorted([*ways[True], *ways[False]]) if ways[True] and ways[False] else []


def _places(facts: Facts, chosen: Callable[[Facts, Sequence[int]], list[int]]) -> Mapping[SourcePlace, list[int]]:
    """Return the chosen rows of each chain of a loop, by the place of the first one."""
    source_map, places = facts.kernel.source_map, dict[SourcePlace, list[int]]()
    for chain in _chains(facts) if source_map is not None else ():
        rows = chosen(facts, chain)
        place = next((at for row in rows if source_map and (at := source_map.place(row)) is not None), None)
        if place is not None:
            places.setdefault(place, []).extend(rows)
    return places


def _chains(facts: Facts) -> Iterator[list[int]]:
    """Yield the rows for lanes of innermost loops that depend on themselves by registers: each set that depend on each other. A
    row for a thread may be thought to read more of a register than it does."""
    loops = loops_to_follow(facts)
    if loops is None or not loops.loops or len(loops.innermost) > _MOST_ROWS:
        return
    sources: dict[int, set[int]] = {}
    is_vector = facts.vector_rows
    for use in register_uses(facts.code):
        # Rows outside of loops have -1, the code before all of them no row.
        is_inside = use.writer >= 0 and 0 <= loops.innermost[use.reader] == loops.innermost[use.writer]
        if is_inside and is_vector[use.reader] and is_vector[use.writer]:
            sources.setdefault(use.reader, set()).add(use.writer)
    for rows in _components(sources):
        if len(rows) > 1 or rows[0] in sources.get(rows[0], ()):
            yield sorted(rows)


def _components(sources: Mapping[int, set[int]]) -> Iterator[list[int]]:
    """Yield the strongly connected components of a graph (R. Tarjan, Depth-first search and linear graph algorithms, 1972)."""
    order, lowest, on_stack, stack = dict[int, int](), dict[int, int](), set[int](), list[int]()
    for root in sources:
        path = [(root, iter(sources[root]))] if root not in order else []
        while path:
            row, left = path[-1]
            if row not in order:
                order[row] = lowest[row] = len(order)
                stack.append(row)
                on_stack.add(row)
            for each in left:
                if each not in order:
                    path.append((each, iter(sources.get(each, ()))))
                    break
                if each in on_stack:
                    lowest[row] = min(lowest[row], order[each])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[row])
                if lowest[row] == order[row]:
                    rows = [stack.pop()]
                    while rows[-1] != row:
                        rows.append(stack.pop())
                    on_stack.difference_update(rows)
                    yield rows


CHAIN = Rule("load-chain", "Load chain", (EQUAL,), _advise_chain)
CONVERSION = Rule("conversion-in-a-loop", "Conversion in a loop", (DIFFER,), _advise_conversion)
