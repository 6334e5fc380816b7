"""vISA assembly (``.visaasm``): the source line that each virtual instruction came from.

Source: intel-graphics-compiler, documentation/visa (``FILE.md``, ``LOC.md``): ``FILE "path"`` and ``LOC n`` hold for
the instructions after them, up to the next one; ``LOC 0`` means no line. A new function starts without a line.
"""

from __future__ import annotations

import re

from kernlens.model.source_map import SourcePlace
from kernlens.model.stage_map import StageRows

_KERNEL = re.compile(r'\.kernel\s+"?([^"\s]+)"?')
_FUNCTION = re.compile(r'\.(?:global_)?function\s+"?([^"\s]+)"?')
_FILE = re.compile(r'FILE\s+"([^"]*)"')
_LOC = re.compile(r"LOC\s+(\d+)")
_NUMBER = re.compile(r"\$(\d+)")
_LABEL = re.compile(r'"?[\w.$]+"?:\s*(?:/{2,3}.*)?$')


def read_visaasm_lines(text: str) -> StageRows:
    """Read the virtual instructions in order, each with its source place. Declarations, labels and comments are left out."""
    rows = StageRows()
    path, place, function = "", None, ""
    for number, line in enumerate(text.split("\n"), start=1):
        word = line.strip()
        if not word or word.startswith("//"):
            continue
        if word.startswith("."):
            if (match := _FUNCTION.match(word)) or (match := _KERNEL.match(word)):
                function, place = match[1], None
        elif match := _LOC.match(word):
            source_line = int(match[1][:9])
            place = SourcePlace(path, source_line) if source_line else None
        elif match := _FILE.match(word):
            path = match[1]
            place = SourcePlace(path, place.line) if place else None
        elif not _LABEL.match(word):
            rows.add(number, place, (), function)
    return rows


def visa_number(line: str) -> int | None:
    """Return the number of the virtual instruction on a line (``/// $N``), None if the line does not say it."""
    match = _NUMBER.search(line.rpartition("///")[2]) if "///" in line else None
    return int(match[1][:9]) if match else None


def kernel_name(text: str) -> str | None:
    """Return the kernel that the file is about, None if it does not say."""
    match = re.search(r"^[^\S\n]*" + _KERNEL.pattern, text, re.MULTILINE)
    return match[1] if match else None
