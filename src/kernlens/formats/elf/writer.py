"""Writes ELF64 files, little-endian: what ``elf`` reads.

Source: System V ABI (gABI), chapter 4. One string table serves sections and symbols, as in what Intel's compiler
writes: compute-runtime's ``elf_decoder.cpp`` looks symbols' names up in the table of section names.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from kernlens.formats.elf.elf_file import SHT_NOBITS, SHT_REL, SHT_RELA, SHT_STRTAB, SHT_SYMTAB

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_REL = struct.Struct("<QQ")
_RELA = struct.Struct("<QQq")
_ALIGNMENT = 8

BINDING_NUMBERS = {"local": 0, "global": 1, "weak": 2}
TYPE_NUMBERS = {"notype": 0, "object": 1, "func": 2, "section": 3, "file": 4}


@dataclass
class OutputSection:
    """A section to write. ``size`` is that of a section without contents (SHT_NOBITS)."""

    name: str
    type: int
    content: bytes = field(default=b"", repr=False)
    flags: int = 0
    address: int = 0
    link: int = 0
    info: int = 0
    alignment: int = 0
    entry_size: int = 0
    size: int = 0

    @property
    def length(self) -> int:
        """Its bytes in memory."""
        return self.size if self.type == SHT_NOBITS else len(self.content)


@dataclass(frozen=True, slots=True)
class OutputSymbol:
    """A symbol to write; ``section`` is a section's number, 0 for an undefined one."""

    name: str
    value: int
    size: int
    binding: str
    type: str
    section: int


@dataclass(frozen=True, slots=True)
class OutputRelocation:
    """A relocation to write; ``symbol`` is a symbol's number, ``addend`` None for SHT_REL."""

    offset: int
    symbol: int
    type: int
    addend: int | None = None


class StringTable:
    """Names, each kept once, with its offset."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {"": 0}
        self._content = bytearray(b"\0")

    def offset(self, name: str) -> int:
        if name not in self._offsets:
            self._offsets[name] = len(self._content)
            self._content += name.encode("utf-8", "backslashreplace") + b"\0"
        return self._offsets[name]

    def content(self) -> bytes:
        return bytes(self._content)


def symbol_table(symbols: Sequence[OutputSymbol], names: StringTable, link: int) -> OutputSection:
    """``.symtab`` of ``symbols``, of which the local ones stand first; the null symbol is added before them.

    ``link`` is the number that the string table's section will have.
    """
    content = bytearray(_SYMBOL.size)
    for one in symbols:
        kind = _number(BINDING_NUMBERS, one.binding) << 4 | _number(TYPE_NUMBERS, one.type)
        content += _SYMBOL.pack(names.offset(one.name), kind, 0, one.section, one.value, one.size)
    local = 1 + sum(one.binding == "local" for one in symbols)
    return OutputSection(".symtab", SHT_SYMTAB, bytes(content), link=link, info=local, entry_size=_SYMBOL.size)


def _number(numbers: dict[str, int], word: str) -> int:
    """A number behind its name, or in decimal as the reader gives what has no name."""
    return numbers[word] if word in numbers else int(word)


def relocation_table(
    target: str, relocations: Sequence[OutputRelocation], *, link: int, info: int, with_addends: bool
) -> OutputSection:
    """``.rel`` or ``.rela`` of section ``target``, number ``info``; ``link`` is the symbol table's number."""
    if with_addends:
        entries = [_RELA.pack(one.offset, one.symbol << 32 | one.type, one.addend or 0) for one in relocations]
        return OutputSection(f".rela{target}", SHT_RELA, b"".join(entries), 0, 0, link, info, 0, _RELA.size)
    entries = [_REL.pack(one.offset, one.symbol << 32 | one.type) for one in relocations]
    return OutputSection(f".rel{target}", SHT_REL, b"".join(entries), 0, 0, link, info, 0, _REL.size)


def write_elf(
    sections: Sequence[OutputSection], names: StringTable, *, machine: int, type: int, flags: int, abi_version: int
) -> bytes:
    """The file: header, contents, ``.strtab``, section headers. Sections are numbered from 1 in the order given."""
    offsets = [names.offset(section.name) for section in sections]
    table = OutputSection(".strtab", SHT_STRTAB)
    offsets.append(names.offset(table.name))
    table.content = names.content()
    file = bytearray(_HEADER.size)
    headers = bytearray(_SECTION_HEADER.size)
    for section, name in zip([*sections, table], offsets, strict=True):
        file += bytes(-len(file) % _ALIGNMENT)
        headers += _SECTION_HEADER.pack(
            name,
            section.type,
            section.flags,
            section.address,
            len(file),
            section.length,
            section.link,
            section.info,
            section.alignment,
            section.entry_size,
        )
        file += section.content
    file += bytes(-len(file) % _ALIGNMENT)
    identification = b"\x7fELF\x02\x01\x01\x00" + bytes([abi_version]) + bytes(7)
    count = len(sections) + 2
    file[: _HEADER.size] = _HEADER.pack(
        identification,
        type,
        machine,
        1,
        0,
        0,
        len(file),
        flags,
        _HEADER.size,
        0,
        0,
        _SECTION_HEADER.size,
        count,
        count - 1,
    )
    return bytes(file + headers)
