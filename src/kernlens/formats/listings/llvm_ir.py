"""LLVM IR as text: the source line that each instruction came from, inlined calls included.

Source: LLVM Language Reference, sections "Functions", "Metadata" (``!N = ...``) and "Specialized Metadata Nodes"
(DILocation: line, column, scope, inlinedAt; the scope's DISubprogram, DILexicalBlock or DILexicalBlockFile names the
DIFile: filename, directory). Only what debug locations need is read; types and values are not.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kernlens.dataclass import dataclass, field
from kernlens.formats.listings.llvm_parts import LlvmParts
from kernlens.model.source_map import SourcePlace
from kernlens.model.source_path import joined
from kernlens.model.stage_map import StageRows

_ATTACHED = re.compile(r", !dbg !(\d+)")
_NODE = re.compile(r"!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)\s*$")
_STRING = re.compile(r'"([^"]*)"')
_FIELD = re.compile(r"\b(line|column|scope|file|inlinedAt): !?(\d+)")
_TEXT_FIELD = re.compile(r'\b(filename|directory): "([^"]*)"')
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")
_SCOPES = frozenset({"DISubprogram", "DILexicalBlock", "DILexicalBlockFile"})
#: Deeper chains of scopes or of inlined calls than these are damage.
_MOST_SCOPES = 1000
_MOST_CALLS = 200


class LlvmInstruction(NamedTuple):
    """An instruction: its first line in the text, from 1; its function; the number N of its ``!dbg !N``, None if absent."""

    line: int
    function: str
    location: int | None


def read_llvm_lines(text: str) -> StageRows:
    """Read the instructions of every function that the module defines, with their source places. An instruction without
    ``!dbg``, or whose location is line 0, has no source place. Text that is not LLVM IR is passed over."""
    return llvm_rows(LlvmParts(text))


def llvm_rows(parts: LlvmParts) -> StageRows:
    """Return what ``read_llvm_lines`` reads, of a module whose parts are known."""
    locations = _Locations()
    for row in parts.tables:
        locations.note(parts.rows[row])
    rows = StageRows()
    for number, function, location in read_llvm_instructions(parts):
        place, calls = locations.place(location)
        rows.add(number, place, calls, function)
    return rows


def read_llvm_instructions(parts: LlvmParts) -> list[LlvmInstruction]:
    """Read the instructions of every function that the module defines."""
    instructions: list[LlvmInstruction] = []
    for function, lines in parts.functions:
        for row in lines:
            if parts.rows[row].startswith("  "):
                _instruction(instructions, row + 1, parts.rows[row], function)
    return instructions


def _instruction(instructions: list[LlvmInstruction], number: int, line: str, function: str) -> None:
    """Note an instruction's first line; of a later line of it (``switch`` has several) only its location."""
    third = line[2:3]
    if third in (";", "#", ""):
        return
    match = _ATTACHED.search(line)
    location = int(match[1][:9]) if match else None
    if third not in (" ", "]"):
        instructions.append(LlvmInstruction(number, function, location))
    elif location is not None and instructions:
        instructions[-1] = instructions[-1]._replace(location=location)


@dataclass()
class _Locations:
    """The metadata nodes that debug locations are made of, by their numbers, and the locations made of them."""

    nodes: dict[int, tuple[str, dict[str, int]]] = field(default_factory=dict)
    files: dict[int, str] = field(default_factory=dict)
    known: dict[int, tuple[SourcePlace | None, tuple[SourcePlace, ...]]] = field(default_factory=dict)
    scope_paths: dict[int, str] = field(default_factory=dict)

    def note(self, line: str) -> None:
        match = _NODE.match(line)
        if match is None:
            return
        number, kind, content = int(match[1][:9]), match[2], match[3]
        if kind == "DIFile":
            texts = {name: _unescaped(value) for name, value in _TEXT_FIELD.findall(content)}
            self.files[number] = joined(texts.get("directory", ""), texts.get("filename", ""))
        elif kind == "DILocation" or kind in _SCOPES:
            # Strings are removed first: a function may be called "file: !3".
            fields = {name: int(value[:9]) for name, value in _FIELD.findall(_STRING.sub('""', content))}
            self.nodes[number] = kind, fields

    def place(self, location: int | None) -> tuple[SourcePlace | None, tuple[SourcePlace, ...]]:
        """Return the location's source place and the calls that it was inlined through, innermost first."""
        if location is None:
            return None, ()
        if location not in self.known:
            chain: list[SourcePlace] = []
            here: int | None = location
            while here is not None and here in self.nodes and len(chain) < _MOST_CALLS:
                fields = self.nodes[here][1]
                chain.append(
                    SourcePlace(self._path(fields.get("scope")), fields.get("line", 0), fields.get("column", 0))
                )
                here = fields.get("inlinedAt")
            source_place = chain[0] if chain and chain[0].line else None
            self.known[location] = source_place, tuple(chain[1:]) if source_place else ()
        return self.known[location]

    def _path(self, scope: int | None) -> str:
        """Return the file of the nearest scope that names one."""
        passed: list[int] = []
        path = ""
        while scope is not None and len(passed) < _MOST_SCOPES:
            if scope in self.scope_paths:
                path = self.scope_paths[scope]
                break
            passed.append(scope)
            fields = self.nodes.get(scope, ("", {}))[1]
            if "file" in fields:
                path = self.files.get(fields["file"], "")
                break
            scope = fields.get("scope")
        self.scope_paths.update(dict.fromkeys(passed, path))
        return path


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    # A byte that is no printable ASCII is written as two hex digits.
    pieces = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    try:
        return pieces.encode("latin-1").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return pieces
