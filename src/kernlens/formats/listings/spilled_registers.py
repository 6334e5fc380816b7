"""The virtual registers that were spilled, and the vISA instructions that write them first.

Source: the files of IGC 1.0.12504 and 2.40.14. The listing of machine code (``.asm``) declares each virtual register, with
``(spilled -> Scratch[3x32])`` where it lives in memory; ``.visaasm`` declares them with their aliases
(``.decl V0043 ... alias=<%r0, 0>``) and has the number of each instruction behind it (``/// $37``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

_DECLARED = re.compile(r"^//\.declare (\S+) (.*)\(spilled -> Scratch\[", re.MULTILINE)
_SIZE = re.compile(r"\bsize=(\d{1,9})\b")
_ALIAS = re.compile(r"([^,>]+),[^,>]*>?$")
_BEFORE_OPERANDS = re.compile(r"\s*(?:\(!?P\w[^)]*\)\s*)?[a-z][^\s(]*\s*\([^)]*\)")
_NUMBER = re.compile(r"\s*\$(\d{1,9})\s*$")
_NAME = re.compile(r"[A-Za-z_]\w*")


def read_spilled_registers(assembly: str) -> dict[str, int]:
    """Read the names of the virtual registers that live in scratch memory, with their bytes. Spilled flags have no
    bytes there: they go to general registers."""
    return {
        match[1]: int(size[1]) for match in _DECLARED.finditer(assembly) if (size := _SIZE.search(match[2])) is not None
    }


class VisaWrite(NamedTuple):
    """The vISA instruction ``number``, on this line of the text, counted from 1."""

    number: int
    line: int


def read_writes(visa: str, names: Collection[str]) -> dict[str, list[VisaWrite]]:
    """Read the vISA instructions whose first operand is one of the registers ``names``, by name and through aliases; of
    one that is none's first operand, the first that names it."""
    root: dict[str, str] = {}
    written: dict[str, list[VisaWrite]] = {}
    named: dict[str, VisaWrite] = {}
    for line_number, line in enumerate(visa.split("\n"), start=1):
        if line.startswith(".decl "):
            name, _, declared = line.removeprefix(".decl ").partition(" ")
            alias = _ALIAS.match(declared.rstrip().rpartition("alias=<")[2]) if "alias=<" in declared else None
            root[name] = root.get(alias[1], alias[1]) if alias else name
            continue
        statement, _, behind = line.rpartition("///")
        if (begin := _BEFORE_OPERANDS.match(statement)) and (number := _NUMBER.match(behind)):
            write = VisaWrite(int(number[1]), line_number)
            for position, name in enumerate(_roots(statement[begin.end() :], root)):
                if name in names:
                    if position == 0:
                        written.setdefault(name, []).append(write)
                    named.setdefault(name, write)
    return {name: written.get(name) or [first] for name, first in named.items()}


def _roots(operands: str, root: dict[str, str]) -> Iterator[str]:
    """Yield the declared registers among the operands, as what they are aliases of."""
    for match in _NAME.finditer(operands):
        if match[0] in root:
            yield root[match[0]]
