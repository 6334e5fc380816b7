"""The layout of a zebin as the driver would place it at an address: every site that a relocation names is filled in.

Source: compute-runtime's ``linker.cpp``: ``patchAddress`` writes the symbol's address plus the addend into code, whatever
was there; ``patchDataSegments`` adds it to the value in the data. Sections get their addresses (``sh_addr``). Relocations
stay, so that the file can still be loaded anywhere: those of data become SHT_RELA with an addend that takes the filled-in
address away again.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.dataclass import dataclass, field
from kernlens.errors import LinkError
from kernlens.formats.elf.elf_writer import (
    OutputRelocation,
    OutputSection,
    OutputStringTable,
    OutputSymbol,
    relocation_table,
    symbol_table,
    write_elf,
)
from kernlens.formats.elf.header import SHT_NOBITS, SHT_PROGBITS, SHT_REL, SHT_RELA, SHT_STRTAB
from kernlens.formats.zebin.zebin_file import Zebin, read_zebin
from kernlens.model.binary import Relocation, Section, Site

#: R_ZE_SYM_ADDR, R_ZE_SYM_ADDR_32, R_ZE_SYM_ADDR_32_HI, R_SYM_ADDR_16 -> (bytes that are filled in, bits to shift down).
_FIELDS = {1: (8, 0), 2: (4, 0), 3: (4, 32), 7: (2, 0)}
_HIGH = 3
#: Code begins at multiples of 64 bytes, data on pages of its own.
_CODE_ALIGNMENT = 64
_DATA_ALIGNMENT = 4096
_ADDRESSES = 1 << 64
_ZERO_OF = {".data.const": ".bss.const", ".data.global": ".bss.global"}
_DATA = (".data.const", ".data.const.string", ".data.global")


@dataclass(frozen=True)
class LocatedZebin:
    """The file with all sites filled in, and what they are."""

    content: bytes = field(repr=False)
    sites: tuple[Site, ...]


def locate(content: memoryview, base: int) -> LocatedZebin:
    """Lay a zebin out from address ``base`` on and fill in every site. Raises LinkError for a base that is no multiple
    of 64 or leaves no room, FormatError for damaged input, such as a relocation outside its section."""
    if base < 0 or base % _CODE_ALIGNMENT:
        raise LinkError(f"the base address {base:#x} is not a multiple of {_CODE_ALIGNMENT}, the alignment of code")
    return _Locator(read_zebin(content), base).locate()


class _Locator:
    def __init__(self, zebin: Zebin, base: int) -> None:
        self.elf = zebin.elf
        self.addresses = _addresses(self.elf.sections, base)
        self.contents = {
            section.index: bytearray(section.data) for section in self.elf.sections if section.index in self.addresses
        }
        self.sites: list[Site] = []

    def locate(self) -> LocatedZebin:
        tables = {
            section.index: self._fill(section)
            for section in self.elf.sections
            if section.type in (SHT_REL, SHT_RELA) and section.info in self.addresses
        }
        return LocatedZebin(self._write(tables), tuple(self.sites))

    def _fill(self, table: Section) -> list[OutputRelocation]:
        """Fill in the sites of a table's relocations; return the relocations to write."""
        target = self.elf.sections[table.info]
        is_data = not target.name.startswith(".text.")
        written = []
        for relocation in self.elf.relocations_of(table):
            amount = self._amount(relocation)
            if amount is not None and is_data and relocation.type == _HIGH:
                raise LinkError(
                    f"a relocation of {target.name} stores the high half of an address alone, which --base does not support"
                )
            self.sites.append(self._site(target, relocation, amount, is_data))
            addend = relocation.addend
            if is_data:
                # The driver will add the address that it chooses; ours goes away at the same time.
                addend = (addend or 0) - (amount or 0)
                addend = (addend + _ADDRESSES // 2) % _ADDRESSES - _ADDRESSES // 2
            written.append(OutputRelocation(relocation.offset, relocation.symbol_index or 0, relocation.type, addend))
        return written

    def _amount(self, relocation: Relocation) -> int | None:
        """Return the symbol's address plus the addend, None if it has no address."""
        if relocation.type not in _FIELDS or not relocation.symbol_index:
            return None
        symbol = self.elf.symbols()[relocation.symbol_index]
        if symbol.section_index not in self.addresses:
            return None
        return (self.addresses[symbol.section_index] + symbol.value + (relocation.addend or 0)) % _ADDRESSES

    def _site(self, target: Section, relocation: Relocation, amount: int | None, is_data: bool) -> Site:
        size, shift = _FIELDS.get(relocation.type, (4, 0))
        content = self.contents[target.index]
        end = relocation.offset + size
        if end > len(content):
            raise LinkError(
                f"the relocation at {relocation.offset:#x} of {target.name} lies outside the section's {len(content)} bytes"
            )
        value = None
        if amount is not None:
            value = amount >> shift
            if is_data:
                value += int.from_bytes(content[relocation.offset : end], "little")
            value %= 1 << 8 * size
            content[relocation.offset : end] = value.to_bytes(size, "little")
        address = self.addresses[target.index] + relocation.offset
        name = relocation.type_name
        return Site(target.name, relocation.offset, address, relocation.symbol, name, size, value)

    def _write(self, tables: dict[int, list[OutputRelocation]]) -> bytes:
        names = OutputStringTable()
        copied = [section for section in self.elf.sections if section.index and section.type != SHT_STRTAB]
        numbers = {section.index: number for number, section in enumerate(copied, 1)}
        sections: list[OutputSection] = []
        for section in copied:
            if section.index in tables:
                target = self.elf.sections[section.info]
                is_data = not target.name.startswith(".text.")
                sections.append(
                    relocation_table(
                        target.name,
                        tables[section.index],
                        link=numbers.get(section.link, 0),
                        info=numbers[section.info],
                        with_addends=is_data or section.type == SHT_RELA,
                    )
                )
            elif section.name == ".symtab":
                sections.append(symbol_table(self._symbols(numbers), names, len(copied) + 1))
            else:
                sections.append(self._section(section, numbers))
        elf = self.elf
        return write_elf(
            sections, names, machine=elf.machine, type=elf.type, flags=elf.flags, abi_version=elf.abi_version
        )

    def _section(self, section: Section, numbers: dict[int, int]) -> OutputSection:
        has_target = section.type in (SHT_REL, SHT_RELA)
        return OutputSection(
            section.name,
            section.type,
            bytes(self.contents.get(section.index, section.data)),
            section.flags,
            self.addresses.get(section.index, section.address),
            link=numbers.get(section.link, 0),
            info=numbers.get(section.info, 0) if has_target else section.info,
            alignment=section.alignment,
            entry_size=section.entry_size,
            size=section.size if section.type == SHT_NOBITS else 0,
        )

    def _symbols(self, numbers: dict[int, int]) -> list[OutputSymbol]:
        return [
            OutputSymbol(
                symbol.name,
                symbol.value,
                symbol.size,
                symbol.binding,
                symbol.type,
                numbers.get(symbol.section_index, symbol.section_index),
            )
            for symbol in self.elf.symbols()[1:]
        ]


def _addresses(sections: Sequence[Section], base: int) -> dict[int, int]:
    """Return an address for each section that the driver loads: code from ``base`` on, each kind of data on a page of
    its own and what has no initial value right behind it."""
    addresses: dict[int, int] = {}
    address = base
    for section in sections:
        if section.type == SHT_PROGBITS and section.name.startswith(".text."):
            address = -(-address // _CODE_ALIGNMENT) * _CODE_ALIGNMENT
            addresses[section.index] = address
            address += section.size
    by_name = {section.name: section for section in sections if section.type in (SHT_PROGBITS, SHT_NOBITS)}
    for name in _DATA:
        address = -(-address // _DATA_ALIGNMENT) * _DATA_ALIGNMENT
        for part in (by_name.get(name), by_name.get(_ZERO_OF.get(name, ""))):
            if part is not None:
                address = -(-address // (part.alignment or 1)) * (part.alignment or 1)
                addresses[part.index] = address
                address += part.size
    if address > _ADDRESSES:
        raise LinkError(f"at base address {base:#x} the module would end beyond 64 bits")
    return addresses
