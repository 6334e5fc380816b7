"""IGC's own assembly dumps (``.asm``): each instruction with the source line that the compiler holds it for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_KERNEL = re.compile(r"//\.kernel (.+)")
_ATTEMPT_AND_SIMD = re.compile(r"(?:_(\d+))?_simd(\d+)_")
_FILE = re.compile(r"// File: (.*)")
_LINE = re.compile(r"// Line (\d+)\b")
_LABEL = re.compile(r"[\w.$]+:\s*(//.*)?$")


@dataclass(frozen=True)
class DumpedInstruction:
    """A dumped instruction: ``place`` is (path, line), None before the first line; ``compacted`` its size, as stated."""

    place: tuple[str, int] | None
    compacted: bool
    text: str


@dataclass(frozen=True)
class Dump:
    """One kernel at one SIMD width. ``attempt`` counts from 0: after spills the compiler may start anew."""

    kernel: str
    simd: int
    attempt: int
    instructions: tuple[DumpedInstruction, ...]


def instruction_texts(listing: str) -> list[str]:
    """Return the lines of a listing that are instructions."""
    lines = listing.splitlines()
    return [text for text in lines if text.strip() and not text.startswith("//") and not _LABEL.match(text)]


@lru_cache(maxsize=128)  # All listings of a program: each of its kernels looks for its own among them.
def read_dump(path: Path) -> Dump:
    """Read one ``.asm`` file. A line comment holds for all instructions up to the next one, labels between or not."""
    kernel = ""
    file, line = "", 0
    instructions = []
    for text in path.read_text(errors="replace").splitlines():
        if text.startswith("//"):
            if match := _FILE.match(text):
                file = match[1]
            elif match := _LINE.match(text):
                line = int(match[1])
            elif match := _KERNEL.match(text):
                kernel = match[1]
        elif text.strip() and not _LABEL.match(text):
            place = (file, line) if line else None
            instructions.append(DumpedInstruction(place, "Compacted" in text.split("//")[0], text))
    match = _ATTEMPT_AND_SIMD.search(path.name)
    attempt, simd = (int(match[1] or 0), int(match[2])) if match else (0, 0)
    return Dump(kernel, simd, attempt, tuple(instructions))
