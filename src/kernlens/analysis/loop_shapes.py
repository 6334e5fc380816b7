"""The shape of a kernel's loops in a text of numbers, by which ``model.code_shape`` tells whether their rounds are the same.

A loop that is unrolled accesses in a round what it did in several. So each loop has the bytes that it accesses in a round,
those of loops inside it aside; outside all loops the bytes that are stored show how many results a work-item makes.
"""

from __future__ import annotations

from zlib import crc32

from kernlens.analysis.costs import costs_of_rows
from kernlens.model.instruction_kind import FLOAT, INTEGER, MATH, SYSTOLIC
from kernlens.model.kernel import Kernel
from kernlens.model.waits import Waits

_COMPUTING = frozenset({FLOAT, INTEGER, MATH, SYSTOLIC})
_STORED, _ACCESSED = (
    tuple(f"{space}_{way}_bytes" for space in spaces for way in ways)
    for spaces, ways in ((("global",), ("store",)), (("global", "slm"), ("load", "store")))
)


def nest_of(kernel: Kernel, *, has_cycles: bool = True) -> str:
    """Return the bytes of a thread stored outside loops, and behind that for each loop its depth, the bytes of a round,
    a digest of the opcodes that compute, and with ``has_cycles`` the cycles of a round, 0 if they are not known:
    ``128;1,256,7213,90;2,128,902,31``. Empty if the loops are not known. Raises KernlensError for code that is not decoded."""
    loops = kernel.loops
    if loops is None:
        return ""
    rows: list[list[int]] = [[] for _ in range(len(loops.loops) + 1)]
    for row, number in enumerate(loops.innermost):
        rows[number].append(row)
    *inside, outside = rows
    waits = kernel.waits if has_cycles and loops.loops else None
    parts = [str(_bytes(kernel, outside, _STORED))]
    parts += [
        f"{loop.depth},{_bytes(kernel, of_loop, _ACCESSED)},{_digest(kernel, of_loop)},{_cycles(waits, of_loop)}"
        for loop, of_loop in zip(loops.loops, inside, strict=True)
    ]
    return ";".join(parts)


def _digest(kernel: Kernel, rows: list[int]) -> int:
    """Return a digest of those opcodes that compute: moves, waits and spills depend on how registers were allocated."""
    kinds, opcodes = kernel.instructions.kinds, kernel.instructions.opcodes
    return crc32(" ".join(sorted(opcodes[row] for row in rows if kinds[row].name in _COMPUTING)).encode())


def _cycles(waits: Waits | None, rows: list[int]) -> int:
    if waits is None:
        return 0
    return sum(waits.issue[row] + (waits.waits[row].cycles if row in waits.waits else 0) for row in rows)


def _bytes(kernel: Kernel, rows: list[int], keys: tuple[str, ...]) -> int:
    costs = costs_of_rows(kernel.instructions.kinds, rows)
    return sum(costs.get(key) or 0 for key in keys)
