"""The line tables of a code object's kernels, each cut out of those of the file.

A compile unit of AMD's compilers holds all kernels of a source, so that one line program has the rows of all of them: those
at a kernel's addresses are its. Sources: DWARF version 4 and 5, section 6.2; LLVM's "User Guide for AMDGPU Backend",
"Relocation Records".
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

from kernlens.dataclass import replace
from kernlens.errors import FormatError
from kernlens.formats.amdgpu.code_object import CodeObject, CodeObjectKernel
from kernlens.formats.dwarf.line_tables import LineTables
from kernlens.formats.dwarf.relocation import DebugSections
from kernlens.model.line_table import END_SEQUENCE, DebugFunction, InlinedCall, LineTable


class _Sequence(NamedTuple):
    """Rows of a table that ascend: from ``first`` up to ``end``, whose row is the last; ``low`` and ``high`` are addresses."""

    low: int
    high: int
    table: LineTable
    first: int
    end: int


class CodeObjectLines:
    """The line tables of one code object, which are decoded when the first kernel's is asked for."""

    def __init__(self, read: CodeObject) -> None:
        self._read = read
        self._sections = _LoadedSections(read.elf, read.elf.allowance, bases=read.bases)
        self._tables = LineTables(self._sections)

    @property
    def are_there(self) -> bool:
        """True if the file holds any line table."""
        return bool(self._sections[".debug_line"])

    def of_kernel(self, kernel: CodeObjectKernel) -> LineTable | None:
        """Return a kernel's table, with offsets that count from its first instruction; None if no row is the kernel's.
        Raises FormatError if the tables are damaged."""
        start, stop = kernel.address, kernel.address + len(kernel.code)
        end = bisect_left(self._sequences, stop, key=itemgetter(0))
        mine = [sequence for sequence in self._sequences[:end] if sequence.high > start]
        if not mine:
            return None
        table = mine[-1].table
        return _cut(table, [sequence for sequence in mine if sequence.table is table], start, stop)

    @cached_property
    def _sequences(self) -> list[_Sequence]:
        """All sequences of the file by their lowest address."""
        units = {unit.line_program: unit for unit in self._tables.reader.units() if unit.line_program is not None}
        sequences: list[_Sequence] = []
        for unit in units.values():
            table = self._tables.decode(unit)
            first = 0
            for end in table.ends_of_sequences:
                # The linker leaves sequences of code that it dropped at address 0, which no code has in a linked file.
                if table.offsets[first] or not self._read.is_linked:
                    sequences.append(_Sequence(table.offsets[first], table.offsets[end], table, first, end))
                first = end + 1
        return sorted(sequences, key=itemgetter(0))


class _LoadedSections(DebugSections):
    """The debug sections of a code object, whose addresses all count from the same beginning."""

    def code_offset(self, address: int) -> int:
        """Return the address as it is. Raises FormatError for one that has more than 32 bits."""
        if address >> 32:
            raise FormatError(f"address {address:#x} lies in no code section of the file", format="dwarf")
        return address


def _cut(table: LineTable, sequences: list[_Sequence], start: int, stop: int) -> LineTable:
    """Return the rows of ``sequences`` over [start, stop), moved so that start is 0."""
    offsets, rows, flags = array("I"), array("I"), array("B")
    for sequence in sequences:
        # The row that covers the first address may stand before it: its own rows are the others'.
        first = max(bisect_right(table.offsets, start, sequence.first, sequence.end) - 1, sequence.first)
        while first > sequence.first and table.offsets[first - 1] == table.offsets[first] == start:
            first -= 1
        last = bisect_left(table.offsets, stop, first, sequence.end)
        for row in range(first, last):
            offsets.append(max(table.offsets[row], start) - start)
            rows.append(row)
            flags.append(table.flags[row])
        offsets.append(min(table.offsets[sequence.end], stop) - start)
        rows.append(sequence.end if last == sequence.end else max(last - 1, first))
        flags.append(table.flags[rows[-1]] | END_SEQUENCE)
    return replace(
        table,
        offsets=offsets,
        files_of=array("I", (table.files_of[row] for row in rows)),
        lines=array("I", (table.lines[row] for row in rows)),
        columns=array("I", (table.columns[row] for row in rows)),
        flags=flags,
        find_inlined=lambda: _inlined(table, start, stop),
        find_functions=lambda: _functions(table, start, stop),
        find_code_ends=dict,  # The unit's and the frames' are not this kernel's alone.
    )


def _inlined(table: LineTable, start: int, stop: int) -> tuple[InlinedCall, ...]:
    return tuple(
        replace(call, low=max(call.low, start) - start, high=min(call.high, stop) - start)
        for call in table.inlined
        if call.low < stop and call.high > start
    )


def _functions(table: LineTable, start: int, stop: int) -> tuple[DebugFunction, ...]:
    return tuple(replace(each, low=each.low - start) for each in table.functions if start <= each.low < stop)
