"""The header of an ELF64 file and its section headers, little-endian.

Source: System V ABI (gABI), chapter 4, "ELF Header" (``Elf64_Ehdr``, 64 bytes) and "Sections" (``Elf64_Shdr``, 64
bytes each). All that a header names is checked against the file; sections may overlap.
"""

from __future__ import annotations

import struct
from typing import TypeAlias

from kernlens.errors import FormatError
from kernlens.formats.elf.string_table import StringTable

MAGIC = b"\x7fELF"
HEADER_SIZE = 64

#: ``e_machine`` values that Intel GPU binaries use (other ELFs belong to the host).
EM_NONE = 0
EM_KERNEL_DEBUG = 182
EM_INTELGT = 205

SHT_NULL = 0
SHT_PROGBITS = 1
SHT_SYMTAB = 2
SHT_STRTAB = 3
SHT_RELA = 4
SHT_NOTE = 7
SHT_NOBITS = 8
SHT_REL = 9
SHT_DYNSYM = 11
SHT_SYMTAB_SHNDX = 18

SHF_COMPRESSED = 0x800

SHN_UNDEF = 0
SHN_LORESERVE = 0xFF00
SHN_XINDEX = 0xFFFF
_PN_XNUM = 0xFFFF

_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")

#: One ``Elf64_Shdr``: name offset, type, flags, address, offset, size, link, info, alignment, entry size.
SectionHeader: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int]


def is_elf(data: memoryview) -> bool:
    """Whether ``data`` begins like an ELF of any class."""
    return data[:4] == MAGIC


def machine_of(data: memoryview) -> int:
    """``e_machine`` of what ``is_elf`` accepts; raises FormatError if the file ends before it."""
    if len(data) < 20:
        raise FormatError(f"{len(data)} bytes are too few for an ELF header", format="elf", offset=0)
    return data[18] | data[19] << 8


def section_headers(data: memoryview, *, format: str = "elf") -> list[SectionHeader]:
    """The raw section headers, without names: the fast way through many small files.

    Each section's bytes are checked to lie in the file (SHT_NULL and SHT_NOBITS have none).
    """
    return ElfHeader(data, format).section_headers()


class ElfHeader:
    """``Elf64_Ehdr`` and its section header table. Raises FormatError for any other class or byte order."""

    type: int
    machine: int
    section_table: int
    flags: int
    section_header_size: int
    section_count: int
    name_table_index: int

    def __init__(self, data: memoryview, format: str) -> None:
        self.data = data
        self.format = format
        if data[:4] != MAGIC:
            raise self._error("this is not an ELF file: it does not begin with 7f 45 4c 46", 0)
        if len(data) < HEADER_SIZE:
            raise self._error(
                f"{len(data)} bytes are too few for an ELF header of {HEADER_SIZE}: the file is cut off", 0
            )
        if data[4] != 2:
            found = "a 32-bit ELF" if data[4] == 1 else f"an ELF of unknown class {data[4]}"
            raise self._error(f"{found}; Intel GPU binaries are 64-bit ELFs", 4)
        if data[5] != 1:
            raise self._error("the ELF is not little-endian", 5)
        (
            self.type,
            self.machine,
            _version,
            _entry,
            _program_headers,
            self.section_table,
            self.flags,
            _header_size,
            _program_header_size,
            self._program_header_count,
            self.section_header_size,
            self.section_count,
            self.name_table_index,
        ) = _HEADER.unpack_from(data)

    def section_headers(self) -> list[SectionHeader]:
        start = self.section_table
        if start == 0:
            return []
        if self.section_header_size != _SECTION_HEADER.size:
            raise self._error(
                f"section headers of {self.section_header_size} bytes, expected {_SECTION_HEADER.size}", 58
            )
        count = self.section_count or self._count_from_first(start)
        end = start + count * _SECTION_HEADER.size
        size = len(self.data)
        if end > size:
            raise self._error(
                f"the table of {count} section headers ends at {end:#x}, the file at {size:#x}: the file is cut off",
                start,
            )
        headers: list[SectionHeader] = list(_SECTION_HEADER.iter_unpack(self.data[start:end]))
        for header in headers:
            if header[4] + header[5] > size and header[1] != SHT_NOBITS and header[1] != SHT_NULL:
                raise self._outside(headers, header)
        return headers

    def _count_from_first(self, start: int) -> int:
        """The number of sections when ``e_shnum`` cannot hold it: ``sh_size`` of section 0."""
        if start + _SECTION_HEADER.size > len(self.data):
            raise self._error("the first section header lies outside the file: the file is cut off", start)
        return int(_SECTION_HEADER.unpack_from(self.data, start)[5])

    def name_table(self, headers: list[SectionHeader]) -> SectionHeader | None:
        """The header of the section names' string table; None if the file has none (index 0)."""
        index = self.name_table_index
        if not headers or index == SHN_UNDEF:
            return None
        if index == SHN_XINDEX:
            index = headers[0][6]
        if index >= len(headers):
            raise self._error(f"section names are said to be in section {index}, but there are {len(headers)}", 62)
        if headers[index][1] != SHT_STRTAB:
            raise self._error(f"section names are said to be in section {index}, which is no string table", 62)
        return headers[index]

    def program_header_count(self, headers: list[SectionHeader]) -> int:
        if self._program_header_count == _PN_XNUM and headers:
            return int(headers[0][7])
        return int(self._program_header_count)

    def _outside(self, headers: list[SectionHeader], header: SectionHeader) -> FormatError:
        return FormatError(
            f"its {header[5]} bytes at {header[4]:#x} do not fit into the file of {len(self.data)}: it is cut off",
            format=self.format,
            section=self._section_name(headers, header),
            offset=header[4],
        )

    def _section_name(self, headers: list[SectionHeader], header: SectionHeader) -> str:
        """A section's name for an error; its index if the names cannot be read either."""
        index = f"#{headers.index(header)}"
        try:
            table = self.name_table(headers)
            if table is None or table[4] + table[5] > len(self.data):
                return index
            names = StringTable(self.data[table[4] : table[4] + table[5]], format=self.format)
            return names.name(header[0]) or index
        except FormatError:
            return index

    def _error(self, message: str, offset: int) -> FormatError:
        return FormatError(message, format=self.format, offset=offset)
