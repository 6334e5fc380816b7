"""The line table of one kernel: which source line each machine instruction came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as the line table names it. ``path`` is joined with its directory, not yet with ``LineTable.directory``."""

    path: str


@dataclass(frozen=True, slots=True)
class LineRow:
    """One row: from ``offset`` (bytes in the kernel) to the next row's, instructions belong to ``line``.

    ``file`` indexes ``LineTable.files``; line and column count from 1, and 0 means that there is none.
    """

    offset: int
    file: int
    line: int
    column: int
    is_stmt: bool = False
    end_sequence: bool = False


@dataclass(frozen=True, slots=True)
class InlinedCall:
    """One frame of an inlined call: the function that was inlined, and the call's place (file as in LineRow)."""

    name: str
    low: int
    high: int
    call_file: int
    call_line: int
    call_column: int


@dataclass(frozen=True)
class LineTable:
    """A kernel's rows in ascending ``offset``, exactly as the table's program emits them.

    Columnar: ``offsets``, ``files_of``, ``lines``, ``columns`` have one entry per row, ``flags`` holds bit 0 is_stmt and
    bit 1 end_sequence. ``files`` are indexed by the table's own file numbers (DWARF 4 counts from 1, so entry 0 is then
    an empty name). ``directory`` is DW_AT_comp_dir, empty if absent. ``inlined`` lists inlined calls, outermost first
    for equal ranges; one call may appear once per address range.
    """

    files: tuple[SourceFile, ...]
    offsets: Sequence[int]
    files_of: Sequence[int]
    lines: Sequence[int]
    columns: Sequence[int]
    flags: Sequence[int]
    directory: str = ""
    version: int = 4
    inlined: tuple[InlinedCall, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.offsets)

    @cached_property
    def rows(self) -> tuple[LineRow, ...]:
        return tuple(
            LineRow(offset, file, line, column, bool(flag & 1), bool(flag & 2))
            for offset, file, line, column, flag in zip(
                self.offsets, self.files_of, self.lines, self.columns, self.flags, strict=True
            )
        )
