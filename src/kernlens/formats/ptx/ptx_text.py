"""PTX: the text that NVIDIA's compilers give as a program's binary, and compile further for one GPU.

Source: NVIDIA's "Parallel Thread Execution ISA", sections 4 "Syntax", 11.5 "Debugging Directives" (``.file``, ``.loc``). LLVM
writes ``.file NUMBER "DIRECTORY" "NAME"`` for DWARF 5, as in assembly of other targets.
A driver's text ends with NUL. Statements end with ``;``. A ``.loc`` holds for the statements behind it, up to the next one or
the function's end; its ``inlined_at`` names the place of the call, which an earlier ``.loc`` has named with its own calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError, TooManyError
from kernlens.formats.listings.host_assembly import FILE, file_path
from kernlens.model.allowance import Allowance
from kernlens.model.source_map import SourcePlace
from kernlens.model.stage_map import StageRows

#: How far comments may reach before the directive that every PTX text has.
_HEAD = 4096
_VERSION = re.compile(r"^[ \t]*\.version[ \t]+(\d+)\.(\d+)", re.MULTILINE)
_TARGET = re.compile(r"^[ \t]*\.target[ \t]+((?:sm|compute)_\d+[a-z]?)", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
#: A name may hold what begins a comment elsewhere: ``.file 1 "/a//b.cl"``.
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_BLANK = re.compile(r"[^\n]")
_LOC = re.compile(
    r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:\s*,\s*function_name\s+(\S+?)\s*,\s*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?"
)
_HEADER = re.compile(r"\.(entry|func)\b(?:\s*\.noreturn)?\s*(?:\([^(){};]{0,4096}\)\s*)?([A-Za-z_$%][\w$]*)")
_REGISTERS = re.compile(r"\.reg\s+(\.\w+)\s+(%[\w$]+)(?:<(\d+)>)?")
_LABEL = re.compile(r"[A-Za-z_$%][\w$]{0,1023}:")
_CALLED = re.compile(r"\bcall(?:\.uni)?\s+(?:\([^()]*\)\s*,\s*)?([A-Za-z_$][\w$]*)")
#: ``call`` stands at most behind a predicate.
_CALL_WITHIN = 64
_MARK, _SPACE = re.compile(r"[;{}\n]"), re.compile(r"\s*")
#: Directives that end with their line.
_WHOLE_LINES = (".loc", ".file", ".version", ".target", ".address_size", ".section", ".pragma", "@@")
#: What each costs to read: the ends of statements, lines and labels, comments, strings, declarations of registers; a ``.loc``
#: costs as much as several.
_MARKS, _LOC_WEIGHT = (";", "{", "}", "\n", ":", '"', "//", "/*", ".reg"), 3
#: The calls that the places of one text may have together.
_MOST_CALLS = 1 << 20
#: What a body's brace stands behind.
_OPENING = (".entry", ".func", ".visible", ".weak", ".extern", ".section")
#: A longer chain of calls is one that leads back to itself.
_DEEPEST = 256
#: Columns of ``.loc`` with larger numbers are no places of a file.
_LARGEST = 1 << 32


class PtxFunction(NamedTuple):
    """A function with a body. ``first`` and ``last`` are the lines of its header and its closing brace, from 1;
    ``registers`` counts the virtual registers that it declares, by type."""

    name: str
    is_entry: bool
    first: int
    last: int
    registers: dict[str, int]
    called: frozenset[str]


class _Scope(NamedTuple):
    """A function that is being read: its header, and what its body declares so far."""

    name: str
    is_entry: bool
    first: int
    registers: dict[str, int]
    called: set[str]


@dataclass(frozen=True)
class PtxModule:
    """A PTX text. ``version`` is that of PTX, ``target`` what ``.target`` names, ``lines`` the text's."""

    text: str = field(repr=False)
    version: tuple[int, int]
    target: str
    allowance: Allowance = field(default_factory=Allowance, repr=False, compare=False)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text, as they are."""
        return self.text.split("\n")

    @cached_property
    def functions(self) -> tuple[PtxFunction, ...]:
        """The functions with a body, in the text's order."""
        return self._read[0]

    @cached_property
    def rows(self) -> StageRows:
        """The statements of all functions: their lines, and the places that ``.loc`` gives them."""
        return self._read[1]

    @property
    def entries(self) -> tuple[PtxFunction, ...]:
        """The kernels."""
        return tuple(function for function in self.functions if function.is_entry)

    def part(self, kernel: str) -> range | None:
        """Return the lines of a function, counted from 0; None if there is none of that name."""
        return next((range(each.first - 1, each.last) for each in self.functions if each.name == kernel), None)

    @cached_property
    def _read(self) -> tuple[tuple[PtxFunction, ...], StageRows]:
        return read_ptx_functions(self.text, self.allowance)


def is_ptx(start: bytes) -> bool:
    """Return whether bytes begin like PTX: ``.version`` and ``.target`` behind nothing but comments."""
    if b".version" not in start[:_HEAD]:
        return False
    text = start[:_HEAD].decode("utf-8", "replace")
    before = text.partition(".version")[0]
    return not _COMMENT.sub("", before).strip() and _VERSION.search(text) is not None


def read_ptx(data: memoryview, allowance: Allowance | None = None) -> PtxModule:
    """Read the directives of a PTX text; its functions are read when asked for. NUL ends the text. ``allowance`` is that of the
    whole input (None: this is it). Raises FormatError if it names no version or target."""
    content = bytes(data).partition(b"\0")[0]
    text = content.decode("utf-8", "replace")
    head = _blanked(text[: 4 * _HEAD])
    version, target = _VERSION.search(head), _TARGET.search(head)
    if version is None or target is None:
        raise FormatError("the text names no .version and .target", format="ptx", offset=0)
    return PtxModule(text, (int(version[1][:9]), int(version[2][:9])), target[1], allowance or Allowance(len(data)))


def read_ptx_lines(text: str) -> StageRows:
    """Return the statements of a PTX text and the places that its ``.loc`` lines give them."""
    return read_ptx_functions(text.partition("\0")[0], Allowance(len(text)))[1]


def _blanked(text: str) -> str:
    """Return the text with blanks in place of comments, so that all else keeps its place."""
    return _STRING_OR_COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else _BLANK.sub(" ", match[0]), text)


def _without_strings(text: str) -> str:
    """Return the text with blanks in place of what strings hold, which may be anything."""
    return _STRING_OR_COMMENT.sub(lambda match: f'"{_BLANK.sub(" ", match[0][1:-1])}"', text)


class _Piece(NamedTuple):
    """A part of the text up to ``end``: ``;``, a brace, or a newline behind a directive that has no such end."""

    line: int
    text: str
    end: str
    last: int


def _pieces(text: str) -> Iterator[_Piece]:
    """Yield the pieces of a text without comments, without their labels. Braces within a statement (vectors, lists of
    values) do not end a piece. Each character is looked at a few times at most."""
    start, start_line, line, inner = 0, 1, 1, 0
    first, begun = -1, -1  # Where the piece that starts at ``begun`` has its first character behind blanks and labels.
    for mark in _MARK.finditer(text):
        position, end = mark.start(), mark[0]
        if begun != start:
            if first < start:  # Else all between is blank, however often a piece of it begins.
                first = _SPACE.match(text, start).end()  # type: ignore[union-attr]
            begun = start if first < position else -1
            while first < position and (label := _LABEL.match(text, first, position)):
                first = _SPACE.match(text, label.end()).end()  # type: ignore[union-attr]
        is_empty = first >= position
        if end == "\n":
            if not is_empty and not inner and text.startswith(_WHOLE_LINES, first):
                yield _Piece(line, text[first:position].strip(), end, line)
                is_empty = True
            line += 1
            if is_empty:
                start, start_line = position + 1, line
            continue
        is_statement = not is_empty and not text.startswith(_OPENING, first)
        if end != ";" and is_statement and (end == "{" or inner):
            inner += 1 if end == "{" else -1
            continue
        inner = 0
        first = min(first, position)
        yield _Piece(start_line + text.count("\n", start, first), text[first:position].strip(), end, line)
        start, start_line = position + 1, line


def read_ptx_functions(text: str, allowance: Allowance) -> tuple[tuple[PtxFunction, ...], StageRows]:
    """Return the functions of a PTX text, and its statements with the places that ``.loc`` gives them. Raises TooManyError for
    more than ``allowance`` has room for."""
    marks = sum(map(text.count, (*_MARKS, *[".loc"] * _LOC_WEIGHT)))
    allowance.count_statements(marks, len(text), format="ptx")
    bare = _blanked(text)
    # They may stand anywhere.
    files = {int(match[1][:9]): file_path(match[2], match[3]) for match in FILE.finditer(bare)}
    rows = StageRows()
    functions: list[PtxFunction] = []
    scope: _Scope | None = None
    depth = 0
    place: SourcePlace | None = None
    calls: tuple[SourcePlace, ...] = ()
    chains: dict[tuple[int, int, int], tuple[SourcePlace, ...]] = {}
    left = _MOST_CALLS
    for piece in _pieces(_without_strings(bare)):
        if scope is None:
            header = _HEADER.search(piece.text) if piece.end == "{" else None
            if header is not None:
                scope = _Scope(header[2], header[1] == "entry", piece.line, {}, set())
                depth, place, calls, chains = 1, None, (), {}
            continue
        if piece.text.startswith(".loc"):
            place, calls = _located(piece.text, files, chains)
            left -= len(calls)
            if left < 0:
                raise TooManyError(f"more than {_MOST_CALLS:,} inlined calls are too many for one text", format="ptx")
        elif piece.text.startswith(".reg"):
            for match in _REGISTERS.finditer(piece.text):
                kind = match[1].removeprefix(".")
                scope.registers[kind] = scope.registers.get(kind, 0) + int((match[3] or "1")[:9])
        elif piece.text and not piece.text.startswith("."):
            rows.add(piece.line, place, calls, scope.name)
            if "call" in piece.text[:_CALL_WITHIN] and (called := _CALLED.search(piece.text)):
                scope.called.add(called[1])
        depth += {"{": 1, "}": -1}.get(piece.end, 0)
        if depth == 0:
            functions.append(
                PtxFunction(
                    scope.name, scope.is_entry, scope.first, piece.last, scope.registers, frozenset(scope.called)
                )
            )
            scope = None
    return tuple(functions), rows


def _located(
    piece: str, files: dict[int, str], chains: dict[tuple[int, int, int], tuple[SourcePlace, ...]]
) -> tuple[SourcePlace | None, tuple[SourcePlace, ...]]:
    """Return the place and the calls of a ``.loc``, and remember them for those that were inlined there."""
    match = _LOC.match(piece)
    if match is None or any(len(number or "") > 10 for number in match.groups()[:3]):
        return None, ()
    file, line, column = (int(match[index]) for index in (1, 2, 3))
    place = SourcePlace(files.get(file, ""), line, column) if line and line < _LARGEST else None
    calls: tuple[SourcePlace, ...] = ()
    if match[5] is not None and all(len(match[index]) <= 10 for index in (5, 6, 7)):
        outer = int(match[5]), int(match[6]), int(match[7])
        call = SourcePlace(files.get(outer[0], ""), outer[1], outer[2])
        calls = (call, *chains.get(outer, ()))[:_DEEPEST]
    chains[file, line, column] = calls
    return place, calls
