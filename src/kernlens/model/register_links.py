"""Registers and the instructions that write and read them, in plain numbers: what a viewer links."""

from __future__ import annotations

from kernlens.dataclass import dataclass

#: Stands for the instruction that wrote what registers hold when a thread begins, or when a function is called from
#: elsewhere.
BEFORE_THE_CODE = -1


@dataclass(frozen=True, slots=True)
class RegisterRows:
    """The instructions, by their indexes, that write a general register, and those that read it; ascending."""

    writers: list[int]
    readers: list[int]


@dataclass(frozen=True, slots=True)
class RegisterLinks:
    """The links of one instruction by general registers: it ``reads`` and ``writes`` those with these numbers.

    ``sources`` are pairs of a register that it reads and the index of an instruction that may have written what it reads
    there (BEFORE_THE_CODE: what the thread began with), ``uses`` pairs of a register that it writes and the index of one
    that may read that; of more than 64 writers of what is read in one register, the last 64.
    """

    reads: list[int]
    writes: list[int]
    sources: list[tuple[int, int]]
    uses: list[tuple[int, int]]
