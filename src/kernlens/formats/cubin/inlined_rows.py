"""Inlined calls in a cubin's line table, which has no other debug data to tell them.

NVIDIA's extended opcode 0x90 has two numbers, for the rows behind it up to the next such opcode: the row, counted from 1
within the sequence, that is the place of the call, 0 for rows that were not inlined; and the inlined function's name, an offset
in ``.debug_str``. The row of the call may be inlined itself. (Told by comparing tables that ``ptxas`` wrote with ``nvdisasm
-gi``.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from kernlens.formats.dwarf.forms import malformed
from kernlens.formats.dwarf.line_program import LineColumns
from kernlens.formats.elf.string_table import StringTable
from kernlens.model.line_table import InlinedCall

#: The frames that the rows of one program may have together.
_MOST_FRAMES = 1 << 20
_LINE = ".debug_line"


class InlinedRows:
    """The inlined calls of one line program's rows. ``names`` are the bytes of ``.debug_str``."""

    def __init__(self, rows: LineColumns, names: memoryview) -> None:
        self._rows = rows
        self._strings = StringTable(names, format="dwarf", section=".debug_str")
        self._left = _MOST_FRAMES

    def of_sequences(self, sequences: Sequence[range], base: int) -> tuple[InlinedCall, ...]:
        """Return the inlined calls of these sequences, outer ones before those within them; offsets count from ``base``.
        Raises FormatError for a call that stands behind what was inlined there, and for too many."""
        calls: list[InlinedCall] = []
        for sequence in sequences:
            for run, (context, name) in self._runs(sequence):
                calls += self._chain(sequence, run, context, name, base)
        return tuple(calls)

    @cached_property
    def _marks(self) -> list[tuple[int, int, int]]:
        return list(self._rows.inlined_calls)

    def _runs(self, sequence: range) -> Iterator[tuple[range, tuple[int, int]]]:
        """Yield the rows of a sequence between one such opcode and the next, where they were inlined."""
        inside = [mark for mark in self._marks if sequence.start <= mark[0] < sequence.stop]
        ends = [*(row for row, _, _ in inside[1:]), sequence.stop - 1]
        for (row, context, name), end in zip(inside, ends, strict=True) if inside else ():
            if context and end > row:
                yield range(row, end), (context, name)

    def _chain(self, sequence: range, run: range, context: int, name: int, base: int) -> list[InlinedCall]:
        rows = self._rows
        low, high = (max(0, rows.offsets[row] - base) for row in (run.start, run.stop))
        calls: list[tuple[int, int]] = []
        row = run.start
        while context:
            place = sequence.start + context - 1
            if place >= row:
                raise malformed("an inlined call stands behind the rows that were inlined there", _LINE)
            calls.append((place, name))
            self._left -= 1
            if self._left < 0:
                raise malformed(f"inlined calls are nested so deep that they have {_MOST_FRAMES:,} frames", _LINE)
            row = place
            context, name = self._context_of(sequence, place)
        return [
            InlinedCall(
                self._strings.name(name),
                low,
                high,
                rows.files_of[place],
                rows.lines[place],
                rows.columns[place],
                depth,
            )
            for depth, (place, name) in enumerate(reversed(calls))
        ]

    def _context_of(self, sequence: range, row: int) -> tuple[int, int]:
        """Return the context and the name that hold for a row; zeros if it was not inlined."""
        index = bisect_right(self._marks, row, key=lambda mark: mark[0]) - 1
        if index < 0 or self._marks[index][0] < sequence.start:
            return 0, 0
        return self._marks[index][1], self._marks[index][2]
