"""Which lines of a whole program's listing are about one kernel: it, what it calls, and what these use."""

from __future__ import annotations

import re
from collections.abc import Iterable

_QUOTED = r'"[^"]*"'
_SYMBOL = re.compile(rf"@({_QUOTED}|[-\w$.]+)")
_NAME = re.compile(rf"[@%$](?:{_QUOTED}|[-\w$.]+)|#\d+")
_DEFINED = re.compile(rf"([@%$](?:{_QUOTED}|[-\w$.]+)) = |attributes (#\d+) = ")


class LlvmParts:
    """The parts of a module of LLVM IR, by their names, read once for all its kernels; metadata is left out, and stands in
    ``tables``.

    Source: LLVM Language Reference, "Module Structure". Every part stands on a line of its own, but for functions, which end
    with a line that begins with ``}``.
    """

    def __init__(self, text: str) -> None:
        self.rows = text.split("\n")
        self.tables: list[int] = []
        self._lines: dict[str, range] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._read()

    def of_function(self, function: str) -> list[int] | None:
        """Returns the indexes of the rows that a function needs, ascending, its own among them; None if the module does not
        define it."""
        start = next((name for name in (f"@{function}", f'@"{function}"') if name in self._lines), None)
        if start is None or not self.rows[self._lines[start].stop - 1].startswith("}"):
            return None
        reached: set[str] = set()
        waiting = [start]
        while waiting:
            name = waiting.pop()
            if name in self._lines and name not in reached:
                reached.add(name)
                waiting += self._names_of(name)
        return sorted(row for name in reached for row in self._lines[name])

    def _names_of(self, name: str) -> Iterable[str]:
        if name not in self._names:
            lines = self._lines[name]
            text = "\n".join(self.rows[lines.start : lines.stop])
            self._names[name] = frozenset(_NAME.findall(text)) & self._lines.keys()
        return self._names[name]

    def _read(self) -> None:
        first = -1
        name = ""
        for row, line in enumerate(self.rows):
            if first >= 0:
                if line.startswith("}"):
                    self._lines[name] = range(first, row + 1)
                    first = -1
            elif line.startswith("!"):
                self.tables.append(row)
            elif line.startswith(("define ", "declare ")):
                match = _SYMBOL.search(line)
                name = f"@{match[1]}" if match else ""
                before = row - 1 if row and self.rows[row - 1].startswith("; Function Attrs") else row
                if line.startswith("define "):
                    first = before
                else:
                    self._lines.setdefault(name, range(before, row + 1))
            elif match := _DEFINED.match(line):
                self._lines.setdefault(match[1] or match[2], range(row, row + 1))
