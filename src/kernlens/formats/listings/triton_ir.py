"""Source lines in Triton's own stages: MLIR text, whose operations end with ``loc(...)``.

Source: the MLIR language reference, "Location Attributes" (builtin dialect): ``"file":line:column``, ``"name"(location)``,
``callsite(callee at caller)``, ``fused[...]``, ``unknown``, and aliases ``#loc5 = loc(...)``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernlens.model.source_map import SourcePlace
from kernlens.model.stage_map import StageRows

_ALIAS = re.compile(r"(#loc\d*) = loc\((.*)\)\s*$")
_OPERATION = re.compile(r"\s+(?:%|\"?[a-z_][a-z_0-9]*\.[a-z_])")
_AT_END = re.compile(
    r"loc\((?P<of>#loc\d*|\"[^\"\n]*\":\d+:\d+|callsite\((?:(?!loc\()\S)+ at (?:(?!loc\()\S)+\))\)\s*$"
)
_FUNCTION = re.compile(r"\s*(?:tt|llvm|func)\.func\b[^@\n]{0,200}@\"?([\w$.]+)")
_PLACE = re.compile(r'"([^"\n]*)":(\d{1,9}):(\d{1,9})$')
_NAMED = re.compile(r'"[^"\n]*"\((.*)\)$')
_CALLSITE = re.compile(r"callsite\((\S+) at (\S+)\)$")
_FUSED = re.compile(r"fused(?:<[^<>\n]*>)?\[([^,\]\n]+)")
#: Deeper nests of locations lead back to themselves.
_DEEPEST = 64


def read_triton_lines(text: str) -> StageRows:
    """Return the operations of a stage's text, and the places that their locations mean."""
    lines = text.split("\n")
    aliases = {match[1]: match[2] for line in lines if line.startswith("#loc") and (match := _ALIAS.match(line))}
    known: dict[str, tuple[SourcePlace, ...]] = {}
    rows = StageRows()
    function = ""
    for number, line in enumerate(lines, 1):
        if header := _FUNCTION.match(line):
            function = header[1]
        elif _OPERATION.match(line):
            match = _AT_END.search(line)
            stack = _places(match["of"], aliases, known, 0) if match else ()
            place = stack[0] if stack and stack[0].line else None
            rows.add(number, place, stack[1:] if place else (), function)
    return rows


def _places(
    location: str, aliases: Mapping[str, str], known: dict[str, tuple[SourcePlace, ...]], depth: int
) -> tuple[SourcePlace, ...]:
    """Return the place that a location means, and the calls through which it was inlined, innermost first; none if it names
    none."""
    if depth > _DEEPEST:
        return ()
    if location in known:
        return known[location]
    stack: tuple[SourcePlace, ...] = ()
    if location in aliases:
        stack = _places(aliases[location], aliases, known, depth + 1)
    elif match := _PLACE.match(location):
        stack = (SourcePlace(match[1], int(match[2]), int(match[3])),)
    elif match := _CALLSITE.match(location):
        stack = (
            *_places(match[1], aliases, known, depth + 1),
            *_places(match[2], aliases, known, depth + 1),
        )[:_DEEPEST]
    elif (match := _NAMED.match(location)) or (match := _FUSED.match(location)):
        stack = _places(match[1].strip(), aliases, known, depth + 1)
    known[location] = stack
    return stack
