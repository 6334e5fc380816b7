"""SPIR-V as spirv-dis prints it: one kernel and the functions that it calls, with the module's declarations.

Source: SPIR-V Specification, sections 2.4 (the logical layout of a module) and 3.49.9 (functions). Functions stand at the
end of a module; what speaks of the others only (their names, decorations and entry points) goes with them.
"""

from __future__ import annotations

import re

from kernlens.model.reach import reached

_ENTRY_POINT = re.compile(r'\s*OpEntryPoint \w+ (%\S+) "((?:[^"\\]|\\.)*)"')
_FUNCTION = re.compile(r"\s*(%\S+) = OpFunction ")
_RESULT = re.compile(r"\s*(%\S+) = Op")
_CALL = re.compile(r"= OpFunctionCall %\S+ (%\S+)")
_INSTRUCTION = re.compile(r"\s*(?:%\S+ = )?Op\w+")
#: An instruction that holds a source's text: a file of its own, and no part of any kernel's.
_SOURCE = re.compile(r'\s*OpSource(?:Continued|Extension)?\b[^"]*"')
_ID = re.compile(r"%[\w.]+")
#: What the rows of such texts are about.
_TEXT = "source"
_ABOUT = re.compile(r"\s*Op(?:Name|MemberName|Decorate\w*|EntryPoint \w+|ExecutionMode\w*) (%\S+)")


def cut_to_entry_point(text: str, kernel: str) -> str | None:
    """Return the text without the functions that the kernel does not call; None if there is no such entry point."""
    module = SpirvParts(text.rstrip("\n"))
    called = module.called_by(kernel)
    if called is None:
        return None
    rows = [row for row, subject in module.preamble.items() if module.owners.get(subject, "") in ("", *called)]
    rows += [row for name in module.functions if name in called for row in module.functions[name]]
    return "\n".join(module.rows[row] for row in rows) + "\n"


class SpirvParts:
    """The functions of a module, and the rows before them, read once for all its kernels.

    ``preamble`` maps the rows before the functions to the id that each is about, empty for none; ``owners`` maps ids that
    functions define to the function's.
    """

    def __init__(self, text: str) -> None:
        self.rows = text.split("\n")
        #: What a module of LLVM IR ends with, and SPIR-V has not.
        self.tables: list[int] = []
        self.preamble: dict[int, str] = {}
        self.functions: dict[str, list[int]] = {}
        self.owners: dict[str, str] = {}
        self._entries: dict[str, str] = {}
        self._about: dict[str, list[int]] = {}
        name = subject = ""
        for row, line in enumerate(self.rows):
            if match := _FUNCTION.match(line):
                name = match[1]
                self.functions[name] = []
            result = _RESULT.match(line)
            if name:
                self.functions[name].append(row)
                if result:
                    self.owners[result[1]] = name
                continue
            if entry := _ENTRY_POINT.match(line):
                self._entries.setdefault(entry[2], entry[1])
            if result or _INSTRUCTION.match(line):  # Other rows go on with a string.
                about = result or _ABOUT.match(line)
                subject = about[1] if about else _TEXT if _SOURCE.match(line) else ""
            self.preamble[row] = subject
            self._about.setdefault(subject, []).append(row)

    def called_by(self, kernel: str) -> set[str] | None:
        """Return the ids of an entry point and all functions that it calls; None if there is no such entry point."""
        start = self._entries.get(kernel)
        if start not in self.functions:
            return None
        return set(reached([start], self._calls_in))

    def _calls_in(self, name: str) -> list[str]:
        calls = (_CALL.search(self.rows[row]) for row in self.functions[name])
        return [call[1] for call in calls if call and call[1] in self.functions]

    def of_function(self, function: str) -> list[int] | None:
        """Return the indexes of the rows that an entry point needs, ascending: it, the functions that it calls, and
        what is said before them of all that these name. None if there is no such entry point."""
        called = self.called_by(function)
        if called is None:
            return None
        chosen = [row for name in called for row in self.functions[name]] + self._about.get("", [])
        waiting = {name for row in chosen for name in _ID.findall(self.rows[row])}
        named: set[str] = set()
        while waiting:
            name = waiting.pop()
            named.add(name)
            if self.owners.get(name, name) in (name, *called):
                rows = self._about.get(name, [])
                chosen += rows
                waiting |= {other for row in rows for other in _ID.findall(self.rows[row])} - named
        return sorted(chosen)
