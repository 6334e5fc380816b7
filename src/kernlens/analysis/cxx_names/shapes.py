"""Reads each shape of mangled names once: a library has thousands of names that differ in their identifiers alone.

A shape is a name with marks in the place of its identifiers. No rule of the grammar looks into identifiers, but for two that
stay in the shape, so that the text of a name is that of its shape with the identifiers in the place of the marks.
"""

from __future__ import annotations

import re

from kernlens.analysis.cxx_names.grammar import TEXT, OtherGrammarError
from kernlens.analysis.cxx_names.names import NameReader

_LONGEST_NAME, _MOST_DIGITS = 8192, 4
#: Characters of names and shapes that are kept, with their texts.
_KEPT = 16 << 20
#: Names with their texts, and shapes with theirs, in which ``{0}`` stands for the first identifier; None where each name is
#: to be read alone.
_known: dict[str, str] = {}
_texts: dict[str, str | None] = {}
_room = _KEPT

#: A number that may be the length of an identifier, or what else numbers stand in.
_NUMBER = re.compile(r"S[0-9A-Z]*_|T[0-9]*_|L[a-z]n?[0-9]+E|E[0-9]+[E_]|D[vF][0-9]+|A[0-9]+_|([0-9]+)")
#: The marks are of Unicode's private use area: as many as the longest name can have identifiers.
_FIRST = 0xE000
_MARK = re.compile(f"[{chr(_FIRST)}-{chr(_FIRST + _LONGEST_NAME // 2)}]")
_MARKS = [chr(_FIRST + number) for number in range(_LONGEST_NAME // 2)]


def demangled(name: str) -> str:
    """Returns the name as C++ has it; a name that is too long or of another grammar as it is."""
    if len(name) > _LONGEST_NAME:
        return name
    said = _known.get(name)
    if said is None:
        said = _filled(name)
        _take_room(len(name) + len(said))
        _known[name] = said
    return said


def _take_room(size: int) -> None:
    global _room
    _room -= size
    if _room < 0:
        _known.clear()
        _texts.clear()
        _room = _KEPT - size


def _filled(name: str) -> str:
    """Returns the text of the name's shape with its identifiers, or what the name itself is read as."""
    shape, identifiers = _shape(name)
    # Names with other characters in an identifier are few.
    if identifiers and name.isascii() and f"_{''.join(identifiers)}".isidentifier():
        if shape not in _texts:
            text = _text(shape, len(identifiers))
            _take_room(len(shape) + len(text or ""))
            _texts[shape] = text
        text = _texts[shape]
        if text is not None and len(text) * max(map(len, identifiers)) <= TEXT:
            return text.format(*identifiers)
    try:
        return NameReader(name.removeprefix("_Z")).whole()
    except OtherGrammarError:
        return name


def _shape(name: str) -> tuple[str, list[str]]:
    """Returns the name with marks in the place of its identifiers, as far as their lengths can be told from other numbers
    without its grammar, and these."""
    pieces: list[str] = []
    identifiers: list[str] = []
    start = position = 0
    while (number := _NUMBER.search(name, position)) is not None:
        position = number.end()
        if number[1] is not None and len(number[1]) <= _MOST_DIGITS:
            length = int(number[1])
            identifier = name[position : position + length]
            position = end = position + length
            if len(identifier) == length > 0 and identifier != "std" and not identifier.startswith("_GLOBAL__N"):
                pieces += name[start : number.start()], "1", _MARKS[len(identifiers)]
                identifiers.append(identifier)
                start = end
    pieces.append(name[start:])
    return "".join(pieces), identifiers


def _text(shape: str, count: int) -> str | None:
    """Returns the text of a shape with ``count`` marks; None if it is of another grammar, or a mark stands where the grammar
    has no identifier."""
    reader = NameReader(shape.removeprefix("_Z"))
    try:
        said = reader.whole()
    except OtherGrammarError:
        return None
    if not reader.identifiers.issuperset(_MARKS[:count]):
        return None
    return _MARK.sub(lambda mark: f"{{{ord(mark[0]) - _FIRST}}}", said.replace("{", "{{").replace("}", "}}"))
