"""LLVM IR as the vISA emitter saw it (``.visa.ll``): the source line that each instruction came from.

Source: the files of IGC 1.0.12504 and 2.40.14. Each holds one kernel's functions. An instruction that became vISA ends
with ``; visa id: N``, the number of its first vISA instruction (``/// $N`` in the ``.visaasm``); one that became
nothing has the number of the next that did, or none. The instructions have ``!dbg !N``, but the file lacks the nodes,
and their numbers are its own: LLVM counts them anew for each function that it prints. The code generator's IR,
``llvm-codegen``, of the same attempt defines them: it has the very same function, instruction by instruction, and each
number here stands for one number there. The instructions of a function that differs there get no source place.
Where a kernel has inline assembly, the numbers of vISA are others: its text counts as nothing here, and statement by
statement there. So to every number behind it the statements of the text are added.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from kernlens.formats.listings.llvm_ir import LlvmInstruction, llvm_rows, read_llvm_instructions
from kernlens.formats.listings.llvm_parts import LlvmParts
from kernlens.model.source_map import SourcePlace
from kernlens.model.stage_map import StageRows

#: What the two texts number or word each in its own way: with -g, where a variable's value is, by its address space.
_NUMBERS = re.compile(r"!\d+|(?<= )#\d+|!DIExpression\([^()]*\)")
_ID = re.compile(r"(?<!\s)\s*; visa id: (\d+)\s*$")
_VALUE = re.compile(r'\s*(%(?:"[^"]*"|[-\w.$]+)) = ')
#: Assembly of the program's own, and what of its statements takes no number (declarations, braces), and what does.
_ASSEMBLY = re.compile(r' asm (?:(?!asm )[a-z]+ )*"([^"]*)"')
_UNNUMBERED, _NUMBERED = re.compile(r"[.{}].*|"), re.compile(r"(?:\([^()]*\)\s*)?[a-z][\w.]*(?:\s.*)?")
_BRANCHES = ("  br ", "  switch ")
#: A source place, and the calls that it was inlined through.
_Location = tuple[SourcePlace | None, tuple[SourcePlace, ...]]
_NOWHERE: _Location = (None, ())


class CodegenFunctions:
    """The functions of the stage ``llvm-codegen``, in which those of many ``.visa.ll`` are looked up."""

    def __init__(self, text: str) -> None:
        parts = LlvmParts(text)
        rows = llvm_rows(parts)
        self._functions: dict[str, list[tuple[str, int | None, _Location]]] = defaultdict(list)
        self._lines: dict[str, list[int]] = defaultdict(list)
        for instruction, place, calls in zip(read_llvm_instructions(parts), rows.places, rows.calls, strict=True):
            entry = _bare(parts.rows[instruction.line - 1]), instruction.location, (place, calls)
            self._functions[instruction.function].append(entry)
            self._lines[instruction.function].append(instruction.line)

    def lines_of(self, function: str) -> Sequence[int]:
        """Return the line numbers of a function's instructions in the stage's text."""
        return self._lines.get(function, ())

    def locations(self, instructions: Sequence[LlvmInstruction], lines: Sequence[str]) -> list[_Location] | None:
        """Return the location of each of one function's ``instructions``, None if the function differs here."""
        candidates = self._functions.get(instructions[0].function, [])
        if [text for text, _, _ in candidates] != [_bare(lines[instruction.line - 1]) for instruction in instructions]:
            return None
        pairs = {
            (instruction.location, number) for instruction, (_, number, _) in zip(instructions, candidates, strict=True)
        }
        if len({here for here, _ in pairs}) != len(pairs) or len({there for _, there in pairs}) != len(pairs):
            return None
        return [location for _, _, location in candidates]


def read_visa_llvm_lines(text: str, codegen: CodegenFunctions) -> StageRows:
    """Read the instructions of a ``.visa.ll``, with source places from ``codegen``; one without ``!dbg`` has none."""
    rows = StageRows()
    parts = LlvmParts(text)
    lines = parts.rows
    for function, instructions in _by_function(parts).items():
        locations = codegen.locations(instructions, lines) or [_NOWHERE] * len(instructions)
        for instruction, (place, calls) in zip(instructions, locations, strict=True):
            rows.add(instruction.line, place, calls, function)
    return rows


class VisaStart(NamedTuple):
    """The vISA instruction ``number`` is the first of an LLVM instruction of ``function``, which has this place.

    ``is_branch``: it ends a block, and some vISA instructions before it may be of it too (what is loaded or moved for
    the next block).
    """

    number: int
    function: str
    place: SourcePlace | None
    calls: tuple[SourcePlace, ...]
    is_branch: bool


def read_visa_starts(text: str, codegen: CodegenFunctions) -> list[VisaStart]:
    """Read where each LLVM instruction begins in vISA, by number. Of several with one number, the last one became it.
    Functions that differ from ``codegen`` are left out, as their places are not known."""
    parts = LlvmParts(text)
    lines = parts.rows
    numbers = _numbers(lines)
    starts: dict[int, VisaStart] = {}
    for function, instructions in _by_function(parts).items():
        locations = codegen.locations(instructions, lines)
        for instruction, location in zip(instructions, locations or (), strict=locations is not None):
            line, number = lines[instruction.line - 1], numbers.get(instruction.line)
            if number is not None:
                # A mark of the kernel's first line, which becomes no instruction: the compiler's own code has its number.
                place, calls = _NOWHERE if "@llvm.genx.GenISA.CatchAllDebugLine(" in line else location
                starts[number] = VisaStart(number, function, place, calls, line.startswith(_BRANCHES))
    return [starts[number] for number in sorted(starts)]


def read_visa_ranges(text: str, codegen: CodegenFunctions) -> dict[int, range]:
    """Map lines of the stage ``llvm-codegen`` to the numbers of the vISA instructions that are certainly of the LLVM
    instruction there: those from its own up to the next one's; before a branch its first alone, as the others may be of
    the branch. Functions that differ from ``codegen`` are left out."""
    parts = LlvmParts(text)
    lines = parts.rows
    known = _numbers(lines)
    starts: dict[int, tuple[int, bool]] = {}
    for function, instructions in _by_function(parts).items():
        if codegen.locations(instructions, lines) is None:
            continue
        for instruction, line_number in zip(instructions, codegen.lines_of(function), strict=True):
            line = lines[instruction.line - 1]
            number = known.get(instruction.line)
            if number is not None and "@llvm.genx.GenISA.CatchAllDebugLine(" not in line:
                starts[number] = line_number, line.startswith(_BRANCHES)
    numbers = sorted(starts)
    ranges = {}
    for number, following in zip(numbers, [*numbers[1:], 0], strict=False):
        is_before_branch = following > 0 and starts[following][1]
        ranges[starts[number][0]] = range(number, number + 1 if is_before_branch or not following else following)
    return ranges


def _by_function(parts: LlvmParts) -> dict[str, list[LlvmInstruction]]:
    functions: dict[str, list[LlvmInstruction]] = {}
    for instruction in read_llvm_instructions(parts):
        functions.setdefault(instruction.function, []).append(instruction)
    return functions


def read_visa_values(text: str) -> dict[int, str | None]:
    """Read, by the number of the first vISA instruction of each LLVM instruction, ascending, the name of the value that
    it makes (``%add4.i``), None where it makes none. Of several with one number, the last one became it."""
    values: dict[int, str | None] = {}
    lines = text.split("\n")
    for at, number in _numbers(lines).items():
        value = _VALUE.match(lines[at - 1])
        values[number] = value[1] if value else None
    return dict(sorted(values.items()))


def _numbers(lines: Sequence[str]) -> dict[int, int]:
    """Return the number of the first vISA instruction of each line that has one, by the lines' numbers in the text; nothing
    if a statement of assembly is not understood. It is the line's own number, and one more for each statement of assembly
    before it: blocks may stand here in another order than in vISA, so what is before it is what has a smaller number."""
    numbered = {at: int(match[1][:9]) for at, line in enumerate(lines, 1) if (match := _ID.search(line))}
    added: list[tuple[int, int, int]] = []
    for at, line in enumerate(lines, 1):
        for match in _ASSEMBLY.finditer(line) if " asm " in line else ():
            statements = [each.strip() for each in match[1].replace("\\09", " ").split("\\0A")]
            counted = [each for each in statements if not _UNNUMBERED.fullmatch(each)]
            if at not in numbered or not all(map(_NUMBERED.fullmatch, counted)):
                return {}
            added.append((numbered[at], at, len(counted)))
    if not added:
        return numbered
    added.sort()
    counts = [0, *accumulate(count for _, _, count in added)]
    return {at: number + counts[bisect_left(added, (number, at))] for at, number in numbered.items()}


def _bare(line: str) -> str:
    return _NUMBERS.sub("!", _ID.sub("", line)).rstrip()
