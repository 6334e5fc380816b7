"""LLVM IR as the vISA emitter saw it (``.visa.ll``): which source line each instruction came from.

Source: the files of IGC 1.0.12504 and 2.40.14. Each holds one kernel's functions. An instruction that became vISA ends
with ``; visa id: N``, the number of its first vISA instruction (``/// $N`` in the ``.visaasm``); one that became
nothing has the number of the next that did, or none. ``!dbg !N`` stands at the instructions, but the nodes are not in
the file, and their numbers are its own: LLVM counts them anew for each function that is printed. Two stages of the same
compile know what they mean:

* the code generator's IR, ``llvm-codegen``, if it has the very same function, instruction by instruction, and each
  number here stands for one number there. Of a kernel that the compiler tried again it may have another version;
* the kernel's vISA: an instruction's first vISA instruction has the line that its ``!dbg !N`` means, and so have all
  other instructions with this N. Columns and inlined calls are not known then.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence

from kernlens.formats.llvm_lines import LlvmInstruction, read_llvm_instructions, read_llvm_lines
from kernlens.formats.visaasm_lines import instruction_ids, read_visaasm_lines
from kernlens.model.source_map import SourcePlace
from kernlens.model.stage_map import StageRows

_NUMBERS = re.compile(r"!\d+|(?<= )#\d+")
_ID = re.compile(r"\s*; visa id: (\d+)\s*$")
#: A place, and the calls that it was inlined through.
_Location = tuple[SourcePlace | None, tuple[SourcePlace, ...]]
_NOWHERE: _Location = (None, ())


class CodegenFunctions:
    """The functions of the stage ``llvm-codegen``, to find those of many ``.visa.ll`` in."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        rows = read_llvm_lines(text)
        self._functions: dict[str, list[tuple[str, int | None, _Location]]] = defaultdict(list)
        for instruction, place, calls in zip(read_llvm_instructions(text), rows.places, rows.calls, strict=True):
            entry = _bare(lines[instruction.line - 1]), instruction.location, (place, calls)
            self._functions[instruction.function].append(entry)

    def locations(self, instructions: Sequence[LlvmInstruction], lines: Sequence[str]) -> list[_Location] | None:
        """The location of each of one function's ``instructions``; None if the function is another here."""
        known = self._functions.get(instructions[0].function, [])
        if [text for text, _, _ in known] != [_bare(lines[one.line - 1]) for one in instructions]:
            return None
        pairs = {(one.location, number) for one, (_, number, _) in zip(instructions, known, strict=True)}
        if len({here for here, _ in pairs}) != len(pairs) or len({there for _, there in pairs}) != len(pairs):
            return None
        return [location for _, _, location in known]


def read_visa_llvm_lines(text: str, codegen: CodegenFunctions | None, visaasm: str | None) -> StageRows:
    """The instructions of a ``.visa.ll``, with places from ``codegen`` or else from the kernel's ``visaasm``.

    None stands for a stage that is not at hand. An instruction without ``!dbg`` has no place.
    """
    rows = StageRows()
    lines = text.split("\n")
    functions: dict[str, list[LlvmInstruction]] = {}
    for instruction in read_llvm_instructions(text):
        functions.setdefault(instruction.function, []).append(instruction)
    for function, instructions in functions.items():
        found = codegen.locations(instructions, lines) if codegen is not None else None
        if found is None:
            found = _locations_in_visa(instructions, lines, visaasm or "")
        for instruction, (place, calls) in zip(instructions, found, strict=True):
            rows.add(instruction.line, place, calls, function)
    return rows


def _bare(line: str) -> str:
    return _NUMBERS.sub("!", _ID.sub("", line)).rstrip()


def _locations_in_visa(instructions: Sequence[LlvmInstruction], lines: Sequence[str], visaasm: str) -> list[_Location]:
    meant: dict[int, set[SourcePlace]] = defaultdict(set)
    for index, place in _first_places(instructions, lines, visaasm).items():
        location = instructions[index].location
        if location is not None:
            meant[location].add(place)
    # A number that seems to mean two lines is one of which the vISA does not tell.
    sure = {location: (places.pop(), ()) for location, places in meant.items() if len(places) == 1}
    return [_NOWHERE if one.location is None else sure.get(one.location, _NOWHERE) for one in instructions]


def _first_places(
    instructions: Sequence[LlvmInstruction], lines: Sequence[str], visaasm: str
) -> dict[int, SourcePlace]:
    """Index of an instruction -> the place of its first vISA instruction, where that has one."""
    # Of several instructions with one number, the last became something.
    owners = {
        int(match[1][:9]): index for index, one in enumerate(instructions) if (match := _ID.search(lines[one.line - 1]))
    }
    starts = sorted(owners)
    ids = instruction_ids(visaasm)
    rows = read_visaasm_lines(visaasm)
    firsts: dict[int, SourcePlace | None] = {}
    for line, place in zip(rows.lines, rows.places, strict=True):
        position = bisect_right(starts, ids[line]) - 1 if line in ids else -1
        if position >= 0:
            firsts.setdefault(owners[starts[position]], place)
    return {index: place for index, place in firsts.items() if place is not None}
