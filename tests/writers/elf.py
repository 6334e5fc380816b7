"""The writer of ELF64 little-endian files in memory, so that a test shows the bytes it is about."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL = 0, 1, 2, 3, 4, 7, 8, 9
LOCAL, GLOBAL, WEAK = 0, 1, 2
NOTYPE, OBJECT, FUNC, SECTION = 0, 1, 2, 3


@dataclass
class WrittenSection:
    """A section to write. ``size`` other than None is written to the header in place of the real size."""

    name: str
    data: bytes = b""
    type: int = SHT_PROGBITS
    flags: int = 0
    address: int = 0
    link: int = 0
    info: int = 0
    entry_size: int = 0
    size: int | None = None
    offset: int | None = None


@dataclass
class ElfWriter:
    """The writer of a file, whose sections are numbered from 1 in the order of their addition; ``.shstrtab`` comes last."""

    machine: int = 205
    type: int = 1
    abi_version: int = 1
    flags: int = 0
    sections: list[WrittenSection] = field(default_factory=list)

    def add(self, name: str, data: bytes = b"", **fields: int) -> int:
        """Add a section and return its index."""
        self.sections.append(WrittenSection(name, data, **fields))
        return len(self.sections)

    def add_symbols(self, symbols: Sequence[tuple[str, int, int, int, int, int]], type: int = SHT_SYMTAB) -> int:
        """Add ``.symtab`` and ``.strtab``; return the index of the former.

        ``symbols`` are (name, value, size, binding, type, section index); the null symbol is written before them.
        """
        names, offsets = string_table([symbol[0] for symbol in symbols])
        table = bytearray(24)
        for (_, value, size, binding, kind, section), offset in zip(symbols, offsets, strict=True):
            table += struct.pack("<IBBHQQ", offset, binding << 4 | kind, 0, section, value, size)
        index = self.add(".symtab", bytes(table), type=type, entry_size=24, link=len(self.sections) + 2)
        self.add(".strtab", names, type=SHT_STRTAB)
        return index

    def build(self) -> memoryview:
        """Return header, section contents (each aligned to 8), ``.shstrtab``, section headers.

        From 0xff00 sections on, their number and that of ``.shstrtab`` go into section header 0.
        """
        sections = [*self.sections, WrittenSection(".shstrtab", type=SHT_STRTAB)]
        names, name_offsets = string_table([section.name for section in sections])
        sections[-1].data = names
        file = bytearray(64)
        count = len(sections) + 1
        large = count >= 0xFF00
        headers = bytearray(struct.pack("<32xQI20x", count if large else 0, count - 1 if large else 0))
        for section, name in zip(sections, name_offsets, strict=True):
            file += bytes(-len(file) % 8)
            headers += struct.pack(
                "<IIQQQQIIQQ",
                name,
                section.type,
                section.flags,
                section.address,
                len(file) if section.offset is None else section.offset,
                len(section.data) if section.size is None else section.size,
                section.link,
                section.info,
                1,
                section.entry_size,
            )
            file += section.data
        file += bytes(-len(file) % 8)
        file[:64] = struct.pack(
            "<4sBBBBB7xHHIQQQIHHHHHH",
            b"\x7fELF", 2, 1, 1, 0, self.abi_version,
            self.type, self.machine, 1, 0, 0, len(file), self.flags, 64, 0, 0, 64,
            0 if large else count, 0xFFFF if large else count - 1,
        )  # fmt: skip
        return memoryview(bytes(file + headers))


def string_table(names: Sequence[str]) -> tuple[bytes, list[int]]:
    """Return an ELF string table of ``names`` and where each begins; the empty name is at 0."""
    table, offsets = bytearray(1), []
    for name in names:
        offsets.append(len(table) if name else 0)
        table += name.encode() + b"\0" if name else b""
    return bytes(table), offsets


def rel(*entries: tuple[int, int, int]) -> bytes:
    """Pack ``Elf64_Rel`` entries of (offset, symbol index, type)."""
    return b"".join(struct.pack("<QQ", offset, symbol << 32 | kind) for offset, symbol, kind in entries)


def rela(*entries: tuple[int, int, int, int]) -> bytes:
    """Pack ``Elf64_Rela`` entries of (offset, symbol index, type, addend)."""
    return b"".join(
        struct.pack("<QQq", offset, symbol << 32 | kind, addend) for offset, symbol, kind, addend in entries
    )


def note(kind: int, description: bytes, owner: bytes = b"IntelGT\0") -> bytes:
    """Return one ELF note, name and description padded to 4 bytes."""
    padded = owner + bytes(-len(owner) % 4) + description + bytes(-len(description) % 4)
    return struct.pack("<III", len(owner), len(description), kind) + padded
