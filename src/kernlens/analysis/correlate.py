"""The join of a kernel's instructions with its line table, and the functions that its code holds."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise, repeat
from operator import sub

from kernlens.model.code_function import CodeFunction
from kernlens.model.line_table import END_SEQUENCE, DebugFunction, LineTable
from kernlens.model.source_map import LOST, NO_ROW, PROLOGUE, SourceMap


def correlate(
    offsets: Sequence[int],
    table: LineTable,
    prologue: int = 0,
    stops: Sequence[int] = (),
    functions: tuple[CodeFunction, ...] = (),
    *,
    begins_own: bool = True,
    is_shifted: bool = False,
    stages_by: str = "",
) -> SourceMap:
    """Find for each instruction the row that covers it.

    ``offsets`` are the instructions' offsets in the kernel, ascending. A row covers the instructions from its offset
    up to the next row's; of several rows at one offset the last one counts, as each of them covers nothing but the
    last. Instructions before the first row or behind an end of sequence have no row, nor have the first ``prologue``
    ones, which load the kernel's payload: the compiler gives them the line of something else.

    ``stops`` are the indexes of instructions that control never passes (end of thread, return). What follows one in the
    same row has no row: it is another function, to which Intel's older compiler gives no rows at all. (Of
    24,815 such instructions in 98 binaries, IGC's own dump holds 98% for another line than the row's.)

    ``functions`` are the kernel's own code and the functions that stayed calls. Their rows may be lost: see ``_lost``.
    ``is_shifted``: all rows may stand over other instructions than their own, so that all count as lost.
    ``begins_own`` and ``stages_by`` are those of the source map.
    """
    starts = list(offsets)
    row_of = _cut(_cover(starts, table), stops)
    if wrong := [range(len(starts))] if is_shifted else _lost(starts, table, functions):
        for lost in wrong:
            row_of[lost.start : lost.stop] = array("i", repeat(LOST, len(lost)))
        row_of = array("i", (LOST if row == NO_ROW else row for row in row_of))
    row_of[:prologue] = array("i", repeat(PROLOGUE, prologue))
    return SourceMap(
        table=table,
        offsets=offsets,
        row_of=row_of,
        prologue=prologue,
        functions=functions,
        begins_own=begins_own,
        stages_by=stages_by,
    )


def _lost(starts: list[int], table: LineTable, functions: Sequence[CodeFunction]) -> list[range]:
    """Return the instructions whose rows the compiler lost, as far as the table's rows stand over them.

    Intel's compiler writes the rows of a function up to the first instruction that is not the function's, as it counts.
    Where the kernel begins with a prologue, or ends with a fence, that is at once: the rows of all functions but the last
    are missing, and those of the last one begin far too early. So a function that the debug data (or two rows at one
    offset) lets begin where no function begins has no part in the code from there up to the next beginning.
    """
    if not functions:
        return []
    firsts = [function.code.start for function in functions]
    beginnings = {bisect_left(starts, function.low) for function in table.functions}
    beginnings |= {
        bisect_left(starts, here) for here, following in pairwise(table.offsets) if here == following and here
    }
    lost: dict[int, int] = {}
    for wrong in sorted(beginnings.difference(firsts)):
        function = functions[bisect_right(firsts, wrong) - 1]
        lost.setdefault(function.code.stop, wrong)
    return [range(first, end) for end, first in lost.items()]


def _cover(starts: list[int], table: LineTable) -> array[int]:
    """Return the row that covers each instruction. It is one of the tool's hot spots: loops over rows run in C."""
    ends = table.ends_of_sequences
    order = _ascending(table, ends)
    covering, offsets = list(order), table.offsets
    if isinstance(order, range):
        for row in ends:
            covering[row] = NO_ROW
    else:
        offsets = [offsets[row] for row in order]
        inner = frozenset(ends)
        covering = [NO_ROW if row in inner else row for row in order]
    # Backwards, so that of equal offsets the first one counts.
    index_at = dict(zip(reversed(starts), reversed(range(len(starts))), strict=True))
    firsts = [
        bisect_left(starts, offset) if index is None else index
        for index, offset in zip(map(index_at.get, offsets), offsets, strict=True)
    ]
    bounds = chain(firsts, (len(starts),))
    counts = map(sub, bounds, chain((0,), firsts))
    return array("i", list(chain.from_iterable(map(repeat, chain((NO_ROW,), covering), counts))))


def _cut(row_of: array[int], stops: Sequence[int]) -> array[int]:
    """Remove the row of the instructions behind a stop, up to the next row."""
    for stop in stops:
        row = row_of[stop]
        index = stop + 1
        while row != NO_ROW and index < len(row_of) and row_of[index] == row:
            row_of[index] = NO_ROW
            index += 1
    return row_of


def _ascending(table: LineTable, ends: Sequence[int]) -> Sequence[int]:
    """Return the rows by offset; at one offset, ends of sequences come first, so that they do not cut off what starts there."""
    offsets, flags = table.offsets, table.flags
    if len(ends) < 2 and list(offsets) == sorted(offsets):
        return range(len(offsets))
    return sorted(range(len(offsets)), key=lambda row: (offsets[row], not flags[row] & END_SEQUENCE))


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
