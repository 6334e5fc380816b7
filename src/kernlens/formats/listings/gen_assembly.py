"""The compiler's listing of a kernel's machine instructions (``.asm``): which source line each one came from.

Source: the listings of IGC 1.0.12504 and 2.40.14. Comments ``// File: path`` and ``// Line n: source text`` hold for
the instructions after them, across labels, up to the next such comment; ``//.kernel name`` is at the top.
"""

from __future__ import annotations

import re

from kernlens.model.source_map import SourcePlace
from kernlens.model.stage_map import StageRows

_KERNEL = re.compile(r"//\.kernel (.+)")
_FILE = re.compile(r"// File: (.*)")
_LINE = re.compile(r"// Line (\d+)\b")
_VISA_NUMBER = re.compile(r"\$(\d+)")
_LABEL = re.compile(r"[\w.$]+:\s*(//.*)?$")


def read_gen_assembly_lines(text: str) -> StageRows:
    """Read the instructions in order, each with its source place; those before the first line comment have none."""
    rows = StageRows()
    path, line_number, function = "", 0, ""
    place: SourcePlace | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("//"):
            if match := _LINE.match(line):
                line_number = int(match[1][:9])
            elif match := _FILE.match(line):
                path = match[1].rstrip("\r")
            else:
                if match := _KERNEL.match(line):
                    function = match[1].strip()
                continue
            place = SourcePlace(path, line_number) if line_number else None
        elif line.strip() and not _LABEL.match(line):
            rows.add(number, place, (), function)
    return rows


def read_visa_numbers(text: str) -> list[tuple[int | None, bool]]:
    """Read of each instruction its vISA instruction's number (``// $N``; None if absent), and whether it is compacted."""
    numbers: list[tuple[int | None, bool]] = []
    for line in text.split("\n"):
        if line.startswith("//") or not line.strip() or _LABEL.match(line):
            continue
        code, _, comment = line.partition("//")
        match = _VISA_NUMBER.search(comment)
        numbers.append((int(match[1][:9]) if match else None, "Compacted" in code))
    return numbers


def kernel_name(text: str) -> str | None:
    """Return the kernel that the listing is about, None if it does not say."""
    match = _KERNEL.match(text)
    return match[1].strip() if match else None
