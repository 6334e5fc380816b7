"""Line tables of a cubin: source lines in ``.debug_line``, lines of the PTX in ``.nv_debug_line_sass``.

Source: DWARF versions 2 and 3, section 6.2. One line program describes many kernels, in a sequence each. Which one a sequence
is of says the relocation of its first address (types 1 and 2: 32 and 64 bits of an address), whose symbol is in the
kernel's section: every section gets a range of its own among the addresses of 32 bits. Columns are always 0.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property, partial

from kernlens.formats.cubin.cubin_file import TEXT, Cubin
from kernlens.formats.cubin.inlined_rows import InlinedRows
from kernlens.formats.dwarf.forms import malformed
from kernlens.formats.dwarf.line_header import read_line_header
from kernlens.formats.dwarf.line_program import LineColumns, run_line_program
from kernlens.formats.dwarf.relocation import DebugSections
from kernlens.formats.dwarf.strings import DebugStrings
from kernlens.formats.elf.elf64_structures import REL_LAYOUT, RELA_LAYOUT
from kernlens.formats.elf.header import SHT_NOBITS, SHT_REL, SHT_RELA
from kernlens.model.binary import Section
from kernlens.model.line_table import END_SEQUENCE, LineTable, SourceFile

SOURCE_LINES, PTX_LINES = ".debug_line", ".nv_debug_line_sass"
_R_CUDA_32, _R_CUDA_64 = 1, 2
_ADDRESSES = {_R_CUDA_32: struct.Struct("<I"), _R_CUDA_64: struct.Struct("<Q")}
#: The first address that a section gets. Below it lie addresses that no relocation told the kernel of.
_FIRST = 1 << 24
_MASK = 0xFFFFFFFFFFFFFFFF
#: Programs in one section: a linked file has one for each file that was compiled.
_MOST_PROGRAMS = 1 << 16


class CubinLines(Mapping[str, LineTable]):
    """The line tables of ``section`` by kernel, all read when one is asked for. Looking one up raises FormatError if the
    section is damaged."""

    def __init__(self, cubin: Cubin, section: str = SOURCE_LINES) -> None:
        self._cubin = cubin
        self._name = section

    @cached_property
    def has_section(self) -> bool:
        """True if the file has the section; it need not describe every kernel."""
        section = self._cubin.elf.section(self._name)
        return section is not None and section.type != SHT_NOBITS and bool(section.size)

    def __len__(self) -> int:
        return len(self._tables)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __getitem__(self, kernel: str) -> LineTable:
        return self._tables[kernel]

    @cached_property
    def _tables(self) -> dict[str, LineTable]:
        section = self._cubin.elf.section(self._name) if self.has_section else None
        if section is None:
            return {}
        code = [kernel.section for kernel in self._cubin.kernels]
        bases = _bases(code)
        buffer = _relocated(self._cubin, section, bases)
        strings = DebugStrings(DebugSections(self._cubin.elf, self._cubin.elf.allowance))
        names = self._cubin.elf.section(".debug_str")
        tables: dict[str, LineTable] = {}
        offset, programs = 0, 0
        while offset < len(buffer):
            programs += 1
            if programs > _MOST_PROGRAMS:
                raise malformed(f"it holds more than {_MOST_PROGRAMS:,} line programs", self._name, offset)
            header = read_line_header(buffer, offset, strings)
            rows = run_line_program(buffer, header, _same)
            inlined = InlinedRows(rows, memoryview(b"") if names is None else names.data)
            files = (*header.files, *rows.defined_files)
            for table in _split(rows, files, code, bases, inlined, header.version):
                tables.setdefault(*table)
            offset = header.end
        return tables


def _same(address: int) -> int:
    """Return the address: they are flat already."""
    return address


def _bases(code: list[Section]) -> list[int]:
    """Return the first address of each section of code."""
    bases, base = [], _FIRST
    for section in code:
        bases.append(base)
        base += section.size
    return bases


def _relocated(cubin: Cubin, section: Section, bases: list[int]) -> bytes:
    """Return the section's bytes with the flat addresses of code in place of what its relocations name."""
    elf = cubin.elf
    base_of = {kernel.section.index: base for kernel, base in zip(cubin.kernels, bases, strict=True)}
    patched = bytearray(elf.contents(section, elf.allowance))
    symbols = elf.symbols()
    for table in elf.sections:
        if table.info != section.index or table.type not in (SHT_REL, SHT_RELA):
            continue
        layout = RELA_LAYOUT if table.type == SHT_RELA else REL_LAYOUT
        if len(table.data) % layout.size:
            raise malformed(f"its {len(table.data)} bytes are no whole number of relocations", table.name)
        elf.allowance.count(len(table.data) // layout.size, "relocations", format="cubin", section=table.name)
        for site, kind, symbol, *addend in layout.iter_unpack(bytes(table.data)):
            number = _ADDRESSES.get(kind)
            if number is None:
                continue
            if symbol >= len(symbols) or site + number.size > len(patched):
                raise malformed("a relocation lies outside the section, or names no symbol", table.name, site)
            base = base_of.get(symbols[symbol].section_index)
            if base is None:
                continue
            offset = symbols[symbol].value + (addend[0] if addend else number.unpack_from(patched, site)[0])
            number.pack_into(patched, site, base + offset & _MASK & (1 << 8 * number.size) - 1)
    return bytes(patched)


def _split(
    rows: LineColumns,
    files: tuple[SourceFile, ...],
    code: list[Section],
    bases: list[int],
    inlined: InlinedRows,
    version: int,
) -> Iterator[tuple[str, LineTable]]:
    """Yield each kernel's name and line table: its sequences, one behind the other."""
    of_kernel: dict[int, list[range]] = {}
    start = 0
    for end, flags in enumerate(rows.flags):
        if not flags & END_SEQUENCE:
            continue
        first = rows.offsets[start]
        index = bisect_right(bases, first) - 1
        if index < 0 and len(code) == 1:
            of_kernel.setdefault(-1, []).append(range(start, end + 1))
        elif index >= 0 and first < bases[index] + code[index].size:
            of_kernel.setdefault(index, []).append(range(start, end + 1))
        start = end + 1
    highest = max(rows.files_of, default=0)
    if highest >= max(len(files), 2):
        raise malformed(f"a row names file {highest}, the table has {len(files)}", SOURCE_LINES)
    files += (SourceFile(""),) * max(0, highest + 1 - len(files))
    for index, sequences in of_kernel.items():
        base = 0 if index < 0 else bases[index]
        # Of several rows at one offset the last one counts; the others only say where that was inlined.
        picked = [
            row
            for sequence in sequences
            for row in sequence
            if row + 1 == sequence.stop or rows.offsets[row] != rows.offsets[row + 1]
        ]
        yield (
            code[index].name.removeprefix(TEXT),
            LineTable(
                files=files,
                offsets=[max(0, rows.offsets[row] - base) for row in picked],
                files_of=[rows.files_of[row] for row in picked],
                lines=[rows.lines[row] for row in picked],
                columns=[rows.columns[row] for row in picked],
                flags=[rows.flags[row] for row in picked],
                version=version,
                find_inlined=partial(inlined.of_sequences, sequences, base),
            ),
        )
