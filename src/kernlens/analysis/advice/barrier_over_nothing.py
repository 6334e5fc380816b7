"""Barriers before all accesses to memory that they order, or behind all: there is nothing that they could order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kernlens.analysis.advice.accessed import accessed_name
from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.model.advice import EQUAL, Advice
from kernlens.model.instruction_kind import LOAD, SLM
from kernlens.model.source_map import IN_PROLOGUE, SourcePlace

_LOCAL_ALONE = ("CLK_LOCAL_MEM_FENCE",)
_BARRIER, _FENCE = "barrier", "fence"


def _advise(facts: Facts) -> Iterator[Advice]:
    source_map, routes = facts.kernel.source_map, facts.code.routes
    barriers: dict[SourcePlace, list[int]] = {}
    for row, kind in enumerate(facts.kinds):
        place = source_map.place(row) if source_map and kind.access and kind.access.operation == _BARRIER else None
        if place is not None:
            barriers.setdefault(place, []).append(row)
    # What a function accesses that is called, and what calls it, is another kernel's too.
    if not barriers or routes is None or any(route.is_call or route.returns for route in routes.values()):
        return
    onward: list[list[int]] = [[] for _ in facts.kinds]
    back: list[list[int]] = [[] for _ in facts.kinds]
    for row in range(len(onward)):
        route = routes.get(row)
        falls = [row + 1] if (route is None or route.falls) and row + 1 < len(onward) else []
        for target in {*falls, *(route.targets if route is not None else ())}:
            onward[row].append(target)
            back[target].append(row)
    for place, rows in barriers.items():
        construct = facts.tokens.at(place)
        if construct is None or construct.is_macro:
            continue
        after, before = (_accesses(facts, rows, ways) for ways in (onward, back))
        where = "" if after and before else "before" if after else "after"
        memory = "memory"
        if not where and construct.arguments == _LOCAL_ALONE and not _share(facts, after, before):
            lacking = [word for word, side in (("after", after), ("before", before)) if not _in_local(facts, side)]
            where, memory = next(iter(lacking), ""), "local memory, which alone it orders,"
        if where:
            fact = f"orders nothing: no {memory} is accessed {where} it"
            edit = facts.tokens.in_place_of_call(place, "")
            yield RULE.advice(facts, place, rows, f"`{construct.token}`", fact, "remove it", is_exact=True, edit=edit)


def _in_local(facts: Facts, rows: Iterable[int]) -> bool:
    return any(facts.kinds[row].name == SLM for row in rows)


def _share(facts: Facts, after: Iterable[int], before: Iterable[int]) -> bool:
    """Return whether a barrier might be meant for other memory than it orders: what one side stores to the other accesses too,
    or names are not known."""
    sides = []
    for rows in (after, before):
        names = {True: set[str](), False: set[str]()}
        for row in rows:
            access, place = facts.kinds[row].access, facts.kernel.source_map and facts.kernel.source_map.place(row)
            if access is not None and facts.kinds[row].name != SLM:
                names[access.action == LOAD].add(accessed_name(facts, place) if place else "")
        sides.append(names)
    (later, earlier) = sides
    both = [later[False] & (earlier[False] | earlier[True]), earlier[False] & later[True]]
    return any(both) or any("" in each for names in sides for each in names.values())


def _accesses(facts: Facts, rows: Iterable[int], ways: Mapping[int, list[int]] | list[list[int]]) -> list[int]:
    """Return the rows at which lanes may access memory on a way from these. Before all source code the thread reads its
    arguments, and what spills is its own."""
    origins = facts.kernel.source_map.origins if facts.kernel.source_map else ()
    waiting = [target for row in rows for target in ways[row]]
    seen, accessing = set(waiting), list[int]()
    while waiting:
        row = waiting.pop()
        access = facts.kinds[row].access
        is_order = access is None or access.operation in (_BARRIER, _FENCE) or access.is_spill
        if not is_order and origins[row] != IN_PROLOGUE and not _ends(facts, row):
            accessing.append(row)
        new = [each for each in ways[row] if each not in seen]
        seen.update(new)
        waiting += new
    return accessing


def _ends(facts: Facts, row: int) -> bool:
    """Return whether a row is the message that ends the thread."""
    return "EOT" in facts.code.texts[row]


RULE = Rule("barrier-over-nothing", "Barrier over nothing", (EQUAL,), _advise)
