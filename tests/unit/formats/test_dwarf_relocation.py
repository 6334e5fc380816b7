"""Relocation of debug sections: what the addend means, whatever the symbol says."""

from __future__ import annotations

import struct
import zlib

import pytest

from kernlens.errors import FormatError
from kernlens.formats.dwarf.relocation import DebugSections
from kernlens.formats.elf.elf_file import read_elf
from tests.writers.elf import SHT_NOBITS, SHT_RELA, ElfWriter, rela

LOAD_ADDRESS = 0xFFFF800000010000


def relocated(
    *entries: tuple[int, int, int, int],
    symbols: tuple[tuple[str, int, int, int, int, int], ...] = (),
    content: bytes = bytes(16),
    code_address: int = 0,
) -> bytes:
    """The .debug_info of an ELF with one code section (1) and these relocations for .debug_info (2)."""
    writer = ElfWriter()
    writer.add(".text.k", bytes(64), flags=6, address=code_address)
    target = writer.add(".debug_info", content)
    table = writer.add_symbols(symbols)
    writer.add(".rela.debug_info", rela(*entries), type=SHT_RELA, entry_size=24, link=table, info=target)
    return DebugSections(read_elf(writer.build()))[".debug_info"]


def test_the_three_kinds_of_address() -> None:
    entries = ((0, 0, 1, 0x1122334455667788), (8, 0, 2, 0x1122334455667788), (12, 0, 3, 0x1122334455667788))
    assert relocated(*entries) == struct.pack("<QII", 0x1122334455667788, 0x55667788, 0x11223344)


def test_type_0_changes_nothing() -> None:
    assert relocated((0, 0, 0, 5), content=b"\xaa" * 16) == b"\xaa" * 16


def test_a_negative_addend_wraps() -> None:
    assert relocated((0, 0, 1, -1))[:8] == b"\xff" * 8


@pytest.mark.parametrize("name", ["", ".text.k"])
@pytest.mark.parametrize("value", [0, LOAD_ADDRESS])
def test_a_symbol_of_the_debug_section_adds_nothing(name: str, value: int) -> None:
    assert relocated((0, 1, 1, 0x40), symbols=((name, value, 0, 0, 1, 2),))[:8] == struct.pack("<Q", 0x40)


@pytest.mark.parametrize("address", [0, LOAD_ADDRESS])
def test_a_symbol_in_code_adds_its_place_there(address: int) -> None:
    symbols = (("function", address + 0x100, 0, 1, 2, 1),)
    assert relocated((0, 1, 1, 0x40), symbols=symbols, code_address=address)[:8] == struct.pack("<Q", 0x140)


def test_the_file_itself_stays_as_it_is() -> None:
    writer = ElfWriter()
    target = writer.add(".debug_line", bytes(8))
    table = writer.add_symbols(())
    writer.add(".rela.debug_line", rela((0, 0, 1, 7)), type=SHT_RELA, entry_size=24, link=table, info=target)
    elf = read_elf(writer.build())
    assert DebugSections(elf)[".debug_line"] == struct.pack("<Q", 7)
    section = elf.section(".debug_line")
    assert section is not None
    assert bytes(section.data) == bytes(8)


def test_compressed_sections_are_read_and_relocated() -> None:
    content = bytes(8) + b"text" * 50
    packed = struct.pack("<IIQQ", 1, 0, len(content), 1) + zlib.compress(content)
    writer = ElfWriter()
    target = writer.add(".debug_line", packed, flags=0x800)
    writer.add(".rela.debug_line", rela((0, 0, 1, 7)), type=SHT_RELA, entry_size=24, info=target)
    assert DebugSections(read_elf(writer.build()))[".debug_line"] == struct.pack("<Q", 7) + content[8:]


def test_absent_and_empty_sections() -> None:
    writer = ElfWriter()
    writer.add(".debug_info", size=1 << 40, type=SHT_NOBITS)
    sections = DebugSections(read_elf(writer.build()))
    assert (sections[".debug_info"], sections[".debug_line"]) == (b"", b"")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ((9, 0, 1, 0), "outside the section of 16 bytes"),
        ((1 << 63, 0, 1, 0), "outside the section of 16 bytes"),
        ((13, 0, 2, 0), "outside the section"),
        ((0, 0, 5, 0), "type 5 is not an address"),
        ((0, 3, 1, 0), "symbol 3, but there are 1"),
    ],
)
def test_damage_is_a_sentence(entry: tuple[int, int, int, int], words: str) -> None:
    with pytest.raises(FormatError, match=words):
        relocated(entry)


def test_load_addresses() -> None:
    writer = ElfWriter()
    writer.add(".text.a", bytes(64), flags=6, address=LOAD_ADDRESS)
    writer.add(".text.b", bytes(64), flags=6, address=LOAD_ADDRESS + 0x1000)
    sections = DebugSections(read_elf(writer.build()))
    assert [sections.code_offset(LOAD_ADDRESS + place) for place in (0, 0x40, 0x1000, 0x1008)] == [0, 0x40, 0, 8]
    assert sections.code_offset(0x40) == 0x40
    for address in (LOAD_ADDRESS - 1, LOAD_ADDRESS + (1 << 40)):
        with pytest.raises(FormatError, match="in no code section"):
            sections.code_offset(address)


def test_the_types_of_host_objects() -> None:
    def written(type: int) -> bytes:
        writer = ElfWriter(machine=62)
        target = writer.add(".debug_info", b"\xff" * 16)
        table = writer.add_symbols(())
        entries = rela((4, 0, type, 0x1122334455667788))
        writer.add(".rela.debug_info", entries, type=SHT_RELA, entry_size=24, link=table, info=target)
        return DebugSections(read_elf(writer.build()))[".debug_info"][4:]

    assert written(1) == struct.pack("<QI", 0x1122334455667788, 0xFFFFFFFF)
    assert written(10) == struct.pack("<IQ", 0x55667788, (1 << 64) - 1)
    for other in (2, 3):  # R_X86_64_PC32 and R_X86_64_GOT32, which are addresses on Intel's GPUs
        with pytest.raises(FormatError, match=f"relocation type {other} is not an address"):
            written(other)
