"""GPU binaries in the data of a host file, which hands them to the driver by itself: they have no section of their own.

Checked on NVIDIA's libsanitizer-public.so 12.9: 13 cubins in ``.rodata``.
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

#: An ELF64 file, little-endian, of the current version.
_BEGINNING = re.compile(rb"\x7fELF\x02\x01\x01")
_SHF_ALLOC = 2


def embedded_elfs(
    elf: Elf, machines: Collection[int], allowance: Allowance
) -> Iterator[tuple[Section, int, memoryview]]:
    """Yield the ELF files for ``machines`` in the loaded data of a file: the section, the offset in it, the bytes. Their
    section headers count against ``allowance``. What only begins like an ELF file is passed over."""
    for section in elf.sections:
        if section.type != SHT_PROGBITS or not section.flags & _SHF_ALLOC or section.flags & SHF_EXECINSTR:
            continue
        end = 0
        for match in _BEGINNING.finditer(section.data):
            rest = section.data[match.start() :]
            if match.start() >= end and int.from_bytes(rest[18:20], "little") in machines:
                try:
                    size = _size(rest, allowance)
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
