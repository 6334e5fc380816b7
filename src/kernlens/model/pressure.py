"""Register pressure: how many of its general registers a kernel needs at once."""

from __future__ import annotations

from array import array

from kernlens.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Pressure:
    """The register pressure. ``live`` counts for each instruction the general registers that hold something while it
    runs: a value that it or a later instruction may read, or what it writes; a register counts where a byte of it does.
    ``peak`` is the most of them, first at the instruction ``peak_index`` (None of a kernel without instructions).
    ``named`` counts the registers that an instruction reads or writes. A register has ``register_bytes`` bytes.

    It is that of the lanes that run: what registers keep for lanes that are switched off is not counted. A function's
    needs are the same for all of its callers; ``has_calls``: there are such functions. ``is_lower_bound``: operands are
    known only at run time, or functions are called whose code is not the kernel's.
    """

    live: array[int]
    peak: int
    peak_index: int | None
    named: int
    register_bytes: int
    has_calls: bool
    is_lower_bound: bool

    def __repr__(self) -> str:
        where = "" if self.peak_index is None else f" at instruction {self.peak_index:,}"
        return f"<Pressure peak={self.peak}{where} named={self.named}>"
