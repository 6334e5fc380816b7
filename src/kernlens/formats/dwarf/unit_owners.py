"""The kernel that each compile unit of a zebin describes: the one whose code section its rows' addresses are relocated to.

The names in the debug data do not tell it: Intel's compiler writes a C++ kernel's DW_AT_name demangled ("typeinfo name for
Named" for ``_ZTS5Named``). The relocations of .debug_line do, but for this: their symbols are defined in a *debug* section, so
that only their names, those of code sections, say which section they mean; and some of them have lost their names (IGC 2.40:
69 of 328 units in 30 files, now these and now those). Such units are those of the code sections in order: in all of these
files the units stand in the order of the sections, and the size of each unit's code is that of its section's functions.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from kernlens.formats.dwarf.forms import read_initial_length
from kernlens.formats.dwarf.relocation import LOADED, R_ZE_SYM_ADDR
from kernlens.formats.dwarf.units import Unit
from kernlens.formats.elf.elf_file import Elf
from kernlens.formats.elf.header import SHF_EXECINSTR, SHT_RELA
from kernlens.model.binary import Relocation, Section, Symbol

TEXT = ".text."
_LINE = ".debug_line"
#: The owner of a unit without rows.
NOBODY = ""


def owners_of(elf: Elf, line: bytes, units: Sequence[Unit]) -> list[str | None]:
    """Return for each unit the name of the kernel that it describes, NOBODY if it has no rows, None if the file does
    not tell it.

    ``line`` is .debug_line, in which each of ``units`` has a line program. Raises FormatError if the symbols or relocations
    are damaged.
    """
    sections = CodeSections(elf)
    addresses = section_relocations(elf, _LINE)
    firsts = [_first_address(addresses, line, unit) for unit in units]
    # Without any relocation, the addresses are in the rows themselves.
    has_rows = [first is not None or not addresses for first in firsts]
    symbols = elf.symbols()
    known = [
        sections.at(unit.low) if first is None else sections.of(symbols, first)
        for unit, first in zip(units, firsts, strict=True)
    ]
    if any(rows and section is None for rows, section in zip(has_rows, known, strict=True)):
        known = _in_order(known, units, sections.code, symbols)
    return [
        NOBODY if not rows else None if section is None else section.name.removeprefix(TEXT)
        for rows, section in zip(has_rows, known, strict=True)
    ]


def section_relocations(elf: Elf, name: str) -> list[Relocation]:
    """Return the relocations that store whole addresses into the debug section ``name``, by their offsets."""
    tables = (
        table
        for table in elf.sections_of_type(SHT_RELA)
        if 0 < table.info < len(elf.sections) and elf.sections[table.info].name == name
    )
    addresses = [entry for table in tables for entry in elf.relocations_of(table) if entry.type == R_ZE_SYM_ADDR]
    return sorted(addresses, key=lambda entry: entry.offset)


def _first_address(addresses: Sequence[Relocation], line: bytes, unit: Unit) -> Relocation | None:
    """Return the relocation of the first address in a unit's line program."""
    start = unit.line_program or 0
    try:
        length, _offset_size, behind = read_initial_length(line, start)
    except struct.error:  # There is no program, which its decoder tells.
        return None
    position = bisect_left(addresses, start, key=lambda entry: entry.offset)
    if position == len(addresses) or addresses[position].offset >= behind + length:
        return None
    return addresses[position]


class CodeSections:
    """A file's code sections, by what may mean them."""

    def __init__(self, elf: Elf) -> None:
        self.code = code = [
            section for section in elf.sections if section.flags & SHF_EXECINSTR and section.name.startswith(TEXT)
        ]
        self._by_index = {section.index: section for section in code}
        self._by_name = {section.name: section for section in reversed(code)}
        self._loaded = sorted((section for section in code if section.address), key=lambda section: section.address)

    def of(self, symbols: Sequence[Symbol], address: Relocation) -> Section | None:
        """Return the section that a relocation's symbol means, which defines it, has its name, or was loaded where it is."""
        if address.symbol_index is None or address.symbol_index >= len(symbols):
            return None
        symbol = symbols[address.symbol_index]
        section = self._by_index.get(symbol.section_index) or self._by_name.get(symbol.name)
        return self.at(symbol.value) if section is None else section

    def at(self, address: int | None) -> Section | None:
        """Return the section that was loaded at ``address``."""
        if address is None or address < LOADED:
            return None
        position = bisect_right(self._loaded, address, key=lambda section: section.address) - 1
        section = self._loaded[position] if position >= 0 else None
        return section if section is not None and address - section.address < section.size else None


def _in_order(
    known: list[Section | None], units: Sequence[Unit], code: Sequence[Section], symbols: Sequence[Symbol]
) -> list[Section | None]:
    """Return the code sections in order as those of the units, if nothing speaks against it; else what is known."""
    if len(units) != len(code):
        return known
    ends: dict[int, int] = {}
    for symbol in symbols:
        if symbol.type == "func":
            end = symbol.value + symbol.size
            ends[symbol.section_index] = max(ends.get(symbol.section_index, 0), end)
    for unit, section, other in zip(units, code, known, strict=True):
        if other is not None and other is not section:
            return known
        # Symbols of a loaded module's debug ELF hold addresses.
        end = ends.get(section.index, 0)
        size = end - section.address if end > section.address else end
        if unit.size is not None and (unit.size != size if end else unit.size > section.size):
            return known
    return list(code)
