"""Loops that the compiler unrolled into very much code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from math import inf

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.private_names import PrivateNames
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.advice.slow_built_in import is_slow
from kernlens.analysis.advice.source_loops import SourceLoop
from kernlens.analysis.advice.source_tokens import COMMENT
from kernlens.model.advice import EQUAL, Advice, Edit
from kernlens.model.instruction_kind import GLOBAL, IMAGE, LOAD, SLM, STORE
from kernlens.model.source_map import SourcePlace

#: So many copies of an access are too many; and so many passes are, if loops in them multiply.
_LEAST, _LEAST_AROUND = 32, 8
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
#: Characters before a loop that are read for hints, and the hints: pragmas, attributes, macros.
_TAIL = 2000
_HINT = re.compile(
    r"^#[ \t]*pragma\b[^\n]*\n\s*|__attribute__\s*\(\(.{0,200}?\)\)(?!\))\s*|_Pragma\s*\(\s*\"[^\"\n]{0,200}\"\s*\)\s*"
    r"|\b[A-Za-z_]\w*(?:\([\w ,]*\))?\s+",
    re.ASCII | re.MULTILINE,
)
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
#: The constant indexes behind an array's name, up to the last bracket.
_CONSTANT_INDEXES = re.compile(r"(?:\s*\[\s*\d+[uU]?\s*\])+(?!\s*\[)", re.ASCII)


def _advise(facts: Facts) -> Iterator[Advice]:
    largest: dict[tuple[str, SourceLoop], int] = {}
    for place, rows in facts.sites.items():
        if len(rows) < _LEAST:
            continue
        copies = _accesses(facts, rows) / facts.copies(rows)
        if copies < _LEAST or _is_other(facts, place):
            continue
        loop = _unrolled(facts.tokens.loops_around(place), copies)
        if loop is not None:
            largest[place.path, loop] = max(largest.get((place.path, loop), 0), round(copies))
    names = PrivateNames(facts.tokens)
    for (path, loop), copies in largest.items():
        if _indexes(names, path, loop):
            continue
        action, edit = _action(facts, path, loop)
        if not action:
            continue
        rows = facts.rows_in(path, loop.code)
        messages = sum(_is_access(facts, row) for row in rows)
        yield RULE.advice(
            facts,
            SourcePlace(path, loop.line, loop.column),
            rows,
            "The loop",
            f"was unrolled into {copies:,} copies: {len(rows):,} instructions, {messages:,} messages",
            action,
            edit=edit,
        )


def _indexes(names: PrivateNames, path: str, loop: SourceLoop) -> bool:
    """Return whether a loop indexes a private array by a value, or passes it on. In a loop that stays one the index is no
    constant: the array would be in memory, which costs more than the copies."""
    arrays, text = names.around(path, loop.code.start), names.text(path, loop.code)
    uses = (use for use in _NAME.finditer(text) if use[0] in arrays)
    return any(not _CONSTANT_INDEXES.match(text, use.end()) for use in uses)


def _action(facts: Facts, path: str, loop: SourceLoop) -> tuple[str, Edit | None]:
    """Return what to do; empty if the source asks for so few copies already."""
    count = 8 if (loop.trips or 0) >= _LEAST else 1
    hint = hint_before("\n".join(facts.tokens.texts[path])[: loop.code.start], facts.tokens.expansions)
    if hint is not None and hint <= count:
        return "", None
    pragma = f"`#pragma unroll {count}`"
    change = f"change its unroll hint to {pragma}" if hint is not None else f"write {pragma} in front of it"
    # As an attribute the hint needs no line of its own.
    attribute = (loop.code.start, loop.code.start, f"__attribute__((opencl_unroll_hint({count}))) ")
    return f"{change}, so that it stays a loop", Edit((attribute,)) if hint is None else None


def hint_before(text: str, expansions: Callable[[str], list[str]]) -> float | None:
    """Return how often the source asks to unroll the loop behind ``text``: infinity for a hint without a number, as
    ``#pragma unroll`` is; None without a hint. ``expansions`` are the bodies of a macro."""
    tail = _INDENT.sub("", COMMENT.sub(" ", text[-_TAIL:]))
    begin = end = 0
    for hint in _HINT.finditer(tail):
        begin, end = begin if hint.start() == end else hint.start(), hint.end()
    hints = tail[begin:] if end == len(tail) else ""
    words = _NAME.sub(lambda name: " ".join(expansions(name[0])) or name[0], hints)
    if re.search(r"nounroll|unroll\W*disable", words):
        return 1
    count = re.search(r"unroll(?:_count|_hint)?\W*(\d+)?", words)
    return None if count is None else int(count[1]) if count[1] and len(count[1]) < 9 else inf


def _is_other(facts: Facts, place: SourcePlace) -> bool:
    """Return whether the accesses may be those of a built-in function's tables."""
    construct = facts.tokens.at(place)
    return construct is None or is_slow(facts, construct.names) or "printf" in construct.names


def _is_access(facts: Facts, row: int) -> bool:
    kind = facts.kinds[row]
    access = kind.access
    return (
        access is not None
        and kind.name in (GLOBAL, SLM, IMAGE)
        and access.action in (LOAD, STORE)
        and not access.is_spill
    )


def _accesses(facts: Facts, rows: Sequence[int]) -> float:
    """Return how many accesses of all lanes the messages are: those of a wide kernel may take several."""
    total = 0.0
    for row in rows:
        access = facts.kinds[row].access
        if access is not None and _is_access(facts, row):
            total += min(1.0, access.lanes / facts.simd) if facts.simd and access.lanes > 1 else 1.0
    return total


def _unrolled(loops: Sequence[SourceLoop], copies: float) -> SourceLoop | None:
    """Return the loop, of those around an access from the innermost on, that became so many copies; None if constants tell
    of no such one. The compiler also unrolls loops in it whose passes nothing tells."""
    trips, has_unknown = 1, False
    for loop in loops:
        if loop.trips is None:
            has_unknown = True
            continue
        trips *= loop.trips
        if trips >= (_LEAST_AROUND if has_unknown else max(_LEAST, 0.7 * copies)):
            return loop
    return None


RULE = Rule("unrolled-too-far", "Unrolled too far", (EQUAL,), _advise)
