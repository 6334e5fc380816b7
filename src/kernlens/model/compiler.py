"""The compiler of a binary, whose disassembler prints it."""

from __future__ import annotations

from kernlens.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Compiler:
    """The compiler of a binary, as far as it is known: the first numbers of IGC's version, (2, 40, 14) or (1,), and the name of
    its toolchain; () and "" where not known."""

    version: tuple[int, ...] = ()
    toolchain: str = ""


#: A compiler of which nothing is known.
UNKNOWN_COMPILER = Compiler()
