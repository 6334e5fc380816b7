"""A kernel's instructions as text that people edit, and that is assembled again.

A line has one instruction, or a label (``L123:``), and behind ``//`` a comment, which is never assembled. That of an
instruction begins with its offset in the code that the text was printed from: ``add (8|M0) ... // 0x01a0 blur.cl:20``. Who
reads the text uses the offset only to tell which old instruction a line is about; what it becomes is said by its words alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from kernlens.dataclass import dataclass
from kernlens.errors import FormatError

#: A text with more lines is refused.
_MOST_LINES = 1 << 20
_OFFSET = re.compile(r"\s*0x([0-9a-fA-F]{1,8})(?![0-9a-zA-Z])")
_LABEL = re.compile(r"\s*[A-Za-z_]\w*\s*:(?!:)")
#: What a text's header says of the code that it was printed from.
_HASH = re.compile(r"//\s*code sha256: ([0-9a-f]{64})\s*$")
_KERNEL = re.compile(r"//\s*kernel: (\S.*)")


@dataclass(frozen=True, slots=True)
class EditedLine:
    """A line with an instruction. ``number`` is the line's, from 1 on; ``words`` are the instruction's, ``offset`` is that of
    the line's comment, None without; ``label`` stands before the instruction in the same line."""

    number: int
    words: str
    offset: int | None
    label: str = ""


@dataclass(frozen=True, slots=True)
class EditedCode:
    """An edited text. ``lines`` has each of its lines without comments, ``instructions`` those with an instruction.
    ``kernel`` and ``hash`` are what its header says, None without one."""

    lines: Sequence[str]
    instructions: Sequence[EditedLine]
    kernel: str | None
    hash: str | None


def read_editable(text: str) -> EditedCode:
    """Read an edited text. Raises FormatError for a comment that does not end, and for a text with too many lines."""
    raw_lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(raw_lines) > _MOST_LINES:
        raise FormatError(f"the text has {len(raw_lines):,} lines; at most {_MOST_LINES:,} are read", format="assembly")
    lines: list[str] = []
    instructions = []
    kernel = hash = None
    begun = 0  # The line in which a comment began that goes on.
    for number, raw in enumerate(raw_lines, 1):
        code, comment, begun = _split(raw, begun, number)
        if not code.strip() and kernel is None and (match := _KERNEL.match(raw)):
            kernel = match[1].rstrip()
        if not code.strip() and hash is None and (match := _HASH.match(raw)):
            hash = match[1]
        match = _LABEL.match(code)
        words = code[match.end() :] if match else code
        if words.strip():
            offset = _OFFSET.match(comment)
            own = int(offset[1], 16) if offset else None
            instructions.append(EditedLine(number, " ".join(words.split()), own, match[0] if match else ""))
        lines.append(code.rstrip())
    if begun:
        raise FormatError(f"the comment that begins in line {begun} does not end; close it with */", format="assembly")
    return EditedCode(lines, instructions, kernel, hash)


def _split(raw: str, begun: int, number: int) -> tuple[str, str, int]:
    """Return a line's code, with spaces for comments within, the comment at its end, and the line in which a comment began
    that goes on behind it, else 0."""
    code: list[str] = []
    at = 0
    while True:
        if begun:
            end = raw.find("*/", at)
            if end < 0:
                return "".join(code), "", begun
            code.append(" " * (end + 2 - at))
            at, begun = end + 2, 0
        line, block = raw.find("//", at), raw.find("/*", at)
        if line >= 0 and (block < 0 or line < block):
            return "".join([*code, raw[at:line]]), raw[line + 2 :], 0
        if block < 0:
            return "".join([*code, raw[at:]]), "", 0
        code += [raw[at:block], "  "]
        at, begun = block + 2, number


def editable_lines(
    head: Iterable[str],
    offsets: Sequence[int],
    texts: Sequence[str],
    labels: Collection[int],
    notes: Sequence[str],
    headings: Sequence[str | None],
) -> list[str]:
    """Return the lines of a text to edit: its ``head``, then each instruction behind its label, with its offset and its note
    as a comment. ``headings`` are comments of their own before instructions, where there is one."""
    lines = [f"// {line}".rstrip() for line in head]
    for offset, text, note, heading in zip(offsets, texts, notes, headings, strict=True):
        if heading is not None:
            lines += ["", f"// {_one_line(heading)}"]
        if offset in labels:
            lines.append(f"L{offset}:")
        lines.append(f"{text:<88} // {offset:#06x}{f' {_one_line(note)}' if note else ''}".rstrip())
    end = max(labels, default=0)
    if offsets and end > offsets[-1]:
        lines.append(f"L{end}:")
    return lines


def _one_line(text: str) -> str:
    return " ".join(text.split())
