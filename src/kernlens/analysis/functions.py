"""The functions that a kernel's code holds, and where each begins and ends."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise

from kernlens.model.code_function import CodeFunction
from kernlens.model.line_table import DebugFunction


def functions_of(
    offsets: Sequence[int],
    code_size: int,
    called: Sequence[int] = (),
    symbols: Mapping[int, str | None] | None = None,
    stated: Sequence[DebugFunction] = (),
) -> tuple[CodeFunction, ...]:
    """Return the kernel's own code and the functions behind it, in order; none if it holds none.

    ``offsets`` are those of the instructions, ``code_size`` the bytes of all. A function begins where a symbol says, and
    where a call goes to. ``symbols`` name the code that begins at an offset, ``stated`` are the functions of the debug data:
    these name the functions in the order of the code, but may place them wrongly; if they are more or fewer (a function of
    the compiler's own library has no name there), only those count that are placed where one begins.
    """
    symbols = symbols or {}
    starts = [0, *(offset for offset in (*symbols, *called) if 0 < offset < code_size)]
    firsts = sorted({index for offset in starts if (index := bisect_left(offsets, offset)) < len(offsets)})
    if len(firsts) < 2:
        return ()
    if len(stated) == len(firsts):
        name_at: dict[int, str | None] = {first: each.name for first, each in zip(firsts, stated, strict=True)}
    else:
        name_at = {bisect_left(offsets, each.low): each.name for each in reversed(stated)}
    name_at |= {bisect_left(offsets, offset): name for offset, name in symbols.items() if name is not None}
    bounds = [*((first, offsets[first]) for first in firsts), (len(offsets), code_size)]
    return tuple(
        CodeFunction(name_at.get(first), range(first, end), offset, stop - offset)
        for (first, offset), (end, stop) in pairwise(bounds)
    )
