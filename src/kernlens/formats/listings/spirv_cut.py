"""SPIR-V as spirv-dis prints it: one kernel and the functions that it calls, with the module's declarations.

Source: SPIR-V Specification, sections 2.4 (the logical layout of a module) and 3.49.9 (functions). Functions stand at the
end of a module; what speaks of the others only (their names, decorations and entry points) goes with them.
"""

from __future__ import annotations

import re

_ENTRY_POINT = re.compile(r'\s*OpEntryPoint \w+ (%\S+) "((?:[^"\\]|\\.)*)"')
_FUNCTION = re.compile(r"\s*(%\S+) = OpFunction ")
_RESULT = re.compile(r"\s*(%\S+) = Op")
_CALL = re.compile(r"= OpFunctionCall %\S+ (%\S+)")
_ABOUT = re.compile(r"\s*Op(?:Name|MemberName|Decorate\w*|EntryPoint \w+|ExecutionMode\w*) (%\S+)")


def cut_to_entry_point(text: str, kernel: str) -> str | None:
    """Returns the text without the functions that the kernel does not call; None if there is no such entry point."""
    parts = SpirvParts(text.rstrip("\n"))
    kept = parts.of_function(kernel)
    return None if kept is None else "\n".join(parts.rows[number] for number in kept) + "\n"


class SpirvParts:
    """The functions of a module, and what is said of each before them, read once for all its kernels."""

    def __init__(self, text: str) -> None:
        self.rows = text.split("\n")
        #: What a module of LLVM IR ends with, and SPIR-V has not.
        self.tables: list[int] = []
        self._preamble: list[int] = []
        self._functions: dict[str, list[int]] = {}
        self._calls: dict[str, set[str]] = {}
        #: The function that a result is of.
        self._owners: dict[str, str] = {}
        current, name = self._preamble, ""
        for number, line in enumerate(self.rows):
            if match := _FUNCTION.match(line):
                name = match[1]
                current = self._functions[name] = []
            current.append(number)
            if name and (match := _RESULT.match(line)):
                self._owners[match[1]] = name
            if match := _CALL.search(line):
                self._calls.setdefault(name, set()).add(match[1])
        entries = (match for number in self._preamble if (match := _ENTRY_POINT.match(self.rows[number])))
        self._entries: dict[str, str] = {}
        for match in entries:
            self._entries.setdefault(match[2], match[1])

    def of_function(self, function: str) -> list[int] | None:
        """Returns the indexes of the rows that an entry point needs, ascending; None if there is no such entry point."""
        start = self._entries.get(function)
        if start not in self._functions:
            return None
        kept: set[str] = set()
        waiting = [start]
        while waiting:
            name = waiting.pop()
            if name in self._functions and name not in kept:
                kept.add(name)
                waiting += self._calls.get(name, ())
        left = []
        for number in self._preamble:
            match = _ABOUT.match(self.rows[number])
            owner = self._owners.get(match[1]) if match else None
            if owner is None or owner in kept:
                left.append(number)
        return sorted(left + [number for name in kept for number in self._functions[name]])
