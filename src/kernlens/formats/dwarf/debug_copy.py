"""A changeable copy of an ELF's debug sections, in which relocated numbers read and are stored as plain ones.

Source: System V ABI, chapter 4, "Relocation". What a relocation names is its symbol's offset in code plus the addend
(``relocation.py``), so a number is stored in the addend where there is one, and in the section's bytes where not.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from kernlens.dataclass import dataclass
from kernlens.errors import UnsupportedError
from kernlens.formats.dwarf.forms import malformed
from kernlens.formats.dwarf.relocation import R_ZE_SYM_ADDR, R_ZE_SYM_ADDR_32
from kernlens.formats.elf.elf64_structures import RELA_LAYOUT
from kernlens.formats.elf.elf_file import Elf
from kernlens.formats.elf.header import SHF_COMPRESSED, SHF_EXECINSTR, SHT_NOBITS, SHT_RELA
from kernlens.model.code_moves import CodeMoves

_PLAIN = frozenset((R_ZE_SYM_ADDR, R_ZE_SYM_ADDR_32))


@dataclass(slots=True)
class _Site:
    """An entry of a relocation table."""

    type: int
    symbol: int
    addend: int


class DebugCopy:
    """The debug sections of ``elf`` by name, of which code section ``code`` is the edited one: ``moves`` says how."""

    def __init__(self, elf: Elf, code: int, moves: CodeMoves) -> None:
        self.elf = elf
        self.moves = moves
        self._code = code
        self._indexes: dict[str, int] = {}
        self.contents: dict[str, bytearray] = {}
        #: Section -> its relocation table, and the sites in it by their offsets.
        self._tables: dict[str, int] = {}
        self._sites: dict[str, dict[int, _Site]] = {}
        for section in elf.sections:
            if not section.name.startswith(".debug_") or section.type == SHT_NOBITS or section.name in self._indexes:
                continue
            if section.flags & SHF_COMPRESSED:
                raise UnsupportedError(
                    f"section {section.name} is compressed, so its addresses cannot be moved; decompress it first:"
                    " objcopy --decompress-debug-sections"
                )
            self._indexes[section.name] = section.index
            self.contents[section.name] = bytearray(section.data)
        for table in elf.sections_of_type(SHT_RELA):
            name = elf.sections[table.info].name if table.info < len(elf.sections) else ""
            if name in self._indexes and name not in self._tables:
                self._tables[name] = table.index
                self._sites[name] = self._read_sites(table.data, name)

    def _read_sites(self, entries: memoryview, name: str) -> dict[int, _Site]:
        if len(entries) % RELA_LAYOUT.size:
            raise malformed("its relocations are not a whole number of entries", name)
        return {
            offset: _Site(type, symbol, addend)
            for offset, type, symbol, addend in RELA_LAYOUT.iter_unpack(bytes(entries))
        }

    def __contains__(self, name: str) -> bool:
        return name in self.contents

    def number(self, name: str, offset: int, size: int) -> int:
        """Return the number of ``size`` bytes at ``offset`` of section ``name``."""
        content = self.contents[name]
        if offset + size > len(content):
            raise malformed("a number reaches beyond the section's end", name, offset)
        site = self._sites.get(name, {}).get(offset)
        if site is None or site.type not in _PLAIN:
            return int.from_bytes(content[offset : offset + size], "little")
        return self._base(site.symbol) + site.addend & (1 << 8 * size) - 1

    def is_relocated(self, name: str, offset: int) -> bool:
        """Return whether a relocation gives the number at ``offset``."""
        return offset in self._sites.get(name, {})

    def symbol_at(self, name: str, offset: int) -> int | None:
        """Return the number of the symbol that the relocation at ``offset`` names, None without one."""
        site = self._sites.get(name, {}).get(offset)
        return None if site is None else site.symbol

    def store(self, name: str, offset: int, size: int, value: int) -> None:
        """Store a number. Raises FormatError if ``size`` bytes are too few for it."""
        site = self._sites.get(name, {}).get(offset)
        if site is not None and site.type in _PLAIN:
            site.addend = value - self.moves.boundary(self._base(site.symbol)) if self._base(site.symbol) else value
            return
        if not 0 <= value < 1 << 8 * size:
            raise malformed(f"{value:#x} does not fit into the {size} bytes that the file has for it", name, offset)
        self.contents[name][offset : offset + size] = value.to_bytes(size, "little")

    def splice(self, name: str, start: int, end: int, content: bytes, staying: Sequence[tuple[int, int]]) -> int:
        """Put ``content`` in the place of the bytes from ``start`` to ``end``; relocations there go, but for those that
        ``staying`` names by their old offset, and the new one from ``start`` on. Returns by how much what follows has moved."""
        grown = len(content) - (end - start)
        self.contents[name][start:end] = content
        sites = self._sites.get(name, {})
        moved = {
            offset if offset < start else offset + grown: site
            for offset, site in sites.items()
            if not start <= offset < end
        }
        moved |= {start + new: sites[old] for old, new in staying if old in sites}
        if name in self._sites:
            self._sites[name] = dict(sorted(moved.items()))
        return grown

    def _base(self, symbol: int) -> int:
        """Return the offset in its code section of what a symbol names, 0 for one that is defined elsewhere."""
        symbols = self.elf.symbols()
        if symbol >= len(symbols):
            raise malformed(f"a relocation names symbol {symbol}, but there are {len(symbols)}")
        index = symbols[symbol].section_index
        if index != self._code or not self.elf.sections[index].flags & SHF_EXECINSTR:
            return 0
        return symbols[symbol].value - self.elf.sections[index].address

    def changes(self) -> dict[int, bytes]:
        """Return the contents of the sections that have changed, by their indexes."""
        changed: dict[int, bytes] = {}
        for name, content in self.contents.items():
            index = self._indexes[name]
            if content != self.elf.sections[index].data:
                changed[index] = bytes(content)
        for name, table in self._tables.items():
            try:
                entries = b"".join(
                    RELA_LAYOUT.pack(offset, site.type, site.symbol, site.addend)
                    for offset, site in self._sites[name].items()
                )
            except struct.error:
                raise malformed(f"a relocation of .debug_{name} would lead beyond 64 bits") from None
            if entries != self.elf.sections[table].data:
                changed[table] = entries
        return changed


def unsigned(value: int) -> bytes:
    """Return a number as unsigned LEB128."""
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def signed(value: int) -> bytes:
    """Return a number as signed LEB128."""
    result = bytearray()
    while not -0x40 <= value < 0x40:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value & 0x7F)
    return bytes(result)
