"""GPU binaries in the data of a host file, which hands them to the driver by itself: they have no section of their own.

Checked on NVIDIA's libsanitizer-public.so 12.9: 13 cubins in ``.rodata``; and on libmathdx.so 0.3.1: a fat binary in ``.data``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from kernlens.errors import FormatError, TooManyError
from kernlens.formats.elf.elf64_structures import SHDR_LAYOUT
from kernlens.formats.elf.elf_file import Elf
from kernlens.formats.elf.header import HEADER_SIZE, SHF_EXECINSTR, SHT_NOBITS, SHT_NULL, SHT_PROGBITS, ElfHeader
from kernlens.model.allowance import Allowance
from kernlens.model.binary import Section

#: An ELF64 file, little-endian, of the current version, or a region of a fat binary of CUDA's (formats/fatbin.py).
_BEGINNING = re.compile(rb"\x7fELF\x02\x01\x01|\x50\xed\x55\xba\x01\x00\x10\x00")
_BEGINNING_OF_ELF, _REGION_SIZE, _ENTRY_SIZE = 0x7F, 16, 64
_SHF_ALLOC = 2


def embedded_binaries(
    elf: Elf, machines: Collection[int], allowance: Allowance
) -> Iterator[tuple[Section, int, memoryview]]:
    """Yield the ELF files for ``machines`` and the fat binaries in the loaded data of a file: the section, the offset in it,
    the bytes. Section headers count against ``allowance``. What only begins like one of them is passed over."""
    for section in elf.sections:
        if section.type != SHT_PROGBITS or not section.flags & _SHF_ALLOC or section.flags & SHF_EXECINSTR:
            continue
        end = 0
        for match in _BEGINNING.finditer(section.data):
            rest = section.data[match.start() :]
            is_fat = match[0][0] != _BEGINNING_OF_ELF
            if match.start() >= end and (is_fat or int.from_bytes(rest[18:20], "little") in machines):
                try:
                    size = _region_size(rest) if is_fat else _size(rest, allowance)
                except TooManyError:
                    raise
                except FormatError:
                    continue
                end = match.start() + size
                yield section, match.start(), rest[:size]


def _size(data: memoryview, allowance: Allowance) -> int:
    """Return the size of the ELF file that ``data`` begins with: to its last section, or the end of its headers."""
    header = ElfHeader(data, "elf")
    start, count = header.ehdr.e_shoff, header.ehdr.e_shnum
    if not start or not count:
        raise FormatError("it has no sections", format="elf")
    allowance.count(count, "sections", format="elf")
    ends = [
        offset + size for kind, offset, size in header.section_headers().extents() if kind not in (SHT_NOBITS, SHT_NULL)
    ]
    programs = header.ehdr.e_phoff + header.ehdr.e_phnum * header.ehdr.e_phentsize
    return min(len(data), max(HEADER_SIZE, start + count * SHDR_LAYOUT.size, programs, *ends))


def _region_size(data: memoryview) -> int:
    """Return the size of the region of a fat binary that ``data`` begins with."""
    size = int.from_bytes(data[8:_REGION_SIZE], "little")
    if not _ENTRY_SIZE <= size <= len(data) - _REGION_SIZE:
        raise FormatError("its entries do not fit", format="fatbin")
    return _REGION_SIZE + size
