"""Private arrays that live in memory, as they are indexed by values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernlens.analysis.advice.accessed import accessed_name
from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.advice.source_loops import NO_CODE
from kernlens.model.advice import EQUAL, Advice
from kernlens.model.instruction_kind import GLOBAL, LOAD, SCRATCH, STORE

_STATEMENT = re.compile(r"[;{}()]")
_DECLARED = re.compile(r"\s*(?:[A-Za-z_]\w*[\s*]+)+[A-Za-z_]\w*\s*\[", re.ASCII)
_ARRAY = re.compile(r"\b([A-Za-z_]\w*)\s*\[", re.ASCII)
#: A pointer that begins with an array, or with one of its elements, but not with a pointer that is an element.
_POINTER = re.compile(
    r"\s*(?:[A-Za-z_]\w*\s+)*[A-Za-z_]\w*\s*\*\s*(?:(?:const|restrict)\s+)*(\w+)\s*=\s*"
    r"(&\s*)?([A-Za-z_]\w*)(?!\w|(?(2)(?!)|\s*(?:\[|\.|->)))",
    re.ASCII,
)
_ELSEWHERE = re.compile(r"\b(?:(?:__)?(?:local|global|constant)|return)\b", re.ASCII)
#: Characters of a declaration, at most.
_LONGEST = 400


def _advise(facts: Facts) -> Iterator[Advice]:
    resources, source_map = facts.kernel.resources, facts.kernel.source_map
    if source_map is None:
        return
    has_memory = resources.private_bytes or (resources.scratch_bytes and not _has_spills(facts))
    rows_of: dict[str, list[int]] = {}
    messages = [
        row
        for row, kind in enumerate(facts.kinds)
        if (access := kind.access) is not None
        and access.lanes > 1
        and not access.is_spill
        # Up to Xe-HPG private memory is global memory, of which no buffer is the surface.
        and (kind.name == SCRATCH or (has_memory and kind.name == GLOBAL and access.surface in ("flat", "stateless")))
    ]
    arrays = declared_arrays(facts) if messages else dict[str, str]()
    if any(facts.kinds[row].name == SCRATCH for row in messages):
        messages = [row for row in messages if facts.kinds[row].name == SCRATCH]
    for row in messages:
        place = source_map.place(row)
        # What else is in memory is there for other reasons, as `volatile` variables are.
        name = arrays.get(accessed_name(facts, place), "") if place is not None else ""
        if name:
            rows_of.setdefault(name, []).append(row)
    for name, rows in rows_of.items():
        actions = [access.action for row in rows if (access := facts.kinds[row].access) is not None]
        counts = [_count(actions.count(action), action) for action in (STORE, LOAD) if action in actions]
        why = (
            " or a function that is not inlined takes its address"
            if any(not each.is_spliced for each in facts.kernel.functions[1:])
            else ""
        )
        size = (
            f"; the kernel has {own:,} bytes of private memory per work-item"
            if (own := resources.private_bytes_per_work_item)
            else ""
        )
        yield RULE.advice(
            facts,
            source_map.place(rows[0]),
            rows,
            f"The array `{name}`",
            f"is in memory, not in registers, because an index is not constant{why}{size}: {' and '.join(counts)}, without"
            " what computes their addresses",
            "use constant indexes (unrolled loops), make the array smaller, or move a table to `constant` or `local` memory",
        )


def declared_arrays(facts: Facts) -> dict[str, str]:
    """Return the arrays that the source declares outside of local, global and constant memory, but for volatile ones: each
    by its own name, and by those of the pointers that are declared to point into it."""
    return arrays_in(*(NO_CODE.sub(" ", "\n".join(lines)) for lines in facts.tokens.texts.values()))


def arrays_in(*texts: str) -> dict[str, str]:
    """Return what ``declared_arrays`` does, of texts without comments."""
    names: dict[str, str] = {}
    pointers: list[tuple[str, str]] = []
    for statement in (statement for text in texts for statement in _STATEMENT.split(text)):
        text = statement.split("=")[0]
        # An array of pointers to global memory is private itself.
        own = text.partition("[")[0].rpartition("*")[2]
        if "volatile" in text or len(text) > _LONGEST:
            continue
        if "[" in text and _DECLARED.match(text) and not _ELSEWHERE.search(own):
            names.update((name, name) for name in _ARRAY.findall(text))
        elif "*" in text and not _ELSEWHERE.search(text):
            pointers += [(pointer[1], pointer[3]) for pointer in (_POINTER.match(statement),) if pointer]
    for name, target in pointers:
        if target in names:
            names.setdefault(name, names[target])
    return names


def _has_spills(facts: Facts) -> bool:
    return any(kind.access is not None and kind.access.is_spill for kind in facts.kinds)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


RULE = Rule("private-array-in-memory", "Private array in memory", (EQUAL,), _advise)
