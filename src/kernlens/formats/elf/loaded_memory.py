"""The memory of a host ELF file as its loader leaves it: bytes by address, with the pointers that relocations store.

Sources: System V ABI, chapter 5, and its supplements for AMD64 (R_X86_64_64, R_X86_64_RELATIVE) and AArch64 (R_AARCH64_ABS64,
R_AARCH64_RELATIVE). The pointers of SHT_RELR tables stand in the memory itself.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from functools import cached_property

from kernlens.formats.elf.elf64_structures import RELA_LAYOUT
from kernlens.formats.elf.elf_file import Elf
from kernlens.formats.elf.header import SHT_RELA
from kernlens.model.binary import Section, c_text

_ET_REL = 1
_SHF_ALLOC = 2
_POINTER = struct.Struct("<Q")
#: By ``e_machine`` the relocation whose addend is the address, and the one that adds a symbol's address.
_RELATIVE, _ABSOLUTE = {62: 8, 183: 1027}, {62: 1, 183: 257}
#: Bytes of a string that are read at a time, and at most.
_STEP, _LONGEST = 256, 1 << 16
#: What lies between the sections of an object that is still to be linked.
_GAP = 1 << 12


class LoadedMemory:
    """The bytes of a host file by address. The sections of an object still to be linked get addresses one after the other."""

    def __init__(self, elf: Elf) -> None:
        self._elf = elf
        self._is_linked = elf.type != _ET_REL
        loaded = [section for section in elf.sections if section.flags & _SHF_ALLOC and len(section.data)]
        places = {}
        address = _GAP
        for section in loaded:
            places[section.index] = section.address if self._is_linked else address
            address += section.size + _GAP - section.size % _GAP
        #: The address of each section that holds bytes, by its index.
        self.places = places
        self._loaded = sorted(loaded, key=lambda section: places[section.index])
        self._starts = [places[section.index] for section in self._loaded]
        self._texts: dict[int, str | None] = {}

    @property
    def sections(self) -> list[Section]:
        """The sections with bytes that are loaded, by address."""
        return self._loaded

    def place(self, address: int) -> tuple[Section, int] | None:
        """Return the section at an address and the offset within it; None if nothing lies there."""
        before = bisect_right(self._starts, address)
        if not address or not before:
            return None
        offset = address - self._starts[before - 1]
        return (self._loaded[before - 1], offset) if offset < self._loaded[before - 1].size else None

    def bytes_at(self, address: int, size: int) -> memoryview | None:
        """Return that many bytes at an address; None if they do not all lie in one section."""
        place = self.place(address)
        if place is None or size < 0 or place[1] + size > place[0].size:
            return None
        return place[0].data[place[1] : place[1] + size]

    def pointer_at(self, address: int) -> int | None:
        """Return the pointer that is stored at an address; None if nothing lies there."""
        stored = self._pointers.get(address)
        if stored is None:
            content = self.bytes_at(address, _POINTER.size)
            return None if content is None else _POINTER.unpack(content)[0]
        return stored

    def text_at(self, address: int) -> str | None:
        """Return the string at an address, up to its NUL; None if nothing lies there or it does not end."""
        if address not in self._texts:
            self._texts[address] = self._read_text(address)
        return self._texts[address]

    def _read_text(self, address: int) -> str | None:
        place = self.place(address)
        if place is None:
            return None
        section, offset = place
        size = _STEP
        while size <= _LONGEST:
            content = bytes(section.data[offset : offset + size])
            if b"\0" in content:
                return c_text(content)
            if len(content) < size:
                return None
            size *= 4
        return None

    @cached_property
    def _pointers(self) -> dict[int, int]:
        kind = (_RELATIVE if self._is_linked else _ABSOLUTE).get(self._elf.machine)
        pointers: dict[int, int] = {}
        for table in self._elf.sections_of_type(SHT_RELA):
            entries = RELA_LAYOUT.iter_unpack(bytes(table.data[: table.size // RELA_LAYOUT.size * RELA_LAYOUT.size]))
            if self._is_linked:
                pointers |= {r_offset: r_addend for r_offset, r_type, _, r_addend in entries if r_type == kind}
            elif table.info in self.places:
                start, symbols = self.places[table.info], self._symbols
                pointers |= {
                    start + r_offset: symbols[r_sym] + r_addend
                    for r_offset, r_type, r_sym, r_addend in entries
                    if r_type == kind and r_sym in symbols
                }
        return pointers

    @cached_property
    def _symbols(self) -> dict[int, int]:
        """The address of each symbol of an object that lies in a loaded section, by its index."""
        return {
            symbol.index: self.places[symbol.section_index] + symbol.value
            for symbol in self._elf.symbols()
            if symbol.section_index in self.places
        }
