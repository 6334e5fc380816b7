"""LLVM IR as text: the parts of a module, and those that one function needs.

Source: LLVM Language Reference, "Module Structure" and the sections on its parts. Every part of a module stands on a line
of its own, but for functions, which end with a line that begins with ``}``. Names are followed wherever they occur in what a
function needs, strings and comments included, which may keep too much but never too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kernlens.model.reach import reached

_QUOTED = r'"[^"]*"'
_SYMBOL = re.compile(rf"@({_QUOTED}|[-\w$.]+)")
#: What a part may need of the module's other parts: functions and variables, types, comdats, attributes, metadata.
_NAME = re.compile(rf"[@%$](?:{_QUOTED}|[-\w$.]+)|#\d+|!\d+")
_DEFINED = re.compile(rf"(?:attributes )?([@%$](?:{_QUOTED}|[-\w$.]+)|#\d+) = ")
_METADATA = re.compile(r"(![-\w$.\\]+) = ")
_ENTRIES = re.compile(r"![-A-Za-z$._\\][-\w$.\\]* = !\{(.*)\}\s*$")


class LlvmParts:
    """The parts of a module, read once for all its kernels.

    ``functions`` are those that it defines, each with its rows; ``tables`` are the rows of metadata, which is among the
    parts that a function may need only ``with_metadata``.
    """

    def __init__(self, text: str, *, with_metadata: bool = False) -> None:
        self.rows = text.split("\n")
        self.functions: list[tuple[str, range]] = []
        self.tables: list[int] = []
        #: The rows that define no name.
        self._others: list[int] = []
        self._lines: dict[str, range] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._read()
        if with_metadata:
            for row in self.tables:
                if match := _METADATA.match(self.rows[row]):
                    self._lines[match[1]] = range(row, row + 1)

    def defined(self) -> list[str]:
        """Return the names of the functions that the module defines, in its order; one that is cut off is none."""
        return [name for name, lines in self.functions if name and self._is_whole(lines)]

    def of_function(self, function: str) -> list[int] | None:
        """Return the indexes of the rows that a function needs, its own too, ascending; None if it is not defined here."""
        needed = self._needed_by(function)
        return None if needed is None else self._rows_of(needed)

    def _needed_by(self, function: str) -> set[str] | None:
        """Return the names of the parts that a function needs, its own among them; None if the module does not define it."""
        start = next((name for name in (f"@{function}", f'@"{function}"') if name in self._lines), None)
        return (
            set(reached([start], self._names_in)) if start is not None and self._is_whole(self._lines[start]) else None
        )

    def _names_in(self, name: str) -> frozenset[str]:
        """Return the names of the parts that a part speaks of."""
        if name not in self._names:
            lines = self._lines[name]
            text = "\n".join(self.rows[lines.start : lines.stop])
            self._names[name] = frozenset(_NAME.findall(text)) & self._lines.keys()
        return self._names[name]

    def _rows_of(self, names: Iterable[str]) -> list[int]:
        """Return the indexes of the rows of the named parts, ascending."""
        return sorted(row for name in names for row in self._lines[name])

    def _is_whole(self, lines: range) -> bool:
        """Return whether these are the rows of a function that is not cut off."""
        return self.rows[lines.stop - 1].startswith("}")

    def cut_to_function(self, function: str) -> str | None:
        """Return the module with nothing but what a function needs, a module again; None if it does not define it. Of
        named metadata those entries stay that speak of no other function. Needs the parts ``with_metadata``."""
        names = self._needed_by(function)
        if names is None:
            return None
        entries = self._entries(names)
        named = (entry for listed in entries.values() for entry in listed if entry in self._lines)
        names |= reached(named, self._names_in).keys()
        nameless = [name for name in self._lines if name.startswith("@") and name[1:].isdecimal()]
        if not names.isdisjoint(nameless):  # They are numbered without a gap.
            names |= reached(nameless, self._names_in).keys()
        chosen = {row: self.rows[row] for row in (*self._others, *self._rows_of(names))}
        for name, listed in entries.items():
            chosen[self._lines[name].start] = f"{name} = !{{{', '.join(listed)}}}"
        return "\n".join(_without_gaps(chosen[row] for row in sorted(chosen))) + "\n"

    def _entries(self, names: set[str]) -> dict[str, list[str]]:
        """Map named metadata to its entries that lead to no function that goes; those without any are left out."""
        metadata = [name for name in self._lines if name.startswith("!")]
        users: dict[str, list[str]] = {}
        for user in metadata:
            if user[1:].isdecimal():
                for name in self._names_in(user):
                    users.setdefault(name, []).append(user)
        functions = [name for name, lines in self._lines.items() if name.startswith("@") and self._is_whole(lines)]
        other = reached((name for name in functions if name not in names), lambda name: users.get(name, ()))
        entries = {}
        for name in metadata:
            if match := _ENTRIES.match(self.rows[self._lines[name].start]):
                listed = [entry.strip() for entry in match[1].split(",") if entry.strip()]
                entries[name] = [entry for entry in listed if entry not in other]
        return {name: listed for name, listed in entries.items() if listed}

    def _read(self) -> None:
        first = -1
        name = ""
        for row, line in enumerate(self.rows):
            if first >= 0:
                if line.startswith("}"):
                    self._add_function(name, range(first, row + 1))
                    first = -1
            elif line.startswith("!"):
                self.tables.append(row)
            elif line.startswith(("define ", "declare ")):
                match = _SYMBOL.search(line)
                name = f"@{match[1]}" if match else ""
                before = row
                if self._others and self._others[-1] == row - 1 and self.rows[row - 1].startswith("; Function Attrs"):
                    before = self._others.pop()
                if line.startswith("define "):
                    first = before
                else:
                    self._lines.setdefault(name, range(before, row + 1))
            elif match := _DEFINED.match(line):
                self._lines.setdefault(match[1], range(row, row + 1))
            else:
                self._others.append(row)
        if first >= 0:
            self._add_function(name, range(first, len(self.rows)))

    def _add_function(self, name: str, lines: range) -> None:
        self.functions.append((name[1:].strip('"'), lines))
        # A whole definition counts, whatever else of its name the text holds; of two the first.
        if name not in self._lines or not self._is_whole(self._lines[name]):
            self._lines[name] = lines


def _without_gaps(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines, of which several blank ones in a row become one; none stands at the end."""
    blank = False
    for line in lines:
        if line and blank:
            yield ""
        blank = not line
        if line:
            yield line
