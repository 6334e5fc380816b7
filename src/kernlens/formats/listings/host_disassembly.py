"""Disassembly of a host object, as objdump prints it: the place of each instruction in the text and in the object.

Sources: GNU binutils 2.40, ``binutils/objdump.c``, and LLVM 15, ``llvm/tools/llvm-objdump``, whose layout the listings
of Intel's CPU runtime have: ``Disassembly of section .text:``, ``0000000000001000 <function>:``, and a line per
instruction, ``    1004:``, a tab and its text. Relocations and source lines stand between them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SECTION = re.compile(r"Disassembly of section (.+):\s*$")
_FUNCTION = re.compile(r"([0-9A-Fa-f]{8,16}) <(.+)>:\s*$")
_INSTRUCTION = re.compile(r" *([0-9A-Fa-f]{1,16}): *\t *\S")


class ListedInstruction(NamedTuple):
    """An instruction in a listing. ``line`` is the text's line, from 1; ``address`` is as in the object, within its
    ``section``; ``function`` is the nearest symbol before it, empty if there is none, and ``start`` that symbol's
    address."""

    line: int
    address: int
    section: str
    function: str
    start: int


def read_host_listing(text: str) -> list[ListedInstruction]:
    """Read the listed instructions of all sections, in order. Listings go through data too: choose by ``section``."""
    instructions: list[ListedInstruction] = []
    section, function, start = "", "", 0
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _INSTRUCTION.match(line):
            instructions.append(ListedInstruction(number, int(match[1], 16), section, function, start))
        elif match := _FUNCTION.match(line):
            function, start = match[2], int(match[1], 16)
        elif match := _SECTION.match(line):
            section, function, start = match[1], "", 0
    return instructions
