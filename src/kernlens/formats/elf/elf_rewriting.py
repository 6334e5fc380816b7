"""An ELF64 file with other contents of some sections: all else stays as it is, and moves where it has to.

Source: System V ABI (gABI), chapters 4 and 5. A section that grows moves what stands behind it by a multiple of 64 bytes, so
that every alignment stays; behind one that shrinks there are zeros.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence

from kernlens.errors import FormatError
from kernlens.formats.elf.elf64_structures import EHDR_LAYOUT, SHDR_LAYOUT, Elf64Ehdr
from kernlens.formats.elf.header import SHT_NOBITS, SHT_NULL, ElfHeader

_ALIGNMENT = 64
#: ``Elf64_Phdr``: p_type, p_flags, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align.
_PHDR_LAYOUT = struct.Struct("<IIQQQQQQ")


def with_contents(data: bytes, contents: Mapping[int, bytes], *, format: str) -> bytes:
    """Return the file with new contents of the sections with these indexes. Raises FormatError for a damaged file, and if
    a changed section shares bytes with another."""
    header = ElfHeader(memoryview(data), format)
    headers = header.section_headers()
    changes = []
    for index, content in contents.items():
        section = headers[index]
        changes.append((section.sh_offset, section.sh_offset + section.sh_size, content))
    changes.sort(key=lambda change: change[0])
    _check_apart(changes, header, format)

    parts, position = [], 0
    steps: list[tuple[int, int]] = []  # What lies from here on moves by so much in all.
    moved_by = 0
    for start, end, content in changes:
        grown = len(content) - (end - start)
        room = -(-grown // _ALIGNMENT) * _ALIGNMENT if grown > 0 else 0
        parts += [data[position:start], content, bytes(room - grown)]
        position = end
        moved_by += room
        steps.append((end, moved_by))
    parts.append(data[position:])

    def moved(offset: int) -> int:
        return offset + max((amount for end, amount in steps if end <= offset), default=0)

    file = bytearray(b"".join(parts))
    ehdr = header.ehdr
    table = moved(ehdr.e_shoff)
    for index, section in enumerate(headers):
        size = len(contents[index]) if index in contents else section.sh_size
        is_outside = section.sh_type == SHT_NULL
        offset = section.sh_offset if is_outside else moved(section.sh_offset)
        SHDR_LAYOUT.pack_into(file, table + index * SHDR_LAYOUT.size, *section._replace(sh_offset=offset, sh_size=size))
    _move_segments(file, data, ehdr, moved, changes, format)
    EHDR_LAYOUT.pack_into(
        file, 0, *ehdr._replace(e_shoff=table, e_phoff=moved(ehdr.e_phoff) if ehdr.e_phnum else ehdr.e_phoff)
    )
    return bytes(file)


def _check_apart(changes: Sequence[tuple[int, int, bytes]], header: ElfHeader, format: str) -> None:
    """Raise FormatError if a changed section shares bytes with another section, the headers, or a second change."""
    taken = [(0, EHDR_LAYOUT.size), (header.ehdr.e_shoff, header.ehdr.e_shoff)]
    for section in header.section_headers():
        if section.sh_type not in (SHT_NULL, SHT_NOBITS) and section.sh_size:
            taken.append((section.sh_offset, section.sh_offset + section.sh_size))
    for start, end, _ in changes:
        sharing = [other for other in taken if other[0] < end and start < other[1]]
        if len(sharing) > 1 or any(start < other[0] < end for other in taken):
            raise FormatError(
                "a section that is to be changed shares bytes with another part", format=format, offset=start
            )


def _move_segments(
    file: bytearray,
    data: bytes,
    ehdr: Elf64Ehdr,
    moved: Callable[[int], int],
    changes: Sequence[tuple[int, int, bytes]],
    format: str,
) -> None:
    """Move the program headers' segments; those that hold a changed section grow with it."""
    if not ehdr.e_phnum:
        return
    end = ehdr.e_phoff + ehdr.e_phnum * _PHDR_LAYOUT.size
    if ehdr.e_phentsize != _PHDR_LAYOUT.size or end > len(data):
        raise FormatError("the program headers lie outside the file", format=format, offset=ehdr.e_phoff)
    for number in range(ehdr.e_phnum):
        at = ehdr.e_phoff + number * _PHDR_LAYOUT.size
        kind, flags, offset, virtual, physical, file_size, size, alignment = _PHDR_LAYOUT.unpack_from(data, at)
        grown = sum(
            len(content) - (stop - start)
            for start, stop, content in changes
            if offset <= start and stop <= offset + file_size
        )
        values = kind, flags, moved(offset), virtual, physical, file_size + grown, max(0, size + grown), alignment
        _PHDR_LAYOUT.pack_into(file, moved(ehdr.e_phoff) + number * _PHDR_LAYOUT.size, *values)
