"""Relocations of debug sections, applied so that every code address becomes an offset within its kernel.

Sources: System V ABI, chapter 4, "Relocation" (``Elf64_Rela``, 24 bytes: u64 offset, u32 type, u32 symbol, i64 addend);
types: ``ZEELF.h`` of intel-graphics-compiler (``R_TYPE_ZEBIN``), used by machines 205 and 182 alike; System V ABI, AMD64
supplement, section 4.4.1 "Relocation Types", for the host objects of CPU compilers (machine 62).

What the files hold against expectation: relocation symbols are often nameless and are defined in the *debug* section
rather than in the kernel's code, so neither their name nor their section says which kernel is meant. Within the debug
ELF of a loaded module their values are load addresses, but only for those that have a name. The addend alone is right
in all of these cases: it counts from the start of the kernel. A symbol that is defined in code, as other compilers
write it, adds its place within that code.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from functools import cached_property

from kernlens.formats.dwarf.forms import malformed
from kernlens.formats.elf.elf_file import SHT_NOBITS, SHT_PROGBITS, SHT_RELA, Elf
from kernlens.formats.elf.header import SHF_COMPRESSED, SectionHeader
from kernlens.formats.elf.string_table import StringTable

R_ZE_NONE = 0
R_ZE_SYM_ADDR = 1
R_ZE_SYM_ADDR_32 = 2
R_ZE_SYM_ADDR_32_HI = 3

EM_X86_64 = 62
R_X86_64_64 = 1
R_X86_64_32 = 10

SHF_EXECINSTR = 4

#: What of an address a relocation stores: all of it, or its lower or upper 32 bits.
_ALL, _LOWER, _UPPER = range(3)
_INTEL_TYPES = {R_ZE_SYM_ADDR: _ALL, R_ZE_SYM_ADDR_32: _LOWER, R_ZE_SYM_ADDR_32_HI: _UPPER}
_X86_64_TYPES = {R_X86_64_64: _ALL, R_X86_64_32: _LOWER}

_RELA = struct.Struct("<QIIq")
_SYMBOL = struct.Struct("<IBBHQQ")
_WORD = struct.Struct("<I")
_ADDRESS = struct.Struct("<Q")
#: Code is loaded above this; an address below counts from its kernel's start.
_LOADED = 1 << 32
_LONGEST_NAME = 64


class DebugSections:
    """The debug sections of one ELF, by name: read, decompressed and relocated on first use.

    Several compile units of one file share it, so that each section is relocated once.
    """

    def __init__(self, elf: Elf) -> None:
        self.elf = elf
        self._known: dict[str, bytes] = {}
        self._strings: dict[str, StringTable] = {}

    def __getitem__(self, name: str) -> bytes:
        """The relocated bytes of section ``name``; empty if there is no such section."""
        known = self._known.get(name)
        if known is None:
            index = self._indexes.get(name.encode())
            known = self._known[name] = b"" if index is None else relocated_section(self.elf, index, name)
        return known

    @cached_property
    def _indexes(self) -> dict[bytes, int]:
        """The debug sections' indexes by name. Of many small files, only these sections' names are needed."""
        if self.elf.name_table is None:
            return {}
        names = bytes(_bytes(self.elf, self.elf.name_table))
        indexes: dict[bytes, int] = {}
        for index, header in enumerate(self.elf.headers):
            if names.startswith(b".debug_", header[0]):
                indexes.setdefault(names[header[0] : header[0] + _LONGEST_NAME].partition(b"\0")[0], index)
        return indexes

    def string_table(self, name: str) -> StringTable:
        """The strings of section ``name``; they are shared by all units, and so is the bound on their length."""
        known = self._strings.get(name)
        if known is None:
            known = self._strings[name] = StringTable(memoryview(self[name]), format="dwarf", section=name)
        return known

    def code_offset(self, address: int) -> int:
        """``address`` as an offset in its kernel.

        Relocated sections hold such offsets already. Load addresses remain where a file has lost its relocations; they
        count from the code section that they lie in. Raises FormatError if there is none.
        """
        if address < _LOADED:
            return address
        starts = self._code_addresses
        index = bisect_right(starts, address) - 1
        if index < 0 or address - starts[index] >= _LOADED:
            raise malformed(f"address {address:#x} lies in no code section of the file")
        return address - starts[index]

    @cached_property
    def _code_addresses(self) -> list[int]:
        return sorted(header[3] for header in self.elf.headers if header[2] & SHF_EXECINSTR and header[3])


def relocated_section(elf: Elf, index: int, name: str) -> bytes:
    """The bytes of section ``index`` with its RELA relocations applied (see above); the file is not changed.

    ``name`` is the section's, for errors. Raises FormatError for a site outside the section and for a type that is no
    plain address.
    """
    tables = [header for header in elf.headers if header[1] == SHT_RELA and header[7] == index and header[5]]
    header = elf.headers[index]
    if header[1] == SHT_NOBITS:
        return b""
    plain = elf.contents(elf.sections[index]) if header[2] & SHF_COMPRESSED else _bytes(elf, header)
    if not tables:
        return bytes(plain)
    if sum(table[5] for table in tables) > len(elf.data):
        raise malformed("its relocation tables overlap: together they are larger than the file", name)
    patched = bytearray(plain)
    for table in tables:
        _apply(elf, table, name, patched)
    return bytes(patched)


def _bytes(elf: Elf, header: SectionHeader) -> memoryview:
    return elf.data[header[4] : header[4] + header[5]]


def _apply(elf: Elf, table: SectionHeader, name: str, patched: bytearray) -> None:
    entries = _bytes(elf, table)
    if len(entries) % _RELA.size:
        raise malformed(
            f"its {len(entries)} bytes of relocations are no whole number of {_RELA.size}-byte entries", name
        )
    places: dict[int, int] = {}
    types = _X86_64_TYPES if elf.machine == EM_X86_64 else _INTEL_TYPES
    for site, type, symbol, addend in _RELA.iter_unpack(entries):
        if type == R_ZE_NONE:
            continue
        place = places.get(symbol)
        if place is None:
            place = places[symbol] = _place_in_code(elf, table, symbol, name)
        value = place + addend & 0xFFFFFFFFFFFFFFFF
        try:
            stored = types.get(type)
            if stored == _ALL:
                _ADDRESS.pack_into(patched, site, value)
            elif stored == _LOWER:
                _WORD.pack_into(patched, site, value & 0xFFFFFFFF)
            elif stored == _UPPER:
                _WORD.pack_into(patched, site, value >> 32)
            else:
                raise malformed(f"its relocation type {type} is not an address", name, site)
        except (struct.error, IndexError):
            raise malformed(f"a relocation lies outside the section of {len(patched)} bytes", name, site) from None


def _place_in_code(elf: Elf, table: SectionHeader, index: int, name: str) -> int:
    """What a symbol adds to the addend: its distance from the start of the code section that defines it, else 0."""
    linked = table[6]
    if index == 0 or not 0 < linked < len(elf.headers):
        return 0
    symbols = _bytes(elf, elf.headers[linked])
    if (index + 1) * _SYMBOL.size > len(symbols):
        raise malformed(f"a relocation names symbol {index}, but there are {len(symbols) // _SYMBOL.size}", name)
    _name, _kind, _other, owner, value, _size = _SYMBOL.unpack_from(symbols, index * _SYMBOL.size)
    if owner >= len(elf.headers):
        return 0
    _name, type, flags, address, *_rest = elf.headers[owner]
    if type != SHT_PROGBITS or not flags & SHF_EXECINSTR:
        return 0
    return int(value) - address if address <= value else int(value)
