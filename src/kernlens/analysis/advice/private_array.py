"""Private arrays that live in memory, as they are indexed by values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernlens.analysis.advice.accessed import accessed_name
from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.model.advice import Advice
from kernlens.model.instruction_kind import GLOBAL, LOAD, SCRATCH, STORE, Access
from kernlens.model.source_map import SourcePlace

_STATEMENT = re.compile(r"[;{}()]")
_DECLARED = re.compile(r"\s*(?:[A-Za-z_]\w*[\s*]+)+[A-Za-z_]\w*\s*\[", re.ASCII)
_ARRAY = re.compile(r"\b([A-Za-z_]\w*)\s*\[", re.ASCII)
_ELSEWHERE = re.compile(r"\b(?:(?:__)?(?:local|global|constant)|return)\b", re.ASCII)
#: Characters of a declaration, at most.
_LONGEST = 400


def _advise(facts: Facts) -> Iterator[Advice]:
    resources, source_map = facts.kernel.resources, facts.kernel.source_map
    accesses = [
        (row, kind.name, access)
        for row, kind in enumerate(facts.kinds)
        if (access := kind.access) is not None and access.lanes > 1 and not access.is_spill
    ]
    if resources.private_bytes == 0 or source_map is None:
        return
    own = [(row, access) for row, name, access in accesses if name == SCRATCH]
    if resources.private_bytes or (resources.scratch_bytes and not _has_spills(facts)):
        # Up to Xe-HPG private memory is global memory, of which no buffer is the surface.
        arrays = declared_arrays(facts) if not own else frozenset[str]()
        own += [
            (row, access)
            for row, name, access in accesses
            if name == GLOBAL
            and access.surface in ("flat", "stateless")
            and _name(facts, source_map.place(row)) in arrays
        ]
    groups: dict[str, list[tuple[int, Access]]] = {}
    arrays = declared_arrays(facts) if own else frozenset[str]()
    for row, access in own:
        name = _name(facts, source_map.place(row))
        groups.setdefault(name if name in arrays else "", []).append((row, access))
    for name, members in groups.items():
        rows = [row for row, _ in members]
        stores, loads = (sum(access.action == action for _, access in members) for action in (STORE, LOAD))
        counts = [_count(count, noun) for count, noun in ((stores, "store"), (loads, "load")) if count]
        place = source_map.place(rows[0])
        if place is None and not name:
            continue
        size = (
            f"; the kernel's private memory is {resources.private_bytes:,} bytes per work-item"
            if resources.private_bytes
            else ""
        )
        yield facts.advice(
            RULE.key,
            place,
            rows,
            f"The array `{name}`" if name else "Private memory",
            f"is in memory, not in registers, as it is indexed by a value: {' and '.join(counts)}{size}",
            "index it by constants, make it smaller, or put a table into `constant` or `local` memory",
        )


def declared_arrays(facts: Facts) -> frozenset[str]:
    """Return the names that the source declares as arrays outside of local, global and constant memory."""
    names: set[str] = set()
    for lines in facts.tokens.texts.values():
        for statement in _STATEMENT.split("\n".join(lines)):
            text = statement.split("=")[0]
            # An array of pointers to global memory is private itself.
            own = text.partition("[")[0].rpartition("*")[2]
            if "[" in text and len(text) <= _LONGEST and _DECLARED.match(text) and not _ELSEWHERE.search(own):
                names.update(_ARRAY.findall(text))
    return frozenset(names)


def _name(facts: Facts, place: SourcePlace | None) -> str:
    return accessed_name(facts, place) if place is not None else ""


def _has_spills(facts: Facts) -> bool:
    return any(kind.access is not None and kind.access.is_spill for kind in facts.kinds)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


RULE = Rule("private-array-in-memory", "Private array in memory", _advise)
