"""The C sources call one another in one direction: a circle of modules is one module, or a function lies in the wrong file.

Read from the text: what a source uses of the names that another one defines and a header that it includes declares, macros
included. The symbols of the object files (``nm``) give the same arrows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.unit.native.test_native_includes import COMMENT, TEXT, files, included, module_of

#: A function or a variable that other files can use, where it is defined: at the beginning of a line.
DEFINED = re.compile(
    r"^(?!static\b|typedef\b|extern\b|struct \w+$|enum\b|#)[A-Za-z_](?:[\w *]*[ *])?(\w+)"
    r"(?:\([^;{}]*\)\s*\{|(?:\[[^\]]*\])*(?: = [^;]*|);)",
    re.MULTILINE,
)
MACRO = re.compile(r"^#define (\w+)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
#: Functions and variables that a header declares, several of which may stand in one line.
DECLARED = re.compile(r"\w+(?=\()|^extern [^;(]*;", re.MULTILINE)
#: No member of something.
WORD = re.compile(r"(?<![\w.>])\w+")
#: Of each program.
ENTRY = "main"


@cache
def code_of(path: Path) -> str:
    return TEXT.sub('""', COMMENT.sub("", path.read_text("utf-8")))


def headers_of(path: Path) -> set[Path]:
    """All headers that a file sees."""
    seen: set[Path] = set()
    waiting = list(included(path))
    while waiting:
        if (header := waiting.pop()) not in seen:
            seen.add(header)
            waiting += included(header)
    return seen


def used_in(path: Path) -> set[str]:
    """The names that a source uses and a header of its declares, also through macros."""
    headers = headers_of(path)
    macros = {name: set(WORD.findall(body)) for header in headers for name, body in MACRO.findall(code_of(header))}
    used = set(WORD.findall(code_of(path)))
    while more := {word for name in used & macros.keys() for word in macros[name]} - used:
        used |= more
    declared = (
        name for header in headers for words in DECLARED.findall(code_of(header)) for name in WORD.findall(words)
    )
    return used.intersection(declared)


def calls(sources: list[Path]) -> dict[str, set[str]]:
    """Which module uses what others define."""
    homes: dict[str, set[str]] = {}
    for path in sources:
        for name in DEFINED.findall(code_of(path)):
            homes.setdefault(name, set()).add(module_of(path))
    homes.pop(ENTRY, None)
    graph = {}
    for path in sources:
        own = module_of(path)
        graph[own] = {home for name in used_in(path) if own not in homes.get(name, ()) for home in homes.get(name, ())}
    return graph


def circle(graph: Mapping[str, set[str]]) -> str | None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " -> ".join(reversed(error.args[1]))
    return None


def test_no_modules_call_one_another_in_a_circle() -> None:
    graph = calls([path for path in files() if path.suffix == ".c"])
    assert sum(map(len, graph.values())) > 200, "the arrows are read"
    assert circle(graph) is None


def test_functions_variables_and_macros_are_arrows() -> None:
    graph = calls([path for path in files() if path.suffix == ".c"])
    assert "confine/fail" in graph["confine/landlock"], "a function"
    assert "disassembler/limits" in graph["disassembler/main"], "a variable"
    assert "recording/current_calls" in graph["level_zero_layer/launches"], "a macro of a header"


def test_a_circle_is_named() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": set()}) is None
    named = circle({"a": {"b"}, "b": {"a"}})
    assert named is not None
    assert set(named.split(" -> ")) == {"a", "b"}
