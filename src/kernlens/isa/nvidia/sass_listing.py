"""The instructions of a cubin, out of what ``nvdisasm -c -hex`` prints of it.

Every line of an instruction has its offset, its text, and the lower half of its bytes; the upper half stands on a line of its
own. The bytes are compared with the code, so that a listing of something else, or one with gaps, is refused. (``-json`` has
neither offsets nor bytes.)
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass, field
from kernlens.errors import ToolError
from kernlens.model.listed_instructions import ListedInstructions, label

if TYPE_CHECKING:
    from kernlens.model.instruction_kind import InstructionKind

#: Bytes of each instruction, from Volta on.
SIZE = 16
_SECTION = re.compile(r'\s*\.section\s+"?\.text\.([^",]+)')
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{1,8})\*/\s+(\S(?:.*\S)?)\s*/\* 0x([0-9a-f]{16}) \*/\s*$")
_SECOND_HALF = re.compile(r"\s*/\* 0x([0-9a-f]{16}) \*/\s*$")
_LABEL = re.compile(r"([^\s:]+):\s*$")
_MADE = re.compile(r"\.L_x?_?\d+")
_PREDICATE = re.compile(r"@(!?)U?P[0-7T]\s+")
_CALLS = frozenset(("CALL",))
_TARGET = re.compile(r"`\(([^()\s]+)\)")
_BRANCHES = frozenset(("BRA", "CALL", "BSSY", "JMP"))


@dataclass(frozen=True, slots=True)
class _Listed:
    """The instructions of one section, as they are printed."""

    offsets: array[int] = field(default_factory=lambda: array("Q"))
    texts: list[str] = field(default_factory=list)
    code: bytearray = field(default_factory=bytearray)
    labels: dict[str, int] = field(default_factory=dict)

    def with_labels(self, text: str) -> str:
        """Return an instruction's text with labels in place of names that ``nvdisasm`` made of offsets in this section, and
        without the spaces that bring a note under those of longer lines."""
        if ".L_" not in text:
            return text
        words, note, places = _MADE.sub(self._label, text).partition('(*"')
        return f"{words.rstrip()} {note}{places}" if note else words

    def _label(self, name: re.Match[str]) -> str:
        offset = self.labels.get(name[0])
        return name[0] if offset is None or offset >= len(self.code) else label(offset)


class SassListing:
    """The listing of one cubin. ``disassembler`` is what printed it: ``nvdisasm 13.5.37``."""

    def __init__(self, text: str, disassembler: str) -> None:
        self._disassembler = disassembler
        self._sections = _read(text)

    def instructions(self, kernel: str, code: bytes | memoryview) -> ListedInstructions:
        """Return the instructions of a kernel, whose section holds ``code``. Raises ToolError if the listing has others."""
        listed = self._sections.get(kernel)
        size = len(code) // SIZE * SIZE
        if (
            listed is None
            or bytes(listed.code) != bytes(code[:size])
            or listed.offsets != array("Q", range(0, size, SIZE))
        ):
            raise ToolError(f"what {self._disassembler} prints is not the code of {kernel}, byte for byte")
        opcodes = [opcode_of(text) for text in listed.texts]
        return ListedInstructions(
            listed.offsets,
            bytes([SIZE]) * len(listed.offsets),
            opcodes,
            [listed.with_labels(text) for text in listed.texts],
            targets=_targets(opcodes, listed),
            calls=[index for index, opcode in enumerate(opcodes) if opcode in _CALLS],
            kinds=lambda: _kinds(listed.texts),
            trailing=len(code) - size,
            disassembler=self._disassembler,
        )


def opcode_of(text: str) -> str:
    """Return the mnemonic of an instruction without what is behind its first dot: ``IMAD`` of ``@!P0 IMAD.SHL.U32 ...``."""
    bare = _PREDICATE.sub("", text, count=1)
    return bare.partition(" ")[0].partition(".")[0].rstrip(";")


def _kinds(texts: Sequence[str]) -> list[InstructionKind]:
    from kernlens.isa.nvidia.sass_kinds import kinds_of

    return kinds_of(texts)


def _targets(opcodes: Sequence[str], listed: _Listed) -> dict[int, tuple[int, ...]]:
    """Return the offsets that branches go to, by index; those outside the section are not told."""
    targets: dict[int, tuple[int, ...]] = {}
    for index, opcode in enumerate(opcodes):
        if opcode in _BRANCHES and (label := _TARGET.search(listed.texts[index])):
            offset = listed.labels.get(label[1])
            if offset is not None and offset < len(listed.code):
                targets[index] = (offset,)
    return targets


def _read(text: str) -> dict[str, _Listed]:
    sections: dict[str, _Listed] = {}
    current: _Listed | None = None
    for line in text.split("\n"):
        if match := _INSTRUCTION.match(line):
            if current is None:
                raise ToolError("nvdisasm printed an instruction outside a section of code")
            current.offsets.append(int(match[1], 16))
            current.texts.append(match[2])
            current.code.extend(int(match[3], 16).to_bytes(8, "little"))
        elif current is not None and (match := _SECOND_HALF.match(line)):
            current.code.extend(int(match[1], 16).to_bytes(8, "little"))
        elif match := _SECTION.match(line):
            current = sections.setdefault(match[1], _Listed())
        elif current is not None and (match := _LABEL.match(line)):
            current.labels[match[1]] = len(current.offsets) * SIZE
    return sections
