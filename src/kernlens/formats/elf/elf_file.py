"""ELF64, little-endian: sections, symbols, relocations.

Source: System V ABI (gABI), chapter 4: "Sections", "Symbol Table" (``Elf64_Sym``, 24 bytes), "Relocation"
(``Elf64_Rel``, 16, ``Elf64_Rela``, 24), "Section Compression" (``Elf64_Chdr``, 24). The headers are in ``elf_header``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cached_property

from kernlens.errors import FormatError
from kernlens.formats.elf.header import (
    EM_INTELGT,
    EM_KERNEL_DEBUG,
    EM_NONE,
    SHF_COMPRESSED,
    SHN_LORESERVE,
    SHN_UNDEF,
    SHN_XINDEX,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_NULL,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    ElfHeader,
    SectionHeader,
    is_elf,
    machine_of,
    section_headers,
)
from kernlens.formats.elf.string_table import StringTable
from kernlens.model.binary import EMPTY, Relocation, Section, Symbol

__all__ = [
    "EM_INTELGT",
    "EM_KERNEL_DEBUG",
    "EM_NONE",
    "SHT_DYNSYM",
    "SHT_NOBITS",
    "SHT_NOTE",
    "SHT_PROGBITS",
    "SHT_REL",
    "SHT_RELA",
    "SHT_STRTAB",
    "SHT_SYMTAB",
    "Elf",
    "SectionHeader",
    "is_elf",
    "machine_of",
    "read_elf",
    "section_headers",
]

_SYMBOL = struct.Struct("<IBBHQQ")
_REL = struct.Struct("<QQ")
_RELA = struct.Struct("<QQq")
_COMPRESSION_HEADER = struct.Struct("<IIQQ")
_ELFCOMPRESS_ZLIB = 1
#: Deflate makes at most 1,032 bytes of one.
_ZLIB_RATIO = 1032

_BINDINGS = {0: "local", 1: "global", 2: "weak"}
_TYPES = {0: "notype", 1: "object", 2: "func", 3: "section", 4: "file"}
_RESERVED_SECTIONS = {0xFFF1: "ABS", 0xFFF2: "COMMON"}

#: Names of relocation types by ``e_machine``. 205: ``ZEELF.h`` of intel-graphics-compiler, ``R_TYPE_ZEBIN``.
_RELOCATION_NAMES = {
    EM_INTELGT: (
        "R_ZE_NONE",
        "R_ZE_SYM_ADDR",
        "R_ZE_SYM_ADDR_32",
        "R_ZE_SYM_ADDR_32_HI",
        "R_PER_THREAD_PAYLOAD_OFFSET_32",
        "R_GLOBAL_IMM_32",
        "R_SEND",
        "R_SYM_ADDR_16",
    )
}


def read_elf(data: memoryview, *, format: str = "elf") -> Elf:
    """Read the header and the section headers; names, symbols and relocations are read when asked for.

    ``format`` is the reader's name in errors. Raises FormatError for what is not ELF64 little-endian and for headers
    that point outside the file.
    """
    header = ElfHeader(data, format)
    headers = header.section_headers()
    return Elf(
        data=data,
        format=format,
        machine=header.machine,
        type=header.type,
        abi_version=data[8],
        flags=header.flags,
        program_header_count=header.program_header_count(headers),
        headers=tuple(headers),
        name_table=header.name_table(headers),
    )


@dataclass(frozen=True)
class Elf:
    """An ELF64 file. ``machine``, ``type``, ``abi_version`` and ``flags`` are the header's numbers; the rest is read on
    first use. ``headers`` are the raw section headers, of which ``name_table`` holds the names (None: no names)."""

    data: memoryview = field(repr=False)
    format: str
    machine: int
    type: int
    abi_version: int
    flags: int
    program_header_count: int
    headers: tuple[SectionHeader, ...] = field(repr=False)
    name_table: SectionHeader | None = field(repr=False)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All sections by index, the null section included. Raises FormatError for a name outside the name table."""
        names = None if self.name_table is None else self._strings(self.name_table, ".shstrtab")
        return tuple(
            Section(index, "" if names is None else names.name(header[0]), *header[1:], self._bytes(header))
            for index, header in enumerate(self.headers)
        )

    @cached_property
    def _by_name(self) -> dict[str, Section]:
        return {section.name: section for section in reversed(self.sections)}

    def section(self, name: str) -> Section | None:
        """The first section of this name, or None."""
        return self._by_name.get(name)

    def sections_of_type(self, type: int) -> tuple[Section, ...]:
        """All sections with this ``sh_type``, by index."""
        return tuple(section for section in self.sections if section.type == type)

    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of SHT_SYMTAB, or of SHT_DYNSYM if there is no SHT_SYMTAB; by index, the null symbol included."""
        return self._symbols

    @cached_property
    def _symbols(self) -> tuple[Symbol, ...]:
        tables = self.sections_of_type(SHT_SYMTAB) or self.sections_of_type(SHT_DYNSYM)
        return self._table_symbols(tables[0]) if tables else ()

    def _table_symbols(self, table: Section) -> tuple[Symbol, ...]:
        known = self._symbol_tables
        if table.index not in known:
            if len(known) == 2:
                raise self._error(
                    "it is the third symbol table; ELF has one SHT_SYMTAB and one SHT_DYNSYM at most", table
                )
            known[table.index] = self._read_symbols(table)
        return known[table.index]

    @cached_property
    def _symbol_tables(self) -> dict[int, tuple[Symbol, ...]]:
        return {}

    def _read_symbols(self, table: Section) -> tuple[Symbol, ...]:
        self._check_entries(table, _SYMBOL.size)
        names = self._linked_strings(table)
        extended = self._extended_indexes(table)
        sections = self.sections
        symbols = []
        for index, (name, kind, _other, place, value, size) in enumerate(_SYMBOL.iter_unpack(table.data)):
            if place == SHN_XINDEX:
                place = extended[index] if index < len(extended) else SHN_UNDEF
            elif place >= SHN_LORESERVE:
                symbols.append(
                    self._symbol(names, name, kind, value, size, _RESERVED_SECTIONS.get(place), place, index)
                )
                continue
            if place >= len(sections):
                raise self._error(f"symbol {index} is in section {place}, but there are {len(sections)}", table)
            owner = sections[place].name if place else None
            symbols.append(self._symbol(names, name, kind, value, size, owner, place, index))
        return tuple(symbols)

    @staticmethod
    def _symbol(
        names: StringTable, name: int, kind: int, value: int, size: int, owner: str | None, place: int, index: int
    ) -> Symbol:
        binding, type = kind >> 4, kind & 15
        return Symbol(
            name=names.name(name),
            value=value,
            size=size,
            binding=_BINDINGS.get(binding) or str(binding),
            type=_TYPES.get(type) or str(type),
            section=owner,
            section_index=place,
            index=index,
        )

    def _extended_indexes(self, table: Section) -> tuple[int, ...]:
        """``SHT_SYMTAB_SHNDX`` of a symbol table: the section indexes that do not fit into 16 bits."""
        for section in self.sections_of_type(SHT_SYMTAB_SHNDX):
            if section.link == table.index:
                return struct.unpack_from(f"<{len(section.data) // 4}I", section.data)
        return ()

    def relocations(self) -> tuple[Relocation, ...]:
        """All entries of SHT_REL and SHT_RELA sections, in file order; ``section`` is the one to be patched."""
        return self._relocations

    @cached_property
    def _relocations(self) -> tuple[Relocation, ...]:
        tables = [section for section in self.sections if section.type in (SHT_REL, SHT_RELA)]
        if sum(table.size for table in tables) > len(self.data):
            raise FormatError("relocation sections overlap: together they are larger than the file", format=self.format)
        found: list[Relocation] = []
        for table in tables:
            found += self.relocations_of(table)
        return tuple(found)

    def relocations_of(self, table: Section) -> list[Relocation]:
        """The entries of one SHT_REL or SHT_RELA section."""
        layout = _RELA if table.type == SHT_RELA else _REL
        self._check_entries(table, layout.size)
        if table.info >= len(self.sections):
            raise self._error(f"it relocates section {table.info}, but there are {len(self.sections)}", table)
        target = self.sections[table.info].name if table.info else ""
        symbols = self._symbols_for(table)
        type_names = _RELOCATION_NAMES.get(self.machine, ())
        found = []
        for offset, packed, *addend in layout.iter_unpack(table.data):
            index, type = packed >> 32, packed & 0xFFFFFFFF
            if index and index >= len(symbols):
                raise self._error(f"a relocation names symbol {index}, but there are {len(symbols)}", table)
            found.append(
                Relocation(
                    section=target,
                    offset=offset,
                    type=type,
                    type_name=type_names[type] if type < len(type_names) else str(type),
                    symbol=_relocation_symbol(symbols[index]) if index else "",
                    symbol_index=index,
                    addend=addend[0] if addend else None,
                )
            )
        return found

    def _symbols_for(self, table: Section) -> tuple[Symbol, ...]:
        """The symbols that a relocation table's indexes mean: those of the table that ``sh_link`` names."""
        if table.link == 0:
            return self._symbols
        if table.link >= len(self.sections):
            raise self._error(
                f"its symbols are said to be in section {table.link}, but there are {len(self.sections)}", table
            )
        linked = self.sections[table.link]
        if linked.type not in (SHT_SYMTAB, SHT_DYNSYM):
            raise self._error(f"its symbols are said to be in section {linked.name}, which is no symbol table", table)
        return self._table_symbols(linked)

    def contents(self, section: Section) -> memoryview:
        """A section's bytes, decompressed where SHF_COMPRESSED says so (zlib only).

        The size that ``Elf64_Chdr`` promises is what comes out at most, and no more than zlib can have packed.
        """
        if not section.flags & SHF_COMPRESSED or section.type == SHT_NOBITS:
            return section.data
        if len(section.data) < _COMPRESSION_HEADER.size:
            raise self._error("it is marked as compressed but too small for a compression header", section)
        method, _reserved, size, _alignment = _COMPRESSION_HEADER.unpack_from(section.data)
        if method != _ELFCOMPRESS_ZLIB:
            raise self._error(
                f"it is compressed by method {method}, only zlib (1) is read; "
                "`objcopy --decompress-debug-sections` makes a file that can be read",
                section,
            )
        packed = section.data[_COMPRESSION_HEADER.size :]
        if size > _ZLIB_RATIO * len(packed) + 64:
            raise self._error(
                f"{len(packed)} compressed bytes cannot hold the {size} that the header promises", section
            )
        return memoryview(self._inflate(packed, size, section))

    def _inflate(self, packed: memoryview, size: int, section: Section) -> bytes:
        import zlib

        try:
            unpacked = zlib.decompressobj().decompress(packed, size) if size else b""
        except zlib.error as error:
            raise self._error(f"its compressed bytes are damaged ({error})", section) from error
        if len(unpacked) != size:
            raise self._error(f"it decompresses to {len(unpacked)} bytes, its header promises {size}", section)
        return unpacked

    def _bytes(self, header: SectionHeader) -> memoryview:
        type, offset, size = header[1], header[4], header[5]
        return EMPTY if type in (SHT_NOBITS, SHT_NULL) else self.data[offset : offset + size]

    def _strings(self, header: SectionHeader, name: str) -> StringTable:
        return StringTable(self._bytes(header), format=self.format, section=name)

    def _linked_strings(self, table: Section) -> StringTable:
        if table.link >= len(self.headers):
            raise self._error(
                f"its names are said to be in section {table.link}, but there are {len(self.headers)}", table
            )
        return self._strings(self.headers[table.link], self.sections[table.link].name)

    def _check_entries(self, table: Section, size: int) -> None:
        if table.entry_size not in (0, size):
            raise self._error(f"its entries are said to have {table.entry_size} bytes, expected {size}", table)
        if len(table.data) % size:
            raise self._error(f"its {len(table.data)} bytes are no whole number of entries of {size} bytes", table)

    def _error(self, message: str, section: Section) -> FormatError:
        return FormatError(message, format=self.format, section=section.name, offset=section.offset)


def _relocation_symbol(symbol: Symbol) -> str:
    """The name to show: section symbols have none of their own and mean their section."""
    return symbol.name or (symbol.section or "" if symbol.type == "section" else "")
