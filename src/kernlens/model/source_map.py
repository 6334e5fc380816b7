"""The join of a kernel's instructions with its line table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kernlens.model.line_table import LineTable

#: ``SourceMap.row_of`` of an instruction that no row covers.
NO_ROW = -1


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A place in a source file; ``column`` 0: the whole line."""

    path: str
    line: int
    column: int = 0


@dataclass(frozen=True, slots=True)
class LineChoice:
    """One source line that a user asks for; ``path`` is the whole path or its end, None for any file."""

    path: str | None
    line: int

    def holds(self, place: SourcePlace | None) -> bool:
        if place is None or place.line != self.line:
            return False
        return self.path is None or place.path == self.path or place.path.endswith("/" + self.path)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.path else f"line {self.line}"


@dataclass(frozen=True)
class SourceMap:
    """For each instruction the line-table row that covers it, and for each line its instructions.

    ``row_of[i]`` is the row of instruction ``i`` or NO_ROW; ``offsets[i]`` its offset in the kernel. ``prologue`` is the
    number of leading instructions that load the kernel's payload rather than do a line's work.
    """

    table: LineTable = field(repr=False)
    offsets: Sequence[int] = field(repr=False)
    row_of: Sequence[int] = field(repr=False)
    prologue: int = 0

    def place(self, index: int) -> SourcePlace | None:
        """Where instruction ``index`` came from; None if no row covers it or its row says line 0."""
        row = self.row_of[index]
        if row == NO_ROW or self.table.lines[row] == 0:
            return None
        file = self.table.files[self.table.files_of[row]]
        return SourcePlace(file.path, self.table.lines[row], self.table.columns[row])

    def inlined_at(self, index: int) -> tuple[SourcePlace, ...]:
        """The calls through which instruction ``index`` was inlined, innermost first; empty if it was not."""
        offset = self.offsets[index]
        files = self.table.files
        frames = [call for call in self.table.inlined if call.low <= offset < call.high]
        frames.sort(key=lambda call: call.high - call.low)
        return tuple(SourcePlace(files[call.call_file].path, call.call_line, call.call_column) for call in frames)

    @cached_property
    def lines(self) -> dict[tuple[str, int], tuple[range, ...]]:
        """(path, line) -> ranges of instruction indexes, ascending: a scheduled line has many."""
        found: dict[tuple[str, int], list[range]] = {}
        table, row_of = self.table, self.row_of
        start, key = 0, None
        for index in range(len(row_of) + 1):
            row = row_of[index] if index < len(row_of) else NO_ROW
            here = None
            if index < len(row_of) and row != NO_ROW and table.lines[row]:
                here = (table.files[table.files_of[row]].path, table.lines[row])
            if here != key or index == len(row_of):
                if key is not None:
                    found.setdefault(key, []).append(range(start, index))
                start, key = index, here
        return {key: tuple(ranges) for key, ranges in found.items()}
