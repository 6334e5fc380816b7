"""Line tables of GPU kernels, from the debug ELF of one kernel or from a zebin with many.

A patch-token program has one ELF per kernel in its debug data; a zebin has one compile unit per kernel. Each kernel's
table is decoded on first use. Sources: DWARF version 4 and 5, section 6.2; see ``unit_owners`` for how a unit is
matched with its kernel and ``relocation`` for why its addresses count from the kernel's start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from kernlens.formats.dwarf.forms import malformed
from kernlens.formats.dwarf.relocation import DebugSections
from kernlens.formats.dwarf.strings import DebugStrings
from kernlens.formats.dwarf.units import Unit, UnitReader
from kernlens.formats.elf.elf_file import Elf, read_elf
from kernlens.formats.elf.header import EM_INTELGT, EM_KERNEL_DEBUG

if TYPE_CHECKING:  # Listing the kernels that have line tables needs none of them.
    from kernlens.formats.dwarf.inlining import InlinedCalls
    from kernlens.formats.dwarf.line_program import LineColumns
    from kernlens.formats.dwarf.variables import Variables
    from kernlens.model.allowance import Allowance
    from kernlens.model.line_table import LineTable, SourceFile

_LINE = ".debug_line"


def read_kernel_debug_elf(data: memoryview, allowance: Allowance | None = None) -> LineTable | None:
    """Read the line table in one kernel's debug ELF (machine 182), None if it has none. Raises FormatError. The ELF
    holds one kernel, so its first compile unit is the kernel's."""
    sections = DebugSections(read_elf(data, format="kernel-debug-elf"), allowance)
    if not sections[_LINE]:
        return None
    tables = LineTables(sections)
    for unit in tables.reader.units():
        if unit.line_program is not None:
            return tables.decode(unit)
    return tables.decode(Unit(0, 0, "", DebugStrings(sections)))


def read_linked_line_table(elf: Elf, address: int, allowance: Allowance | None = None) -> LineTable | None:
    """Read the line table of a linked ELF's code, which begins at ``address``, from where its rows count; None if it has
    none. Of several compile units the one with the most rows counts. Raises FormatError."""
    sections = DebugSections(elf, allowance, address)
    tables = LineTables(sections)
    if not sections[_LINE]:
        return None
    decoded = [tables.decode(unit) for unit in tables.reader.units() if unit.line_program is not None]
    return max(decoded, key=lambda table: len(table.offsets), default=None)


def read_zebin_line_tables(elf: Elf, allowance: Allowance | None = None) -> LineTables:
    """Read the line tables of a zebin (or of the debug ELF of a loaded module) by kernel name, empty if it has none.
    Only the compile units' own attributes are read here. Raises FormatError."""
    from kernlens.formats.dwarf.unit_owners import owners_of

    sections = DebugSections(elf, allowance)
    tables = LineTables(sections)
    if sections[_LINE]:
        units = [unit for unit in tables.reader.units() if unit.line_program is not None]
        for unit, kernel in zip(units, owners_of(elf, sections[_LINE], units), strict=True):
            tables.add(kernel, unit)
    return tables


class LineTables(Mapping[str, "LineTable"]):
    """Line tables by kernel name, each decoded on first use. Looking one up raises FormatError if it is damaged.

    ``reader`` reads the file's units. All tables share what it has read, and the bounds of what they may cost. ``has_others``:
    there are line tables of which the file does not tell the kernel.
    """

    has_others = False

    def __init__(self, sections: DebugSections) -> None:
        self._sections = sections
        self._units: dict[str, Unit] = {}
        self._decoded: dict[str, LineTable] = {}
        # Units of a hostile file may all name overlapping programs; honest ones do not overlap at all.
        self._allowance = 4 * len(sections[_LINE])

    @cached_property
    def reader(self) -> UnitReader:
        return UnitReader(self._sections)

    @cached_property
    def _inlined(self) -> InlinedCalls:
        from kernlens.formats.dwarf.entry_lists import RangeLists
        from kernlens.formats.dwarf.inlining import InlinedCalls

        return InlinedCalls(self.reader, RangeLists(self._sections))

    @cached_property
    def _variables(self) -> Variables:
        from kernlens.formats.dwarf.entry_lists import LocationLists, RangeLists
        from kernlens.formats.dwarf.variables import Variables

        return Variables(self.reader, RangeLists(self._sections), LocationLists(self._sections))

    def __len__(self) -> int:
        return len(self._units)

    def __iter__(self) -> Iterator[str]:
        return iter(self._units)

    def __contains__(self, kernel: object) -> bool:
        return kernel in self._units

    def add(self, kernel: str | None, unit: Unit) -> None:
        """Add the unit that describes ``kernel``, None if that is not known; of several, the first counts."""
        if kernel is None:
            self.has_others = True
        elif kernel:
            self._units.setdefault(kernel, unit)

    def __getitem__(self, kernel: str) -> LineTable:
        table = self._decoded.get(kernel)
        if table is None:
            table = self._decoded[kernel] = self.decode(self._units[kernel], kernel)
        return table

    def decode(self, unit: Unit, kernel: str | None = None) -> LineTable:
        """Decode the line program of ``unit``, which must have one and describes ``kernel``. Raises FormatError if it is
        damaged."""
        from kernlens.formats.dwarf.line_header import read_line_header
        from kernlens.formats.dwarf.line_program import run_line_program
        from kernlens.model.line_table import LineTable

        sections, offset = self._sections, unit.line_program or 0
        buffer = sections[_LINE]
        header = read_line_header(buffer, offset, unit.strings)
        self._allowance -= header.end - offset
        if self._allowance < 0:
            raise malformed("line programs overlap", _LINE, offset)
        rows = run_line_program(buffer, header, sections.code_offset)
        return LineTable(
            files=_files(header.files, rows, offset),
            offsets=rows.offsets,
            files_of=rows.files_of,
            lines=rows.lines,
            columns=rows.columns,
            flags=rows.flags,
            directory=unit.directory or header.directory,
            source=unit.name,
            version=header.version,
            find_inlined=lambda: self._inlined.of_unit(unit.offset, unit.strings),
            find_functions=lambda: self._inlined.functions(unit.offset, unit.strings),
            find_variables=(
                (lambda: self._variables.of_unit(unit.offset, unit.strings))
                if sections.elf.machine in (EM_KERNEL_DEBUG, EM_INTELGT)
                else None
            ),
            find_code_ends=lambda: self._code_ends(unit, kernel),
        )

    def _code_ends(self, unit: Unit, kernel: str | None) -> dict[str, int]:
        """Return where the unit, and the frame descriptions of ``kernel``, state that its code ends."""
        ends = {}
        if unit.size is not None:
            ends["the debug data's unit"] = (self._sections.code_offset(unit.low) if unit.low else 0) + unit.size
        if kernel is not None and kernel in self._frame_ends:
            ends["the unwind data"] = self._frame_ends[kernel]
        return ends

    @cached_property
    def _frame_ends(self) -> Mapping[str, int]:
        from kernlens.formats.dwarf.frame_ends import frame_ends

        return frame_ends(self._sections)


def _files(declared: tuple[SourceFile, ...], rows: LineColumns, offset: int) -> tuple[SourceFile, ...]:
    from kernlens.model.line_table import SourceFile

    files = declared + rows.defined_files
    highest = max(rows.files_of, default=0)
    # DWARF 5 counts from 0, but programs that never set the file use the register's first value, 1, all the same.
    if highest >= max(len(files), 2):
        raise malformed(f"a row names file {highest}, the table has {len(files)}", _LINE, offset)
    return files + (SourceFile(""),) * max(0, highest + 1 - len(files))
