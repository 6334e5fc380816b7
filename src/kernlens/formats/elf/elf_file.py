"""ELF64, little-endian: sections, symbols, relocations.

Source: System V ABI (gABI), chapter 4: "Sections", "Symbol Table", "Relocation", "Section Compression". ``header``
reads the headers, and ``elf64_structures`` has the layouts.
"""

from __future__ import annotations

import struct
from functools import cached_property

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.formats.elf import elf64_structures as elf64
from kernlens.formats.elf import header as elf_header
from kernlens.formats.elf.header import (
    SHN_LORESERVE,
    SHN_XINDEX,
    STV_HIDDEN,
    ElfHeader,
    ReadBytes,
    SectionTable,
    section_bytes,
)
from kernlens.formats.elf.string_table import StringTable
from kernlens.model.allowance import Allowance
from kernlens.model.binary import Relocation, Section, Symbol

_ELFCOMPRESS_ZLIB = 1
#: Deflate makes at most 1,032 bytes of one.
_ZLIB_RATIO = 1032
#: How often as many bytes as the file has may be read of its sections: what shares bytes is meant for two readers.
_TIMES = 2

#: Labels that are passed over for an entry of the allowance: 24 bytes are looked at of each, and nothing is kept.
_LABELS_PER_ENTRY = 16
_BINDINGS = {0: "local", 1: "global", 2: "weak"}
_TYPES = {0: "notype", 1: "object", 2: "func", 3: "section", 4: "file"}
#: ``st_info`` -> binding and type.
_KINDS = [(_BINDINGS.get(info >> 4) or str(info >> 4), _TYPES.get(info & 15) or str(info & 15)) for info in range(256)]
_RESERVED_SECTIONS = {0xFFF1: "ABS", 0xFFF2: "COMMON"}

_AMDGPU_RELOCATIONS = (
    "NONE", "ABS32_LO", "ABS32_HI", "ABS64", "REL32", "REL64", "ABS32", "GOTPCREL", "GOTPCREL32_LO", "GOTPCREL32_HI",
    "REL32_LO", "REL32_HI", "12", "RELATIVE64", "REL16",
)  # fmt: skip
#: Names of relocation types by ``e_machine``. 205: ``ZEELF.h`` of intel-graphics-compiler, ``R_TYPE_ZEBIN``; 224: LLVM's "User
#: Guide for AMDGPU Backend", "Relocation Records".
_RELOCATION_NAMES = {
    elf_header.EM_INTELGT: (
        "R_ZE_NONE",
        "R_ZE_SYM_ADDR",
        "R_ZE_SYM_ADDR_32",
        "R_ZE_SYM_ADDR_32_HI",
        "R_PER_THREAD_PAYLOAD_OFFSET_32",
        "R_GLOBAL_IMM_32",
        "R_SEND",
        "R_SYM_ADDR_16",
    ),
    elf_header.EM_AMDGPU: tuple(f"R_AMDGPU_{name}" for name in _AMDGPU_RELOCATIONS),
}


def read_elf(data: memoryview, *, format: str = "elf", allowance: Allowance | None = None) -> Elf:
    """Read the header and the section headers; names, symbols and relocations are read when asked for.

    ``format`` is the reader's name in errors, ``allowance`` that of the whole input (None: this file is it). Raises FormatError
    for files that are not ELF64, little-endian, and for headers that point outside the file. Sections may share bytes, until
    twice as many bytes of them have been read as the file has.
    """
    header = ElfHeader(data, format)
    headers = header.section_headers()
    return Elf(
        data=data,
        format=format,
        machine=header.ehdr.e_machine,
        type=header.ehdr.e_type,
        abi_version=header.ehdr.e_ident[elf64.EI_ABIVERSION],
        flags=header.ehdr.e_flags,
        program_header_count=header.program_header_count(headers),
        headers=headers,
        name_table=header.name_table(headers),
        allowance=allowance or Allowance(len(data)),
    )


@dataclass(frozen=True)
class Elf:
    """An ELF64 file. ``machine``, ``type``, ``abi_version`` and ``flags`` are the header's numbers; the rest is read on
    first use. ``headers`` are the section headers; ``name_table`` is that of the table with their names (None: there
    are no names)."""

    data: memoryview = field(repr=False)
    format: str
    machine: int
    type: int
    abi_version: int
    flags: int
    program_header_count: int
    headers: SectionTable = field(repr=False)
    name_table: elf64.Elf64Shdr | None = field(repr=False)
    allowance: Allowance = field(repr=False, compare=False)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All sections by index, the null section included. Raises FormatError for a name outside the name table."""
        return tuple(self._section(index, header) for index, header in enumerate(self.headers))

    def _section(self, index: int, header: elf64.Elf64Shdr) -> Section:
        return Section(
            index,
            "" if self._names is None else self._names.name(header.sh_name),
            header.sh_type,
            header.sh_flags,
            header.sh_addr,
            header.sh_offset,
            header.sh_size,
            header.sh_link,
            header.sh_info,
            header.sh_addralign,
            header.sh_entsize,
            section_bytes(self.data, header),
            self._on_read,
        )

    @cached_property
    def _on_read(self) -> ReadBytes:
        return ReadBytes(len(self.data), self.format, _TIMES)

    @cached_property
    def _names(self) -> StringTable | None:
        return None if self.name_table is None else self._strings(self.name_table, ".shstrtab")

    def section(self, name: str) -> Section | None:
        """Return the first section of this name, None if there is none; the others are not read."""
        if self._names is not None:
            for index, (sh_name, *_) in enumerate(self.headers.overview()):
                if self._names.name(sh_name) == name:
                    return self._section(index, self.headers[index])
        return None

    def sections_of_type(self, type: int) -> tuple[Section, ...]:
        """Return all sections with this ``sh_type``, by index."""
        return tuple(section for section in self.sections if section.type == type)

    def symbols(self) -> tuple[Symbol, ...]:
        """Return the symbols of SHT_SYMTAB, or of SHT_DYNSYM if there is no SHT_SYMTAB, by index, the null symbol
        included. Raises FormatError for damaged tables and names."""
        return self._symbols

    @cached_property
    def symbols_but_labels(self) -> tuple[Symbol, ...]:
        """The symbols of ``symbols`` without labels of code: local ones without type and size. ROCm 5.0's LLVM leaves one
        in a linked file for each block, 125 for each kernel, and assemblers do. They are passed over, not read, and most of
        them cost nothing. Raises FormatError like ``symbols``."""
        if (table := self._symbol_table) is None:
            return ()
        self._check_entries(table, elf64.SYM_LAYOUT.size)
        code = frozenset(section.index for section in self.sections if section.flags & elf_header.SHF_EXECINSTR)
        entries = elf64.SYM_LAYOUT.iter_unpack(bytes(table.data))
        labels = sum(not info and not size and place in code for _, info, _, place, _, size in entries)
        return self._read_symbols(table, code, labels) if labels else self._symbols

    @cached_property
    def _symbols(self) -> tuple[Symbol, ...]:
        return self._table_symbols(self._symbol_table) if self._symbol_table is not None else ()

    @property
    def _symbol_table(self) -> Section | None:
        tables = self.sections_of_type(elf_header.SHT_SYMTAB) or self.sections_of_type(elf_header.SHT_DYNSYM)
        return tables[0] if tables else None

    def _table_symbols(self, table: Section) -> tuple[Symbol, ...]:
        tables = self._symbol_tables
        if table.index not in tables:
            if len(tables) == 2:
                raise self._error(
                    "it is the third symbol table; ELF has one SHT_SYMTAB and one SHT_DYNSYM at most", table
                )
            tables[table.index] = self._read_symbols(table)
        return tables[table.index]

    @cached_property
    def _symbol_tables(self) -> dict[int, tuple[Symbol, ...]]:
        return {}

    def _read_symbols(
        self, table: Section, without_labels: frozenset[int] = frozenset(), labels: int = 0
    ) -> tuple[Symbol, ...]:
        """Return the symbols of a table, without the ``labels`` in these sections of code, which have been counted."""
        self._check_entries(table, elf64.SYM_LAYOUT.size)
        count = len(table.data) // elf64.SYM_LAYOUT.size - labels + labels // _LABELS_PER_ENTRY
        self.allowance.count(count, "symbols", format=self.format, section=table.name)
        names = self._linked_strings(table)
        extended = self._extended_indexes(table)
        sections = self.sections
        symbols = []
        # A hot loop (large modules have a million symbols): no record is made of an entry.
        # Of bytes: Python 3.11 crashes if its garbage collector finds a view that an iterator still reads, as in the
        # traceback of an error that is kept (gh-77894 of CPython).
        entries = elf64.SYM_LAYOUT.iter_unpack(bytes(table.data))
        for index, (st_name, st_info, st_other, st_shndx, st_value, st_size) in enumerate(entries):
            if st_shndx == SHN_XINDEX:
                st_shndx = extended[index] if index < len(extended) else elf_header.SHN_UNDEF
                is_reserved = False
            else:
                is_reserved = st_shndx >= SHN_LORESERVE
            if not st_info and not st_size and st_shndx in without_labels:
                continue
            if is_reserved:
                owner = _RESERVED_SECTIONS.get(st_shndx)
            elif st_shndx >= len(sections):
                raise self._error(f"symbol {index} is in section {st_shndx}, but there are {len(sections)}", table)
            else:
                owner = sections[st_shndx].name if st_shndx else None
            binding, type = _KINDS[st_info]
            name, is_hidden = names.name(st_name), st_other & 3 == STV_HIDDEN
            symbols.append(Symbol(name, st_value, st_size, binding, type, owner, st_shndx, index, is_hidden=is_hidden))
        return tuple(symbols)

    def _extended_indexes(self, table: Section) -> tuple[int, ...]:
        """Read the SHT_SYMTAB_SHNDX of a symbol table: the section indexes that do not fit into 16 bits."""
        for section in self.sections_of_type(elf_header.SHT_SYMTAB_SHNDX):
            if section.link == table.index:
                return struct.unpack_from(f"<{len(section.data) // 4}I", section.data)
        return ()

    def relocations(self) -> tuple[Relocation, ...]:
        """Return all entries of SHT_REL and SHT_RELA sections, in file order; their ``section`` is the one to be
        patched. Raises FormatError for damaged tables."""
        return self._relocations

    @cached_property
    def _relocations(self) -> tuple[Relocation, ...]:
        tables = [section for section in self.sections if section.type in (elf_header.SHT_REL, elf_header.SHT_RELA)]
        return tuple(relocation for table in tables for relocation in self.relocations_of(table))

    def relocations_of(self, table: Section) -> list[Relocation]:
        """Return the entries of one SHT_REL or SHT_RELA section."""
        layout = elf64.RELA_LAYOUT if table.type == elf_header.SHT_RELA else elf64.REL_LAYOUT
        self._check_entries(table, layout.size)
        if table.info >= len(self.sections):
            raise self._error(f"it relocates section {table.info}, but there are {len(self.sections)}", table)
        target = self.sections[table.info].name if table.info else ""
        # Debug data has one for each of its addresses, strings and references to other sections.
        share = 4 if target.startswith(".debug") else 1
        count = len(table.data) // layout.size // share
        self.allowance.count(count, "relocations", format=self.format, section=table.name)
        symbols = self._symbols_for(table)
        type_names = _RELOCATION_NAMES.get(self.machine, ())
        relocations = []
        for r_offset, r_type, r_sym, *r_addend in layout.iter_unpack(bytes(table.data)):
            if r_sym and r_sym >= len(symbols):
                raise self._error(f"a relocation names symbol {r_sym}, but there are {len(symbols)}", table)
            relocations.append(
                Relocation(
                    section=target,
                    offset=r_offset,
                    type=r_type,
                    type_name=type_names[r_type] if r_type < len(type_names) else str(r_type),
                    symbol=_relocation_symbol(symbols[r_sym]) if r_sym else "",
                    symbol_index=r_sym,
                    addend=r_addend[0] if r_addend else None,
                )
            )
        return relocations

    def _symbols_for(self, table: Section) -> tuple[Symbol, ...]:
        """Return the symbols that a relocation table's indexes mean: those of the table that ``sh_link`` names."""
        if table.link == 0:
            return self._symbols
        if table.link >= len(self.sections):
            raise self._error(
                f"it claims that its symbols are in section {table.link}, but there are {len(self.sections)}", table
            )
        linked = self.sections[table.link]
        if linked.type not in (elf_header.SHT_SYMTAB, elf_header.SHT_DYNSYM):
            raise self._error(
                f"it claims that its symbols are in section {linked.name}, which is not a symbol table", table
            )
        # Intel's drivers read one table, and its numbers are what `symbols` is asked for.
        if self.machine == elf_header.EM_INTELGT and (own := self._symbol_table) and linked.index != own.index:
            raise self._error(
                f"its symbols are in section {linked.name}, not in the table of symbols {own.name}", table
            )
        return self._table_symbols(linked)

    def contents(self, section: Section, allowance: Allowance | None = None) -> memoryview:
        """Return a section's bytes, decompressed where SHF_COMPRESSED says so (zlib only).

        At most ``ch_size`` bytes come out, no more than zlib can have packed, and no more than ``allowance`` has left (None:
        an allowance for this file alone). Raises FormatError for another method, damaged bytes, or a size that does not hold.
        """
        if not section.flags & elf_header.SHF_COMPRESSED or section.type == elf_header.SHT_NOBITS:
            return section.data
        if len(section.data) < elf64.CHDR_LAYOUT.size:
            raise self._error("it is marked as compressed but too small for a compression header", section)
        header = elf64.Elf64Chdr._make(elf64.CHDR_LAYOUT.unpack_from(section.data))
        if header.ch_type != _ELFCOMPRESS_ZLIB:
            raise self._error(
                f"it is compressed by method {header.ch_type}, only zlib (1) is read; "
                "`objcopy --decompress-debug-sections` makes a file that can be read",
                section,
            )
        packed = section.data[elf64.CHDR_LAYOUT.size :]
        if header.ch_size > _ZLIB_RATIO * len(packed) + 64:
            raise self._error(
                f"{len(packed)} compressed bytes cannot hold the {header.ch_size} that the header promises", section
            )
        (allowance or Allowance(len(self.data))).unpack(header.ch_size, format=self.format, section=section.name)
        return memoryview(self._inflate(packed, header.ch_size, section))

    def _inflate(self, packed: memoryview, size: int, section: Section) -> bytes:
        import zlib

        try:
            unpacked = zlib.decompressobj().decompress(packed, size) if size else b""
        except zlib.error as error:
            raise self._error(f"its compressed bytes are damaged ({error})", section) from error
        if len(unpacked) != size:
            raise self._error(f"it decompresses to {len(unpacked)} bytes, its header promises {size}", section)
        return unpacked

    def _strings(self, header: elf64.Elf64Shdr, name: str) -> StringTable:
        return StringTable(section_bytes(self.data, header), format=self.format, section=name)

    def _linked_strings(self, table: Section) -> StringTable:
        if table.link >= len(self.headers):
            raise self._error(
                f"it claims that its names are in section {table.link}, but there are {len(self.headers)}", table
            )
        return self._strings(self.headers[table.link], self.sections[table.link].name)

    def _check_entries(self, table: Section, size: int) -> None:
        if table.entry_size not in (0, size):
            raise self._error(f"it claims entries of {table.entry_size} bytes, expected {size}", table)
        if len(table.data) % size:
            raise self._error(f"its {len(table.data)} bytes are not a whole number of entries of {size} bytes", table)

    def _error(self, message: str, section: Section) -> FormatError:
        return FormatError(message, format=self.format, section=section.name, offset=section.offset)


def _relocation_symbol(symbol: Symbol) -> str:
    """Return the name to show: a section symbol has none of its own and means its section."""
    return symbol.name or (symbol.section or "" if symbol.type == "section" else "")
