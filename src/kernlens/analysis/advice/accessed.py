"""The variable that a load or a store of the source accesses.

A load has the place of the variable, a store that of its operator: ``t[i] = x`` has it at ``=``.
"""

from __future__ import annotations

import re

from kernlens.analysis.advice.facts import Facts
from kernlens.model.source_map import SourcePlace

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LAST_NAME = re.compile(r"(?<!\w)\d*([A-Za-z_]\w*)\s*$", re.ASCII)
#: The ends of operators that write what stands before them.
_WRITING = ("=", 2 * "+", 2 * "-")
_CLOSING = {"]": "[", ")": "("}
#: A component of a vector.
_COMPONENT = re.compile(r"(?<=[\])\w])\.(?:[xyzw]{1,4}|[sS][0-9a-fA-F]{1,16}|lo|hi|even|odd)$")


def accessed_name(facts: Facts, place: SourcePlace) -> str:
    """Return the name of the variable that the instructions of a place access; empty if the text does not tell it."""
    construct = facts.tokens.at(place)
    if construct is None:
        return ""
    if _NAME.fullmatch(construct.token):
        return "" if construct.is_macro else construct.token
    line = facts.tokens.texts[place.path][place.line - 1]
    return _target(line[: place.column - 1]) if line.isascii() and construct.token.endswith(_WRITING) else ""


def _target(text: str) -> str:
    """Return the variable at the end of a text: ``t`` of ``a + t[i + 1].x``."""
    text = _COMPONENT.sub("", text.rstrip())
    while text and text[-1] in _CLOSING:
        opening, depth = _CLOSING[text[-1]], 0
        for index in range(len(text) - 1, -1, -1):
            depth += (text[index] == text[-1]) - (text[index] == opening)
            if depth == 0:
                break
        text = text[:index].rstrip()
    name = _LAST_NAME.search(text)
    return name[1] if name else ""
