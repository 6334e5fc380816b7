"""LLVM IR as text: one function, what it calls and uses, and nothing else.

Source: LLVM Language Reference, "Module Structure" and the sections on its parts. Every part of a module stands on a line
of its own, but for functions, which end with a line that begins with ``}``. What is left is a module again: names are
followed wherever they occur in what stays, strings and comments included, which may keep too much but never too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernlens.dataclass import dataclass

_QUOTED = r'"[^"]*"'
_SYMBOL = re.compile(rf"@({_QUOTED}|[-\w$.]+)")
#: What a part may need of the module's other parts: functions and variables, types, comdats, attributes, metadata.
_NAME = re.compile(rf"[@%$](?:{_QUOTED}|[-\w$.]+)|#\d+|!\d+")
_DEFINED = re.compile(rf"([@%$](?:{_QUOTED}|[-\w$.]+)|!\d+) = |attributes (#\d+) = ")
_NAMED_METADATA = re.compile(r"(![-A-Za-z$._\\][-\w$.\\]*) = !\{(.*)\}\s*$")


@dataclass()
class _Part:
    """A part of the module: its lines, and the name that it defines, if any."""

    lines: list[str]
    name: str = ""
    is_function: bool = False
    names: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.names = frozenset(_NAME.findall("\n".join(self.lines))) - {self.name}


def functions_of(text: str) -> list[str]:
    """Returns the names of the functions that the module defines, in its order; one that is cut off is none."""
    return [part.name[1:].strip('"') for part in _parts(text) if part.is_function and part.name]


def cut_to_function(text: str, function: str) -> str | None:
    """Returns the module with nothing but a function, the functions that it calls, and what these use; None if the module
    does not define it.

    Of named metadata those entries stay that speak of no other function.
    """
    parts = list(_parts(text))
    # A definition counts, whatever else of its name the text holds.
    known = {part.name: part for part in sorted(parts, key=lambda part: part.is_function) if part.name}
    start = next((name for name in (f"@{function}", f'@"{function}"') if name in known), None)
    if start is None or not known[start].is_function:
        return None
    kept = _reached([start], known)
    entries = _entries(parts, known, kept)
    kept |= _reached([name for names in entries.values() for name in names], known)
    if any(name[1:].isdecimal() and name[0] == "@" for name in kept):
        # Nameless functions and variables are numbered without a gap.
        kept |= _reached([name for name in known if name[0] == "@" and name[1:].isdecimal()], known)
    lines: list[str] = []
    for part in parts:
        if part.name in entries:
            lines.append(f"{part.name} = !{{{', '.join(entries[part.name])}}}")
        elif not part.name or part.name in kept:
            lines += part.lines
    return "\n".join(_without_gaps(lines)) + "\n"


def _parts(text: str) -> Iterator[_Part]:
    """Yields the module's parts; comments belong to the part that follows them, blank lines are parts."""
    before: list[str] = []
    body: list[str] | None = None
    name = ""
    for line in text.split("\n"):
        if body is not None:
            body.append(line)
            if line.startswith("}"):
                yield _Part(body, name, is_function=True)
                body = None
        elif line.startswith("; Function Attrs"):
            before.append(line)
        elif line.startswith(("define ", "declare ")):
            match = _SYMBOL.search(line)
            name = f"@{match[1]}" if match else ""
            if line.startswith("define "):
                body = [*before, line]
            else:
                yield _Part([*before, line], name)
            before = []
        else:
            yield from (_Part([each]) for each in before)
            before = []
            named = _NAMED_METADATA.match(line)
            match = _DEFINED.match(line)
            yield _Part([line], named[1] if named else (match[1] or match[2]) if match else "")
    yield from (_Part([each]) for each in [*before, *(body or [])])


def _reached(start: list[str], known: dict[str, _Part]) -> set[str]:
    """The names of all parts that the named ones need, and their own."""
    reached: set[str] = set()
    waiting = [name for name in start if name in known]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [other for other in known[name].names if other in known and other not in reached]
    return reached


def _entries(parts: list[_Part], known: dict[str, _Part], kept: set[str]) -> dict[str, list[str]]:
    """Named metadata -> its entries that lead to no function that goes; those without any are empty."""
    users: dict[str, list[str]] = {}
    for part in parts:
        if part.name.startswith("!") and part.name[1:].isdecimal():
            for name in part.names:
                users.setdefault(name, []).append(part.name)
    waiting = [name for name, part in known.items() if name[0] == "@" and name not in kept and part.is_function]
    other: set[str] = set(waiting)
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in other:
                other.add(user)
                waiting.append(user)
    entries: dict[str, list[str]] = {}
    for part in parts:
        match = _NAMED_METADATA.match(part.lines[0])
        if match and part.name == match[1]:
            listed = [entry.strip() for entry in match[2].split(",") if entry.strip()]
            entries[part.name] = [entry for entry in listed if entry not in other]
    return {name: names for name, names in entries.items() if names}


def _without_gaps(lines: list[str]) -> Iterator[str]:
    """Several blank lines in a row become one; none stands at the end."""
    blank = False
    for line in lines:
        if line and blank:
            yield ""
        blank = not line
        if line:
            yield line
