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
    preamble: list[str] = []
    functions: dict[str, list[str]] = {}
    current: list[str] = preamble
    for line in text.rstrip("\n").split("\n"):
        if match := _FUNCTION.match(line):
            current = functions[match[1]] = []
        current.append(line)
    entries = (match for line in preamble if (match := _ENTRY_POINT.match(line)))
    start = next((match[1] for match in entries if match[2] == kernel), None)
    if start not in functions:
        return None
    kept: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in functions and name not in kept:
            kept.add(name)
            waiting += [match[1] for line in functions[name] if (match := _CALL.search(line))]
    gone = {
        match[1]
        for name, lines in functions.items()
        if name not in kept
        for line in lines
        if (match := _RESULT.match(line))
    }
    lines = [line for line in preamble if not ((match := _ABOUT.match(line)) and match[1] in gone)]
    for name, body in functions.items():
        lines += body if name in kept else []
    return "\n".join(lines) + "\n"
