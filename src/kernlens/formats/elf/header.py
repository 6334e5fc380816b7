"""The header of an ELF64 file and its section headers, little-endian.

Source: System V ABI (gABI), chapter 4, "ELF Header" and "Sections". Everything that a header names is checked against
the file. Sections may share bytes: ptxas writes the text of PTX once, for two sections (``.nv.merc.*``). ``ReadBytes`` limits
what is read of them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from kernlens.errors import FormatError
from kernlens.formats.elf.elf64_structures import EHDR_LAYOUT, EI_CLASS, EI_DATA, SHDR_LAYOUT, Elf64Ehdr, Elf64Shdr
from kernlens.formats.elf.string_table import StringTable
from kernlens.model.binary import EMPTY, Section

MAGIC = b"\x7fELF"
HEADER_SIZE = EHDR_LAYOUT.size

#: ``e_machine`` values that Intel GPU binaries use, and AMD's (other ELFs belong to the host).
EM_NONE, EM_KERNEL_DEBUG, EM_INTELGT, EM_AMDGPU = 0, 182, 205, 224

SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA = range(5)
SHT_NOTE, SHT_NOBITS, SHT_REL, SHT_DYNSYM, SHT_SYMTAB_SHNDX = 7, 8, 9, 11, 18
SHF_COMPRESSED = 0x800
SHF_EXECINSTR = 4
SHN_UNDEF, SHN_LORESERVE, SHN_XINDEX = 0, 0xFF00, 0xFFFF
STV_HIDDEN = 2
_PN_XNUM = 0xFFFF

#: Parts of ``Elf64_Shdr``: sh_name, sh_type, sh_size and sh_info; sh_type, sh_offset and sh_size.
_OVERVIEW, _EXTENT = struct.Struct("<II24xQ4xI16x"), struct.Struct("<4xI16xQQ24x")


def is_elf(data: memoryview) -> bool:
    """Return whether ``data`` begins like an ELF of any class."""
    return data[:4] == MAGIC


def machine_of(data: memoryview) -> int:
    """Return ``e_machine`` of a file that ``is_elf`` accepts. Raises FormatError if the file ends before it."""
    if len(data) < 20:
        raise FormatError(f"{len(data)} bytes are too few for an ELF header", format="elf", offset=0)
    return data[18] | data[19] << 8


def type_of(data: memoryview) -> int:
    """Return ``e_type`` of a file that ``machine_of`` accepts."""
    return data[16] | data[17] << 8


def section_headers(data: memoryview, *, format: str = "elf") -> SectionTable:
    """Read the section headers without their names: the fast way through many small files.

    Raises FormatError unless each section's bytes lie in the file (SHT_NULL and SHT_NOBITS have none), and all of them
    together are no larger than it: who takes this way reads every section.
    """
    header = ElfHeader(data, format)
    headers = header.section_headers()
    ReadBytes(len(data), format).count(headers.total(), header.ehdr.e_shoff)
    return headers


def section_bytes(data: memoryview, header: Elf64Shdr) -> memoryview:
    """Return the bytes of a section of ``data``, the whole file; none for SHT_NULL and SHT_NOBITS."""
    if header.sh_type in (SHT_NOBITS, SHT_NULL):
        return EMPTY
    return data[header.sh_offset : header.sh_offset + header.sh_size]


class ReadBytes:
    """The bytes of a file's sections that were read, each section once: a small file of sections that all hold the same
    bytes must not cost its readers as much as a large one. ``times`` the file's size may be read."""

    def __init__(self, file_size: int, format: str, times: int = 1) -> None:
        self._file_size, self._format, self._times = file_size, format, times
        self._total = 0
        self._sections: set[int] = set()

    def __call__(self, section: Section) -> None:
        """Count a section that is being read."""
        if section.index not in self._sections:
            self._sections.add(section.index)
            self.count(len(section.content), section.offset)

    def count(self, size: int, offset: int) -> None:
        """Count bytes. Raises FormatError if they are too many."""
        self._total += size
        if self._total > self._times * self._file_size:
            raise FormatError(
                f"its sections overlap: {self._total:,} bytes of them were read, the file has {self._file_size:,}",
                format=self._format,
                offset=offset,
            )


class SectionTable:
    """The section headers of a file, by index. A header becomes a record when it is asked for: an archive has thousands
    of small files, and most of their headers are only looked over."""

    def __init__(self, table: memoryview) -> None:
        self._table = table
        self._records: dict[int, Elf64Shdr] = {}

    def __len__(self) -> int:
        return len(self._table) // SHDR_LAYOUT.size

    def __getitem__(self, index: int) -> Elf64Shdr:
        record = self._records.get(index)
        if record is None:
            values = SHDR_LAYOUT.unpack_from(self._table, index * SHDR_LAYOUT.size)
            record = self._records[index] = Elf64Shdr._make(values)
        return record

    def __iter__(self) -> Iterator[Elf64Shdr]:
        return map(Elf64Shdr._make, SHDR_LAYOUT.iter_unpack(bytes(self._table)))

    def overview(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield (sh_name, sh_type, sh_size, sh_info) of each header, without making records."""
        return _OVERVIEW.iter_unpack(bytes(self._table))

    def extents(self) -> Iterator[tuple[int, int, int]]:
        """Yield (sh_type, sh_offset, sh_size) of each header, without making records."""
        return _EXTENT.iter_unpack(bytes(self._table))

    def total(self) -> int:
        """Return the bytes of all sections together."""
        return sum(sh_size for sh_type, _, sh_size in self.extents() if sh_type not in (SHT_NOBITS, SHT_NULL))

    def outside(self, file_size: int) -> int | None:
        """Return the index of the first section that ends behind ``file_size``, or None."""
        for index, (sh_type, sh_offset, sh_size) in enumerate(self.extents()):
            if sh_offset + sh_size > file_size and sh_type not in (SHT_NOBITS, SHT_NULL):
                return index
        return None


class ElfHeader:
    """A file's header, ``ehdr``, and the section headers that it leads to. Making one raises FormatError for any class
    and byte order but those of ELF64, little-endian."""

    def __init__(self, data: memoryview, format: str) -> None:
        self.data = data
        self.format = format
        if data[:4] != MAGIC:
            raise self._error("this is not an ELF file: it does not begin with 7f 45 4c 46", 0)
        if len(data) < HEADER_SIZE:
            raise self._error(
                f"{len(data)} bytes are too few for an ELF header of {HEADER_SIZE}: the file is cut off", 0
            )
        if data[EI_CLASS] != 2:
            elf_class = "a 32-bit ELF" if data[EI_CLASS] == 1 else f"an ELF of unknown class {data[EI_CLASS]}"
            raise self._error(
                f"{elf_class}; kernlens reads 64-bit ELFs, as all GPU binaries that it knows are", EI_CLASS
            )
        if data[EI_DATA] != 1:
            raise self._error("the ELF is not little-endian", EI_DATA)
        self.ehdr = Elf64Ehdr._make(EHDR_LAYOUT.unpack_from(data))

    def section_headers(self) -> SectionTable:
        """Read all section headers. Raises FormatError for a table or a section that lies outside the file."""
        start = self.ehdr.e_shoff
        if start == 0:
            return SectionTable(EMPTY)
        if self.ehdr.e_shentsize != SHDR_LAYOUT.size:
            raise self._error(f"section headers of {self.ehdr.e_shentsize} bytes, expected {SHDR_LAYOUT.size}", 58)
        count = self.ehdr.e_shnum or self._count_from_first(start)
        end = start + count * SHDR_LAYOUT.size
        size = len(self.data)
        if end > size:
            raise self._error(
                f"the table of {count} section headers ends at {end:#x}, the file at {size:#x}: the file is cut off",
                start,
            )
        headers = SectionTable(self.data[start:end])
        outside = headers.outside(size)
        if outside is not None:
            raise self._outside(headers, outside)
        return headers

    def _count_from_first(self, start: int) -> int:
        """Read the number of sections that ``e_shnum`` cannot hold: ``sh_size`` of section 0."""
        if start + SHDR_LAYOUT.size > len(self.data):
            raise self._error("the first section header lies outside the file: the file is cut off", start)
        return Elf64Shdr._make(SHDR_LAYOUT.unpack_from(self.data, start)).sh_size

    def name_table(self, headers: SectionTable) -> Elf64Shdr | None:
        """Return the header of the string table with the sections' names, None if the file has none (index 0)."""
        index = self.ehdr.e_shstrndx
        if index == SHN_UNDEF or not len(headers):
            return None
        if index == SHN_XINDEX:
            index = headers[0].sh_link
        if index >= len(headers):
            raise self._error(
                f"the header claims that section names are in section {index}, but there are {len(headers)}", 62
            )
        table = headers[index]
        if table.sh_type != SHT_STRTAB:
            raise self._error(
                f"the header claims that section names are in section {index}, which is not a string table", 62
            )
        return table

    def program_header_count(self, headers: SectionTable) -> int:
        """Return the number of program headers: ``e_phnum``, or ``sh_info`` of section 0 if that cannot hold the number."""
        return headers[0].sh_info if self.ehdr.e_phnum == _PN_XNUM and len(headers) else self.ehdr.e_phnum

    def _outside(self, headers: SectionTable, index: int) -> FormatError:
        offset, size = headers[index].sh_offset, headers[index].sh_size
        return FormatError(
            f"its {size} bytes at {offset:#x} do not fit into the file of {len(self.data)}: it is cut off",
            format=self.format,
            section=self._section_name(headers, index),
            offset=offset,
        )

    def _section_name(self, headers: SectionTable, index: int) -> str:
        """Return a section's name for an error, its index if the names cannot be read either."""
        number = f"#{index}"
        try:
            table = self.name_table(headers)
            if table is None or table.sh_offset + table.sh_size > len(self.data):
                return number
            names = StringTable(section_bytes(self.data, table), format=self.format)
            return names.name(headers[index].sh_name) or number
        except FormatError:
            return number

    def _error(self, message: str, offset: int) -> FormatError:
        return FormatError(message, format=self.format, offset=offset)
