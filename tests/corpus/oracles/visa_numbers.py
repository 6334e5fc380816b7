"""The compiler's own word on each machine instruction, from the numbers in IGC's dumps and the ``!dbg`` of its LLVM IR.

``.asm`` gives each instruction the number of its vISA instruction (``$N``). ``.visa.ll`` and, for the functions that a
kernel calls, ``_fM.visa.ll`` give each LLVM instruction the number of its first one; its ``!dbg !K`` has a number of that
file's own, which the same instruction in ``_codegen.ll`` has under the module's. (This reads the dumps by other means than
kernlens does: by functions' labels and by the order of the ``!dbg`` alone.)
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_LABEL = re.compile(r"([\w.$]+):\s*(?://.*)?$")
_DEFINE = re.compile(r'^define [^@]*@"?([-\w$.]+)"?\(', re.MULTILINE)
_DBG = re.compile(r", !dbg !(\d+)")
_NUMBER = re.compile(r"; visa id: (\d+)\s*$")
_LOCATION = re.compile(r"^!(\d+) = (?:distinct )?!DILocation\((.*)\)$", re.MULTILINE)
_SCOPE = re.compile(r"^!(\d+) = (?:distinct )?!DI(?:Subprogram|LexicalBlock|LexicalBlockFile)\((.*)\)$", re.MULTILINE)
_FILE = re.compile(r'^!(\d+) = (?:distinct )?!DIFile\(filename: "([^"]*)"', re.MULTILINE)

#: File name without folder, and line; None where the compiler gives the instruction no place.
Place = tuple[str, int] | None


@dataclass(frozen=True)
class Said:
    """The statement of the compiler on one instruction: ``function`` that it is in, ``place``; ``known`` False where
    the numbers do not tell which LLVM instruction it is of."""

    function: str
    known: bool
    place: Place = None


@dataclass(frozen=True)
class _Start:
    number: int
    place: Place
    is_branch: bool


def said_of_instructions(assembly: Path, codegen: Path) -> list[Said]:
    """Return what is said of each instruction in ``assembly``, in order; ``.visa.ll`` files are looked for beside it."""
    starts = _starts(assembly, _places(codegen))
    instructions = []
    function = re.findall(r"//\.kernel (.+)", assembly.read_text(errors="replace"))[0].strip()
    for line in assembly.read_text(errors="replace").splitlines():
        if match := _LABEL.match(line):
            function = match[1] if match[1] in starts else function
        elif line.strip() and not line.startswith("//"):
            number = re.search(r"\$(\d+)", line.partition("//")[2])
            instructions.append(_stated(function, int(number[1]) if number else None, starts.get(function, [])))
    return instructions


def _stated(function: str, number: int | None, starts: list[_Start]) -> Said:
    position = bisect_right(starts, number, key=lambda start: start.number) if number is not None else 0
    if not position or number is None:
        return Said(function, known=False)
    start = starts[position - 1]
    following = starts[position] if position < len(starts) else None
    if number > start.number and following is None and number > start.number + 8:  # the number of another function
        return Said(function, known=False)
    # Moves for the next block come before a branch and are of it. An LLVM instruction that became nothing has the number of
    # the first of them.
    is_first = number == start.number and start.place is not None
    if not is_first and following is not None and following.is_branch and following.place != start.place:
        return Said(function, known=False)
    return Said(function, known=True, place=start.place)


def _starts(assembly: Path, places: dict[str, list[Place]]) -> dict[str, list[_Start]]:
    """Return by function where its LLVM instructions begin, by number; only functions that are the same in both files."""
    of_functions: dict[str, list[_Start]] = {}
    for path in assembly.parent.glob(f"{assembly.stem}*.visa.ll"):
        if not re.fullmatch(r"(_f\d+)?\.visa\.ll", path.name.removeprefix(assembly.stem)):
            continue
        text = path.read_text(errors="replace")
        (function,) = _DEFINE.findall(text)
        body = text[_DEFINE.search(text).start() :].splitlines()[1:]  # type: ignore[union-attr]
        marked = sum(bool(_DBG.search(line)) for line in body)
        if marked != len(places.get(function, ())):
            continue
        order = iter(places[function])
        starts: dict[int, _Start] = {}
        for line in body:
            place = next(order) if _DBG.search(line) else None
            if match := _NUMBER.search(line):
                place = None if "GenISA.CatchAllDebugLine(" in line else place
                starts[int(match[1])] = _Start(int(match[1]), place, line.startswith(("  br ", "  switch ")))
        of_functions[function] = [starts[number] for number in sorted(starts)]
    return of_functions


@lru_cache(maxsize=4)  # A module is asked for by each of its kernels.
def _places(path: Path) -> dict[str, list[Place]]:
    """Return by function the places of its instructions with ``!dbg``, in order."""
    codegen = path.read_text(errors="replace")
    files = {number: name.rsplit("/", 1)[-1] for number, name in _FILE.findall(codegen)}
    scopes = dict(_SCOPE.findall(codegen))
    places: dict[str, Place] = {}
    for number, fields in _LOCATION.findall(codegen):
        line = re.search(r"\bline: (\d+)", fields)
        scope = re.search(r"\bscope: !(\d+)", fields)
        file = None
        while scope is not None and file is None:
            of_scope = re.sub(r'"[^"]*"', "", scopes.get(scope[1], ""))
            file = re.search(r"\bfile: !(\d+)", of_scope)
            scope = re.search(r"\bscope: !(\d+)", of_scope)
        places[number] = (files.get(file[1], "") if file else "", int(line[1])) if line and int(line[1]) else None
    of_functions: dict[str, list[Place]] = {}
    inside: list[Place] | None = None
    for text in codegen.splitlines():
        if match := _DEFINE.match(text):
            inside = of_functions[match[1]] = []
        elif text == "}":
            inside = None
        elif inside is not None and (marked := _DBG.search(text)):
            inside.append(places.get(marked[1]))
    return of_functions
