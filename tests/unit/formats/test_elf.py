"""ELF64: headers, sections, symbols, relocations, compression, damage."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable

import pytest

from kernlens.errors import FormatError
from kernlens.formats.elf.elf_file import read_elf
from kernlens.formats.elf.header import is_elf, machine_of, section_headers
from kernlens.formats.elf.string_table import StringTable
from kernlens.formats.neo_elf import read_neo_elf
from tests.tree import ROOT, package_files, text_of
from tests.writers.elf import (
    FUNC,
    GLOBAL,
    LOCAL,
    NOTYPE,
    OBJECT,
    SECTION,
    SHT_NOBITS,
    SHT_NULL,
    SHT_REL,
    SHT_RELA,
    WEAK,
    ElfWriter,
    rel,
    rela,
)

SHF_COMPRESSED = 0x800


def patched(data: memoryview, offset: int, layout: str, *values: int) -> memoryview:
    changed = bytearray(data)
    struct.pack_into(layout, changed, offset, *values)
    return memoryview(bytes(changed))


def test_header_and_sections() -> None:
    writer = ElfWriter(machine=205, type=2, abi_version=7, flags=0x55)
    writer.add(".text.k", b"\x01\x02\x03", flags=6, address=0x1000)
    writer.add(".bss", size=1 << 40, type=SHT_NOBITS)
    data = writer.build()
    elf = read_elf(data)
    assert (elf.machine, elf.type, elf.abi_version, elf.flags, elf.program_header_count) == (205, 2, 7, 0x55, 0)
    assert [section.name for section in elf.sections] == ["", ".text.k", ".bss", ".shstrtab"]
    text = elf.section(".text.k")
    assert text is not None
    assert (text.index, text.type, text.flags, text.address, text.size) == (1, 1, 6, 0x1000, 3)
    assert bytes(text.data) == b"\x01\x02\x03"
    assert text.data.obj is data.obj
    bss = elf.section(".bss")
    assert bss is not None
    assert bss.size == 1 << 40
    assert bytes(bss.data) == b""
    assert elf.section(".absent") is None
    assert [header.sh_size for header in section_headers(data)][:3] == [0, 3, 1 << 40]
    assert is_elf(data)
    assert machine_of(data) == 205


def test_symbols_have_names_sizes_and_kinds() -> None:
    writer = ElfWriter()
    text = writer.add(".text.k", bytes(64))
    writer.add_symbols(
        [
            ("k", 0, 48, LOCAL, FUNC, text),
            ("table", 8, 16, GLOBAL, OBJECT, text),
            ("helper", 0, 0, WEAK, NOTYPE, 0),
            ("absolute", 5, 0, GLOBAL, 10, 0xFFF1),
        ]
    )
    null, kernel, table, helper, absolute = read_elf(writer.build()).symbols()
    assert (null.name, null.index, null.section) == ("", 0, None)
    assert (kernel.name, kernel.value, kernel.size, kernel.binding, kernel.type) == ("k", 0, 48, "local", "func")
    assert (kernel.section, kernel.section_index, kernel.index) == (".text.k", 1, 1)
    assert (table.binding, table.type, table.value) == ("global", "object", 8)
    assert (helper.binding, helper.type, helper.section) == ("weak", "notype", None)
    assert (absolute.type, absolute.section, absolute.section_index) == ("10", "ABS", 0xFFF1)


def test_relocations_rel_and_rela() -> None:
    writer = ElfWriter()
    text = writer.add(".text.k", bytes(64))
    symtab = writer.add_symbols([("callee", 0, 0, GLOBAL, NOTYPE, 0), ("", 0, 0, LOCAL, SECTION, text)])
    writer.add(".rel.text.k", rel((12, 1, 2)), type=SHT_REL, link=symtab, info=text, entry_size=16)
    writer.add(
        ".rela.text.k", rela((20, 2, 1, -4), (28, 0, 99, 7)), type=SHT_RELA, link=symtab, info=text, entry_size=24
    )
    first, second, third = read_elf(writer.build()).relocations()
    assert (first.section, first.offset, first.type, first.type_name) == (".text.k", 12, 2, "R_ZE_SYM_ADDR_32")
    assert (first.symbol, first.symbol_index, first.addend) == ("callee", 1, None)
    assert (second.symbol, second.type_name, second.addend) == (".text.k", "R_ZE_SYM_ADDR", -4)
    assert (third.symbol, third.type_name, third.addend) == ("", "99", 7)


@pytest.mark.slow
def test_extended_section_numbers() -> None:
    """More sections than 16 bits hold: the count, the name table's index and symbols' sections stand elsewhere."""
    writer = ElfWriter()
    for _ in range(0xFF05):
        writer.add(".empty")
    last = writer.add(".last", b"x")
    symtab = writer.add_symbols([("far", 0, 1, GLOBAL, OBJECT, 0xFFFF)])
    writer.add(".symtab_shndx", struct.pack("<II", 0, last), type=18, link=symtab)
    elf = read_elf(writer.build())
    assert len(elf.sections) == len(writer.sections) + 2
    assert elf.sections[last].name == ".last"
    assert elf.symbols()[1].section == ".last"
    assert elf.symbols()[1].section_index == last


def test_compressed_section() -> None:
    text = b"debug " * 1000
    writer = ElfWriter()
    writer.add(".debug_line", struct.pack("<IIQQ", 1, 0, len(text), 1) + zlib.compress(text), flags=SHF_COMPRESSED)
    writer.add(".plain", b"plain")
    elf = read_elf(writer.build())
    assert bytes(elf.contents(elf.sections[1])) == text
    assert bytes(elf.contents(elf.sections[2])) == b"plain"


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"short", "too small for a compression header"),
        (struct.pack("<IIQQ", 2, 0, 10, 1) + b"x" * 40, "compressed by method 2"),
        (struct.pack("<IIQQ", 1, 0, 1 << 40, 1) + zlib.compress(b"x"), "cannot hold"),
        (struct.pack("<IIQQ", 1, 0, 50, 1) + zlib.compress(b"x"), "decompresses to 1 bytes"),
        (struct.pack("<IIQQ", 1, 0, 50, 1) + b"garbage", "damaged"),
    ],
)
def test_bad_compression(contents: bytes, message: str) -> None:
    writer = ElfWriter()
    writer.add(".debug_line", contents, flags=SHF_COMPRESSED)
    elf = read_elf(writer.build())
    with pytest.raises(FormatError, match=message):
        elf.contents(elf.sections[1])


def test_a_file_without_sections() -> None:
    data = patched(ElfWriter().build(), 40, "<Q", 0)
    elf = read_elf(data)
    assert elf.sections == ()
    assert elf.symbols() == ()
    assert elf.relocations() == ()


def test_names_that_are_not_utf8_stay_readable() -> None:
    data = bytearray(_with(".text.k", b"x"))
    at = data.index(b".text.k")
    data[at + 6] = 0xFF
    assert read_elf(memoryview(bytes(data))).sections[1].name == ".text.\\xff"


def _with(name: str, contents: bytes, **fields: int) -> memoryview:
    writer = ElfWriter()
    writer.add(name, contents, **fields)
    return writer.build()


def test_section_outside_the_file_names_section_and_offset() -> None:
    data = _with(".text.k", b"abcd", size=1 << 20)
    with pytest.raises(FormatError, match=r"elf, section \.text\.k, offset 0x40: its 1048576 bytes") as caught:
        read_elf(data)
    assert (caught.value.section, caught.value.offset) == (".text.k", 0x40)
    with pytest.raises(FormatError, match="zebin"):
        section_headers(data, format="zebin")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (memoryview(b""), "not an ELF file"),
        (memoryview(b"\x7fELF\x02\x01"), "too few for an ELF header"),
        (patched(ElfWriter().build(), 4, "<B", 1), "32-bit ELF"),
        (patched(ElfWriter().build(), 5, "<B", 2), "not little-endian"),
        (patched(ElfWriter().build(), 58, "<H", 40), "section headers of 40 bytes"),
        (patched(ElfWriter().build(), 60, "<H", 2000), "ends at"),
        (patched(ElfWriter().build(), 40, "<Q", 1 << 63), "cut off"),
        (patched(ElfWriter().build(), 62, "<H", 77), "in section 77"),
        (patched(_with(".a", b"", type=1), 62, "<H", 1), "not a string table"),
    ],
)
def test_damaged_headers(data: memoryview, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_elf(data)


def test_symbols_of_damaged_tables() -> None:
    writer = ElfWriter()
    writer.add_symbols([("a", 0, 0, LOCAL, FUNC, 77)])
    with pytest.raises(FormatError, match="symbol 1 is in section 77"):
        read_elf(writer.build()).symbols()
    writer = ElfWriter()
    writer.add(".symtab", bytes(25), type=2, entry_size=24)
    with pytest.raises(FormatError, match="not a whole number of entries"):
        read_elf(writer.build()).symbols()
    writer = ElfWriter()
    writer.add(".symtab", bytes(24), type=2, entry_size=16)
    with pytest.raises(FormatError, match="claims entries of 16 bytes, expected 24"):
        read_elf(writer.build()).symbols()
    writer = ElfWriter()
    writer.add(".symtab", bytes(24), type=2, entry_size=24, link=9)
    with pytest.raises(FormatError, match="claims that its names are in section 9"):
        read_elf(writer.build()).symbols()


def test_relocations_of_damaged_tables() -> None:
    def relocated(contents: bytes, **fields: int) -> ElfWriter:
        writer = ElfWriter()
        symtab = writer.add_symbols([("a", 0, 0, LOCAL, FUNC, 0)])
        writer.add(".rel", contents, type=SHT_REL, entry_size=16, **({"link": symtab} | fields))
        return writer

    with pytest.raises(FormatError, match="names symbol 5, but there are 2"):
        read_elf(relocated(rel((0, 5, 1))).build()).relocations()
    with pytest.raises(FormatError, match="relocates section 50"):
        read_elf(relocated(rel((0, 1, 1)), info=50).build()).relocations()
    with pytest.raises(FormatError, match="not a symbol table"):
        read_elf(relocated(rel((0, 1, 1)), link=2).build()).relocations()


def overlapping(extra: int) -> memoryview:
    """A file whose sections together have ``extra`` bytes more than it. Two have no bytes in it, whatever they say."""
    writer = ElfWriter()
    writer.add(".a", b"abcd" * 250)
    for type in (SHT_NULL, SHT_NOBITS):
        writer.add(".none", type=type, size=1 << 40)
    writer.add(".b", offset=66, size=0)
    file = writer.build()
    writer.sections[-1].size = len(file) + extra - 1000 - read_elf(file).sections[-1].size
    return writer.build()


def test_sections_that_share_bytes_are_read_no_more_than_twice() -> None:
    """ptxas writes two sections over the same bytes. A thousand sections over the same bytes would cost as much as a file of
    a thousand times its size, whoever reads them: what is read counts, each section once, and not what is listed."""
    writer = ElfWriter()
    writer.add(".shared", b"abcd" * 250)
    for number in range(1000):
        writer.add(f".again{number}", offset=64, size=1000)
    file = writer.build()
    sections = read_elf(file).sections
    assert [section.size for section in sections[2:1002]] == [1000] * 1000
    fitting = 2 * len(file) // 1000
    for section in (*sections[1 : fitting + 1], *sections[1 : fitting + 1]):
        assert bytes(section.data) == b"abcd" * 250
    with pytest.raises(FormatError, match=r"its sections overlap: [\d,]+ bytes of them were read, the file has [\d,]+"):
        _ = sections[fitting + 1].data


@pytest.mark.parametrize("read", [section_headers, read_neo_elf])
def test_who_reads_all_sections_reads_no_more_than_the_file(read: Callable[[memoryview], object]) -> None:
    sections = read_elf(overlapping(0)).sections
    assert [len(section.data) for section in sections[1:4]] == [1000, 0, 0]
    assert bytes(sections[4].data).startswith(b"cdabcd")
    with pytest.raises(FormatError, match=r"its sections overlap: [\d,]+ bytes of them were read, the file has [\d,]+"):
        read(overlapping(1))


def test_string_table_allowance() -> None:
    table = StringTable(memoryview(b"x" * 50_000 + b"\0"), format="elf", section=".strtab")
    with pytest.raises(FormatError, match="many times longer than the string table"):
        list(map(table.name, range(50_000)))


def test_string_table_errors() -> None:
    table = StringTable(memoryview(b"\0abc\0open"), format="elf")
    assert [table.name(0), table.name(1), table.name(2)] == ["", "abc", "bc"]
    with pytest.raises(FormatError, match="not terminated"):
        table.name(5)
    with pytest.raises(FormatError, match="outside the string table"):
        table.name(9)


#: Reads a file whose last symbol is damaged, keeps the errors in reference cycles, and has them collected.
_COLLECTED = """
import gc
from kernlens.errors import FormatError
from kernlens.formats.elf.elf_file import read_elf
from tests.writers.elf import ElfWriter
writer = ElfWriter()
writer.add_symbols([("a", 0, 0, 1, 2, 0), ("b", 0, 0, 1, 2, 0)])
content = bytearray(writer.build())
table = read_elf(memoryview(bytes(content))).sections[1]
content[table.offset + 24 : table.offset + 28] = b"\\xff" * 4
def keep():
    try:
        read_elf(memoryview(bytes(content))).symbols()
    except FormatError as error:
        kept = error
gc.disable()
for _ in range(300):
    keep()
assert gc.collect() > 300
"""


def test_the_error_of_a_damaged_symbol_can_be_garbage() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", _COLLECTED], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_no_iterator_reads_a_view() -> None:
    calls = [call for path in package_files() for call in re.findall(r"\.iter_unpack\((.{6})", text_of(path))]
    assert calls
    assert set(calls) == {"bytes("}
