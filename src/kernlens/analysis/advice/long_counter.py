"""Loops that count in 64 bits, which the GPU puts together from additions and comparisons of 32."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.loop_values import loops_to_follow
from kernlens.analysis.advice.rule import Rule
from kernlens.model.advice import EQUAL, Advice, Edit
from kernlens.model.source_map import SourcePlace

_LONG = ("long", "ulong", "size_t", "ptrdiff_t")
#: The third part of a header, with the name of the counter.
_STEP = re.compile(r"^\s*(?:(?:\+\+|--)\s*(\w+)|(\w+)\s*(?:\+\+|--|[-+*/]=|<<=|>>=))", re.ASCII)
_WIDE, _CARRIES = frozenset(("q", "uq")), ("addc", "subb")
#: Characters of a loop's header that are read.
_HEADER = 400


def _advise(facts: Facts) -> Iterator[Advice]:
    loops, source_map = loops_to_follow(facts), facts.kernel.source_map
    if loops is None or not loops.loops or source_map is None:
        return
    # A header and what it counts with stand on one line of the code.
    rows_of: dict[SourcePlace, list[int]] = {}
    for row, place in enumerate(source_map.places):
        if place is not None and loops.innermost[row] >= 0:
            rows_of.setdefault(SourcePlace(place.path, place.line), []).append(row)
    for path, lines in facts.tokens.texts.items():
        text = "\n".join(lines) if any(place.path == path for place in rows_of) else ""
        for loop in facts.tokens.loops_of(path) if text else ():
            name = _counter(text[loop.code.start : loop.code.start + _HEADER])
            place = SourcePlace(path, loop.line)
            rows = rows_of.get(place, [])
            if not name or not _is_long(facts, path, text, loop.code.start, name):
                continue
            wide = [row for row in rows if _is_wide(facts, row)]
            if wide:
                fact = f"counts a loop in 64 bits: {len(rows):,} instructions of each round are of the loop's header"
                action = "count with an `int`, and put the bound into one before the loop, if it is below 2^31"
                at = SourcePlace(path, loop.line, loop.column)
                yield RULE.advice(facts, at, rows, f"`{name}`", fact, action, edit=_edit(text, loop.code.start, name))


def _edit(text: str, start: int, name: str) -> Edit | None:
    """Return the edit that counts with an `int` up to an `int`; None where the header is not of that kind."""
    header = re.compile(
        rf"for\s*\(\s*(?P<type>{'|'.join(_LONG)})\s+{name}\s*=[^;,]*;\s*{name}\s*(?:<=?|>=?|!=)\s*(?P<bound>[^;&|?]+?)\s*;",
        re.ASCII,
    ).match(text, start, start + _HEADER)
    if header is None:
        return None
    return Edit(((*header.span("type"), "int"), (*header.span("bound"), f"(int)({header['bound']})")))


def _counter(text: str) -> str:
    """Return the name that the header of a `for` counts with."""
    start, depth, parts = text.find("("), 0, [""]
    if not text.startswith("for") or start < 0:
        return ""
    for character in text[start + 1 :]:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
        parts = [*parts, ""] if character == ";" else [*parts[:-1], parts[-1] + character]
    match = _STEP.match(parts[2]) if len(parts) == 3 else None
    return (match[1] or match[2]) if match else ""


def _is_long(facts: Facts, path: str, text: str, before: int, name: str) -> bool:
    """Tell whether the last declaration of a counter up to its loop has 64 bits."""
    if not any(name in facts.tokens.declared(path, word) for word in _LONG):
        return False
    types = re.compile(rf"\b(\w+)\s+(?:\w+\s*(?:=[^;,()]{{0,80}})?,\s*)*{name}\b\s*(?:=|;|,|\))", re.ASCII)
    end = text.find(";", before, before + _HEADER) + 1
    declared = [match[1] for match in types.finditer(text, max(0, before - 4 * _HEADER), max(before, end))]
    return bool(declared) and declared[-1] in _LONG


def _is_wide(facts: Facts, row: int) -> bool:
    written, sources = facts.types(row)
    return facts.code.opcodes[row] in _CARRIES or bool(_WIDE & {written, *sources})


RULE = Rule("long-counter", "Long counter", (EQUAL,), _advise)
