"""The loops of OpenCL C in a source's text, with the number of their passes where constants tell it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from kernlens.analysis.advice.literals import literal
from kernlens.dataclass import NamedTuple

_LOOP = re.compile(r"\b(?:for|while|do)\b")
#: What is no code, to be replaced by blanks: comments, strings, and lines of the preprocessor.
NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*\"|^[ \t]*#(?:[^\\\n]|\\[^\n]|\\\n)*", re.DOTALL | re.MULTILINE
)
_MARK, _ELSE = re.compile(r"[({\[;}]"), re.compile(r"\s*else\b")
_START = re.compile(r"\b(\w+)\s*=\s*([^,;=]+)$")
_CONDITION = re.compile(r"(\w+)\s*(<=|>=|<|>|!=)\s*(.+)")
_STEP = re.compile(r"(?:(\w+)\s*(\+\+|--)|(\+\+|--)\s*(\w+)|(\w+)\s*([-+])=\s*(\w+))")
#: Characters of a text that are read for loops, and of the header of one.
_LONGEST_TEXT = 4 << 20
_LONGEST_HEADER = 400
#: Brackets and semicolons that are followed from the heads of a text's loops to their ends, and of one loop.
_STEPS, _STEPS_OF_LOOP = 400_000, 2000


class SourceLoop(NamedTuple):
    """A loop: the characters of the whole statement in its text, the ``line`` and ``column`` where it begins, and its
    ``trips``, None if the text does not tell them."""

    code: range
    line: int
    column: int
    trips: int | None


def loops_in(lines: Sequence[str], value: Callable[[str], int | None]) -> list[SourceLoop]:
    """Return the loops of a source, in the order of its text. ``value`` is that of an expression in a header."""
    text = "\n".join(lines)
    if len(text) > _LONGEST_TEXT:
        return []
    text = NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    ends = _brackets(text)
    starts = _line_starts(text)
    return list(_loops(text, ends, starts, value))


def _loops(
    text: str, ends: dict[int, int], starts: list[int], value: Callable[[str], int | None]
) -> Iterator[SourceLoop]:
    line = steps = 0
    for match in _LOOP.finditer(text):
        header, begin = "", match.end()
        if match[0] != "do":
            behind = text[begin : begin + _LONGEST_HEADER]
            bracket = begin + len(behind) - len(behind.lstrip())
            if text[bracket : bracket + 1] != "(" or bracket not in ends:
                continue
            header, begin = text[bracket + 1 : ends[bracket]], ends[bracket] + 1
        while line + 1 < len(starts) and starts[line + 1] <= match.start():
            line += 1
        end, taken = _end_of_statement(text, begin, ends)
        steps += taken
        if steps > _STEPS:
            return
        trips = _trips(header, value) if match[0] == "for" and len(header) <= _LONGEST_HEADER else None
        yield SourceLoop(range(match.start(), end), line + 1, match.start() - starts[line] + 1, trips)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _brackets(text: str) -> dict[int, int]:
    """Return where the bracket that begins at each index ends."""
    ends: dict[int, int] = {}
    open_ones: list[int] = []
    for match in re.finditer(r"[(){}\[\]]", text):
        if match[0] in "([{":
            open_ones.append(match.start())
        elif open_ones:
            ends[open_ones.pop()] = match.start()
    return ends


def _end_of_statement(text: str, start: int, ends: dict[int, int]) -> tuple[int, int]:
    """Return the index behind the statement that begins at ``start``, and the steps that were taken to it."""
    index = start
    for step in range(_STEPS_OF_LOOP):
        match = _MARK.search(text, index)
        if match is None:
            return len(text), step
        if match[0] == "}":
            return match.end(), step
        end = match.start() if match[0] == ";" else ends.get(match.start(), len(text))
        index = end + 1
        if match[0] in "{;" and not _ELSE.match(text, index):
            return index, step
    return index, _STEPS_OF_LOOP


def _trips(header: str, value: Callable[[str], int | None]) -> int | None:
    parts = header.split(";")
    if len(parts) != 3:
        return None
    start, condition = _START.search(parts[0].strip()), _CONDITION.fullmatch(parts[1].strip())
    steps = filter(None, (_STEP.fullmatch(step.strip()) for step in parts[2].split(",")))
    stepped = next((step for step in steps if condition and condition[1] in (step[1], step[4], step[5])), None)
    if start is None or condition is None or stepped is None or start[1] != condition[1]:
        return None
    first, last = value(start[2]), value(condition[3])
    size = value(stepped[7]) if stepped[7] else 1
    if first is None or last is None or not size:
        return None
    distance = abs(last - first) + (condition[2] in ("<=", ">="))
    return -(-distance // size)


def number(text: str, expansions: Callable[[str], list[str]]) -> int | None:
    """Return the value of an integer literal, or of a macro that is one; None for any other expression."""
    text = text.strip()
    value = literal(text)
    if value is None:
        bodies = {body.strip() for body in expansions(text)} if re.fullmatch(r"-?\w+", text) else set()
        value = literal(bodies.pop()) if len(bodies) == 1 else None
    return int(value) if value is not None and value == int(value) else None
