"""The line table of one kernel: which source line each machine instruction came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from kernlens.dataclass import dataclass, field, replace
from kernlens.model.flag_bits import indexes_of
from kernlens.model.source_path import joined
from kernlens.model.variable import Variable

#: Bits of ``LineTable.flags``.
IS_STMT = 1
END_SEQUENCE = 2
PROLOGUE_END = 4


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as the line table names it. ``path`` is joined with its directory, not yet with ``LineTable.directory``.

    ``md5`` is the text's checksum in hexadecimal and ``text`` the text itself, where DWARF 5 tables carry them.
    """

    path: str
    md5: str | None = None
    text: str | None = field(default=None, repr=False)


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

    def __repr__(self) -> str:
        words = f"line {self.line}" + (f":{self.column}" if self.column else "") + f" of file {self.file}"
        marks = ", statement" * self.is_stmt + ", end of sequence" * self.end_sequence
        return f"<LineRow {self.offset:#06x}: {words}{marks}>"


@dataclass(frozen=True, slots=True)
class InlinedCall:
    """One frame of an inlined call: the function that was inlined, and the call's source place (file as in LineRow).

    The frame covers [``low``, ``high``) of the kernel. ``depth`` counts the inlined calls around it: 0 is called by the
    kernel's own code.
    """

    name: str
    low: int
    high: int
    call_file: int
    call_line: int
    call_column: int
    depth: int = 0


@dataclass(frozen=True, slots=True)
class DebugFunction:
    """A function of which the debug data describes code. ``low`` is where it says that the code begins, in bytes from the
    kernel's start; the compiler may have got that wrong."""

    name: str
    low: int


@dataclass(frozen=True)
class LineTable:
    """A kernel's rows, exactly as the table's program emits them; offsets ascend within each sequence.

    Columnar: ``offsets``, ``files_of``, ``lines``, ``columns`` have one entry per row, ``flags`` holds the bits
    IS_STMT, END_SEQUENCE and PROLOGUE_END. ``files`` are indexed by the table's own file numbers (DWARF 4 counts from
    1, so entry 0 is then an empty name). ``directory`` is DW_AT_comp_dir, ``source`` the name of the program's
    source; empty if absent. ``find_inlined`` reads the inlined calls, ``find_functions`` the functions on first use, and
    ``find_variables`` the variables; None for debug data whose variables are not read. ``find_code_ends`` reads where other
    parts of the debug data state that the kernel's code ends.
    """

    files: tuple[SourceFile, ...]
    offsets: Sequence[int]
    files_of: Sequence[int]
    lines: Sequence[int]
    columns: Sequence[int]
    flags: Sequence[int]
    directory: str = ""
    source: str = ""
    version: int = 4
    find_inlined: Callable[[], tuple[InlinedCall, ...]] = field(default=tuple, repr=False, compare=False)
    find_functions: Callable[[], tuple[DebugFunction, ...]] = field(default=tuple, repr=False, compare=False)
    find_variables: Callable[[], tuple[Variable, ...]] | None = field(default=None, repr=False, compare=False)
    find_code_ends: Callable[[], Mapping[str, int]] = field(default=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.offsets)

    def __repr__(self) -> str:
        return f"<LineTable rows={len(self)} files={len(set(self.files_of))} version={self.version}>"

    def named_below(self, folder: str) -> LineTable:
        """Return the same table with the names that its files have below a folder; a file elsewhere keeps its path."""
        start = f"{folder}/"
        files = (replace(file, path=joined(self.directory, file.path).removeprefix(start)) for file in self.files)
        return replace(
            self, files=tuple(files), directory="", source=joined(self.directory, self.source).removeprefix(start)
        )

    @cached_property
    def rows(self) -> tuple[LineRow, ...]:
        """The rows as objects, for few of them at a time; the columns are the fast way."""
        return tuple(
            LineRow(offset, file, line, column, bool(flag & IS_STMT), bool(flag & END_SEQUENCE))
            for offset, file, line, column, flag in zip(
                self.offsets, self.files_of, self.lines, self.columns, self.flags, strict=True
            )
        )

    @property
    def ends_of_sequences(self) -> list[int]:
        """The rows that end a sequence, ascending."""
        return indexes_of(bytes(self.flags), END_SEQUENCE)

    @cached_property
    def has_lines(self) -> bool:
        """True if some code is of a line: a table may end a sequence and hold nothing else."""
        offsets = self.offsets
        return any(
            line and not flag & END_SEQUENCE and offsets[row + 1 : row + 2] != offsets[row : row + 1]
            for row, (line, flag) in enumerate(zip(self.lines, self.flags, strict=True))
        )

    @cached_property
    def code_ends(self) -> Mapping[str, int]:
        """The ends of the kernel's code in bytes from its start, by the part of the debug data that states it: the table's
        own, its unit's, that of the frame descriptions."""
        ends = self.ends_of_sequences
        own = {"the line table": max(self.offsets[row] for row in ends)} if ends else {}
        return own | dict(self.find_code_ends())

    @cached_property
    def prologue_end(self) -> int:
        """The offset of the first row marked as the prologue's end; 0 if there is none, or an earlier row has another line."""
        for row, flag in enumerate(self.flags):
            if flag & PROLOGUE_END:
                return self.offsets[row]
            if flag & END_SEQUENCE or (self.files_of[row], self.lines[row]) != (self.files_of[0], self.lines[0]):
                return 0
        return 0

    @cached_property
    def inlined(self) -> tuple[InlinedCall, ...]:
        """The inlined calls, outer ones before those within them; one call appears once per address range."""
        return self.find_inlined()

    @cached_property
    def functions(self) -> tuple[DebugFunction, ...]:
        """The kernel and the functions that it calls, in the order of the debug data."""
        return self.find_functions()

    @cached_property
    def variables(self) -> tuple[Variable, ...] | None:
        """The variables and arguments that the debug data describes, in its order; None where they are not read."""
        return None if self.find_variables is None else self.find_variables()
