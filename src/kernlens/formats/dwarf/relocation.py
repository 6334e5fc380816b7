"""Relocations of debug sections, applied so that every code address becomes an offset within its kernel.

Sources: System V ABI, chapter 4, "Relocation" (``Elf64_Rela``); for the types ``ZEELF.h`` of intel-graphics-compiler
(``R_TYPE_ZEBIN``), used by machines 205 and 182 alike, and the System V ABI's AMD64 supplement, section 4.4.1
"Relocation Types", for the host objects of CPU compilers (machine 62); LLVM's "User Guide for AMDGPU Backend" for AMD's
code objects (machine 224).

The files hold something unexpected: relocation symbols are often nameless and are defined in the *debug* section rather
than in the kernel's code, so neither their name nor their section says which kernel is meant. Within the debug ELF of a
loaded module their values are load addresses, but only for those that have a name. The addend alone is right in all of
these cases: it counts from the start of the kernel. A symbol that is defined in code, as other compilers write it, adds
its offset within that code.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Mapping
from functools import cached_property

from kernlens.formats.dwarf.forms import malformed
from kernlens.formats.elf.elf64_structures import RELA_LAYOUT, SYM_LAYOUT, Elf64Shdr, Elf64Sym
from kernlens.formats.elf.elf_file import Elf
from kernlens.formats.elf.header import (
    EM_AMDGPU,
    SHF_COMPRESSED,
    SHF_EXECINSTR,
    SHT_NOBITS,
    SHT_PROGBITS,
    SHT_RELA,
    section_bytes,
)
from kernlens.formats.elf.string_table import StringTable
from kernlens.model.allowance import Allowance

R_ZE_NONE = 0
R_ZE_SYM_ADDR = 1
R_ZE_SYM_ADDR_32 = 2
R_ZE_SYM_ADDR_32_HI = 3

EM_X86_64 = 62
R_X86_64_64 = 1
R_X86_64_32 = 10

R_AMDGPU_ABS64 = 3
R_AMDGPU_ABS32 = 6

#: What of an address a relocation stores: all of it, or its lower or upper 32 bits.
_ALL, _LOWER, _UPPER = range(3)
_INTEL_TYPES = {R_ZE_SYM_ADDR: _ALL, R_ZE_SYM_ADDR_32: _LOWER, R_ZE_SYM_ADDR_32_HI: _UPPER}
#: By ``e_machine``; of all others Intel's.
_TYPES = {
    EM_X86_64: {R_X86_64_64: _ALL, R_X86_64_32: _LOWER},
    EM_AMDGPU: {R_AMDGPU_ABS64: _ALL, R_AMDGPU_ABS32: _LOWER},
}

_WORD = struct.Struct("<I")
_ADDRESS = struct.Struct("<Q")
#: Code is loaded above this address; a lower one counts from its kernel's start.
LOADED = 1 << 32
_LONGEST_NAME = 64


class DebugSections:
    """The debug sections of one ELF by name: read, decompressed and relocated on first use.

    All compile units of a file share one object, so that each section is relocated once. What is decompressed counts
    against ``allowance``; None: one for this file alone. ``code_address`` is where the code of a linked file begins, whose
    addresses are none of these offsets; None for all others. ``bases`` has what is added to the offsets in code sections,
    by their indexes, where one line program has the rows of several.
    """

    def __init__(
        self,
        elf: Elf,
        allowance: Allowance | None = None,
        code_address: int | None = None,
        bases: Mapping[int, int] | None = None,
    ) -> None:
        self.elf = elf
        self._code_address = code_address
        self._bases = bases or {}
        self._allowance = allowance or Allowance(len(elf.data))
        #: Name of a debug section -> its index. Of many small files, only these sections' names are needed.
        self._indexes: dict[bytes, int] = {}
        #: Index of a section -> the indexes of the RELA tables that relocate it.
        self._tables: dict[int, list[int]] = {}
        names = b"" if elf.name_table is None else bytes(section_bytes(elf.data, elf.name_table))
        for index, (sh_name, sh_type, sh_size, sh_info) in enumerate(elf.headers.overview()):
            if sh_type == SHT_RELA and sh_size:
                self._tables.setdefault(sh_info, []).append(index)
            if names.startswith(b".debug_", sh_name):
                name = names[sh_name : sh_name + _LONGEST_NAME].partition(b"\0")[0]
                self._indexes.setdefault(name, index)
        self._contents: dict[str, bytes] = {}
        self._strings: dict[str, StringTable] = {}

    def __getitem__(self, name: str) -> bytes:
        """Return the relocated bytes of section ``name``, empty if there is no such section. Raises FormatError for a
        relocation outside the section and for a type that is no plain address."""
        content = self._contents.get(name)
        if content is None:
            index = self._indexes.get(name.encode())
            content = self._contents[name] = b"" if index is None else self._relocated(index, name)
        return content

    def _relocated(self, index: int, name: str) -> bytes:
        """Return the bytes of section ``index`` with its relocations applied; the file is not changed."""
        header = self.elf.headers[index]
        if header.sh_type == SHT_NOBITS:
            return b""
        is_compressed = header.sh_flags & SHF_COMPRESSED
        if is_compressed:
            plain = self.elf.contents(self.elf.sections[index], self._allowance)
        else:
            plain = section_bytes(self.elf.data, header)
        if index not in self._tables:
            return bytes(plain)
        tables = [self.elf.headers[table] for table in self._tables[index]]
        patched = bytearray(plain)
        for table in tables:
            _apply(self.elf, table, name, patched, self._bases)
        return bytes(patched)

    def string_table(self, name: str) -> StringTable:
        """Return the strings of section ``name``. All units share them, and with them the bound on their length."""
        table = self._strings.get(name)
        if table is None:
            table = self._strings[name] = StringTable(memoryview(self[name]), format="dwarf", section=name)
        return table

    def code_offset(self, address: int) -> int:
        """Return ``address`` as an offset in its kernel.

        Relocated sections hold such offsets already. Load addresses remain where a file has lost its relocations; they
        count from the start of the code section that they lie in. Raises FormatError if they lie in none.
        """
        if self._code_address is not None:
            if address < self._code_address:
                raise malformed(f"address {address:#x} lies before the code, which begins at {self._code_address:#x}")
            return address - self._code_address
        if address < LOADED:
            return address
        starts = self._code_addresses
        index = bisect_right(starts, address) - 1
        if index < 0 or address - starts[index] >= LOADED:
            raise malformed(f"address {address:#x} lies in no code section of the file")
        return address - starts[index]

    @cached_property
    def _code_addresses(self) -> list[int]:
        headers = self.elf.headers
        return sorted(header.sh_addr for header in headers if header.sh_flags & SHF_EXECINSTR and header.sh_addr)


def _apply(elf: Elf, table: Elf64Shdr, name: str, patched: bytearray, code_bases: Mapping[int, int]) -> None:
    """Apply the relocations of ``table`` to ``patched``, the bytes of section ``name``."""
    entries = section_bytes(elf.data, table)
    if len(entries) % RELA_LAYOUT.size:
        raise malformed(
            f"its {len(entries)} bytes of relocations are not a whole number of {RELA_LAYOUT.size}-byte entries", name
        )
    #: Symbol -> its offset in code.
    bases: dict[int, int] = {}
    types = _TYPES.get(elf.machine, _INTEL_TYPES)
    for r_offset, r_type, r_sym, r_addend in RELA_LAYOUT.iter_unpack(bytes(entries)):
        if r_type == R_ZE_NONE:
            continue
        base = bases.get(r_sym)
        if base is None:
            base = bases[r_sym] = _offset_in_code(elf, table, r_sym, name, code_bases)
        value = base + r_addend & 0xFFFFFFFFFFFFFFFF
        try:
            stored = types.get(r_type)
            if stored == _ALL:
                _ADDRESS.pack_into(patched, r_offset, value)
            elif stored == _LOWER:
                _WORD.pack_into(patched, r_offset, value & 0xFFFFFFFF)
            elif stored == _UPPER:
                _WORD.pack_into(patched, r_offset, value >> 32)
            else:
                raise malformed(f"its relocation type {r_type} is not an address", name, r_offset)
        except (struct.error, IndexError):
            raise malformed(f"a relocation lies outside the section of {len(patched)} bytes", name, r_offset) from None


def _offset_in_code(elf: Elf, table: Elf64Shdr, index: int, name: str, bases: Mapping[int, int]) -> int:
    """Return what symbol ``index`` adds to the addend: its offset in the code section that defines it, and that section's
    base; 0 if none does."""
    if index == 0 or not 0 < table.sh_link < len(elf.headers):
        return 0
    symbols = section_bytes(elf.data, elf.headers[table.sh_link])
    if (index + 1) * SYM_LAYOUT.size > len(symbols):
        raise malformed(f"a relocation names symbol {index}, but there are {len(symbols) // SYM_LAYOUT.size}", name)
    symbol = Elf64Sym._make(SYM_LAYOUT.unpack_from(symbols, index * SYM_LAYOUT.size))
    if symbol.st_shndx >= len(elf.headers):
        return 0
    owner = elf.headers[symbol.st_shndx]
    if owner.sh_type != SHT_PROGBITS or not owner.sh_flags & SHF_EXECINSTR:
        return 0
    offset = symbol.st_value - owner.sh_addr if owner.sh_addr <= symbol.st_value else symbol.st_value
    return offset + bases.get(symbol.st_shndx, 0)
