"""Line programs of DWARF 2 to 5, written in memory and read back."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernlens.errors import FormatError
from kernlens.formats.dwarf.line_tables import read_kernel_debug_elf, read_zebin_line_tables
from kernlens.formats.elf.elf_file import read_elf
from kernlens.model.line_table import END_SEQUENCE, IS_STMT, PROLOGUE_END, InlinedCall, LineTable
from tests.writers import dwarf
from tests.writers.dwarf import Row, UnitWriter, debug_zebin, encode, line_unit_4, line_unit_5, special, uleb
from tests.writers.elf import ElfWriter

DW_FORM_STRING, DW_FORM_STRP, DW_FORM_UDATA, DW_FORM_DATA16, DW_FORM_LINE_STRP = 0x08, 0x0E, 0x0F, 0x1E, 0x1F
PATH, DIRECTORY, MD5, LLVM_SOURCE = 1, 2, 5, 0x2001


def kernel_elf(line: bytes, **sections: bytes) -> memoryview:
    writer = ElfWriter(machine=182)
    writer.add(".debug_line", line)
    for name, content in sections.items():
        writer.add("." + name, content)
    return writer.build()


def read(line: bytes, **sections: bytes) -> LineTable:
    table = read_kernel_debug_elf(kernel_elf(line, **sections))
    assert table is not None
    return table


def columns(table: LineTable) -> list[Row]:
    """The rows without the end of sequence."""
    rows = zip(table.offsets, table.files_of, table.lines, table.columns, table.flags, strict=True)
    return [(*row, bool(flags & IS_STMT)) for *row, flags in rows if not flags & END_SEQUENCE]  # type: ignore[misc]


def test_every_opcode_of_version_4() -> None:
    program = (
        dwarf.set_address(0x10)
        + b"\x03" + dwarf.sleb(41)      # line 42
        + b"\x05" + uleb(7)             # column 7
        + b"\x01"                       # row 0x10
        + b"\x06"                       # not is_stmt
        + special(2, 3)                 # row 0x12, line 45
        + b"\x08"                       # 17 bytes on
        + b"\x04" + uleb(2)             # file 2
        + b"\x0a"                       # the next row ends the prologue
        + special(0, -5)                # row 0x23, line 40
        + b"\x02" + uleb(300)           # 300 bytes on
        + b"\x09\x04\x00"               # 4 more, fixed
        + b"\x07\x0b\x0c\x05"           # basic block, epilogue, isa: nothing that a row keeps
        + b"\x03" + dwarf.sleb(-30)     # line 10
        + b"\x01"                       # row 0x153
        + b"\x00\x02\x80\x00"           # an unknown extended opcode
        + b"\x02" + uleb(1) + dwarf.END_SEQUENCE
    )  # fmt: skip
    table = read(line_unit_4(program, files=(("a.cl", 0), ("b.h", 1), ("/c.h", 1)), directories=("include",)))
    rows = [(row.offset, row.file, row.line, row.column, row.is_stmt, row.end_sequence) for row in table.rows]
    assert rows == [
        (0x10, 1, 42, 7, True, False),
        (0x12, 1, 45, 7, False, False),
        (0x23, 2, 40, 7, False, False),
        (0x153, 2, 10, 7, False, False),
        (0x154, 2, 10, 7, False, True),
    ]
    assert [flags & PROLOGUE_END for flags in table.flags] == [0, 0, PROLOGUE_END, 0, 0]
    assert [file.path for file in table.files] == ["", "a.cl", "include/b.h", "/c.h"]


def test_the_state_starts_anew_after_an_end_of_sequence() -> None:
    first = encode([(0, 2, 9, 3, False)], 16)
    table = read(line_unit_4(first + encode([(32, 1, 5, 0, True)], 48), files=(("a", 0), ("b", 0))))
    assert columns(table) == [(0, 2, 9, 3, False), (32, 1, 5, 0, True)]
    assert list(table.offsets) == [0, 16, 32, 48]


@pytest.mark.parametrize("advance", [-1, 63, 64, -64, -65, -8192, -8193, 1 << 20])
def test_signed_numbers_of_every_length(advance: int) -> None:
    program = b"\x03" + dwarf.sleb(10_000) + b"\x03" + dwarf.sleb(advance) + b"\x01" + dwarf.END_SEQUENCE
    assert read(line_unit_4(program)).lines[0] == 10_001 + advance


@pytest.mark.parametrize("number", [127, 128, 16_383, 16_384, 1 << 31])
def test_unsigned_numbers_of_every_length(number: int) -> None:
    program = b"\x05" + uleb(number) + b"\x02" + uleb(number) + b"\x01" + dwarf.END_SEQUENCE
    table = read(line_unit_4(program))
    assert (table.columns[0], table.offsets[0]) == (number, number)


def test_minimum_instruction_length_scales_all_advances() -> None:
    program = special(2, 0) + b"\x08" + b"\x02\x01" + b"\x01" + dwarf.END_SEQUENCE
    table = read(line_unit_4(program, minimum_length=8))
    assert list(table.offsets[:2]) == [16, 16 + 8 * 17 + 8]


@pytest.mark.parametrize("version", [2, 3])
def test_older_versions_lack_the_operations_byte(version: int) -> None:
    table = read(line_unit_4(encode([(0, 1, 3, 0, True)], 8), version=version))
    assert columns(table) == [(0, 1, 3, 0, True)]


def test_a_file_may_be_defined_within_the_program() -> None:
    entry = b"late.h\0\0\0\0"
    program = b"\x00" + uleb(1 + len(entry)) + b"\x03" + entry + encode([(0, 2, 1, 0, True)], 8)
    assert [file.path for file in read(line_unit_4(program)).files] == ["", "k.cl", "late.h"]


@pytest.mark.parametrize("offset_size", [4, 8])
def test_version_5_entry_formats(offset_size: int) -> None:
    offset = "<I" if offset_size == 4 else "<Q"
    names = b"\0/build\0include\0"
    unit = line_unit_5(
        encode([(0, 0, 4, 2, True), (8, 1, 6, 1, True)], 16),
        [(PATH, DW_FORM_LINE_STRP)],
        [struct.pack(offset, 1), struct.pack(offset, 8)],
        [(PATH, DW_FORM_STRING), (DIRECTORY, DW_FORM_UDATA), (MD5, DW_FORM_DATA16), (LLVM_SOURCE, DW_FORM_STRP)],
        [
            b"k.cl\0" + uleb(0) + bytes(range(16)) + struct.pack(offset, 3),
            b"h.h\0" + uleb(1) + bytes(16) + struct.pack(offset, 0),
        ],
        offset_size,
    )
    table = read(unit, debug_line_str=names, debug_str=b"\0\0\0kernel void k() {}\0")
    assert table.version == 5
    assert table.directory == "/build"
    assert [(file.path, file.md5, file.text) for file in table.files] == [
        ("k.cl", bytes(range(16)).hex(), "kernel void k() {}"),
        ("include/h.h", None, None),
    ]
    assert columns(table) == [(0, 0, 4, 2, True), (8, 1, 6, 1, True)]


def test_version_5_with_one_file_and_programs_that_name_the_first_by_1() -> None:
    unit = line_unit_5(encode([(0, 1, 4, 0, True)], 8), [], [], [(PATH, DW_FORM_STRING)], [b"k.cl\0"])
    assert [file.path for file in read(unit).files] == ["k.cl", ""]


ROWS = st.lists(
    st.tuples(st.integers(0, 40_000), st.integers(1, 3), st.integers(1, 70_000), st.integers(0, 20_000), st.booleans()),
    max_size=60,
).map(lambda rows: sorted(rows, key=lambda row: row[0]))


@given(rows=ROWS, special_opcodes=st.booleans(), tail=st.integers(0, 500), version=st.sampled_from((4, 5)))
def test_what_is_written_is_read(rows: list[Row], special_opcodes: bool, tail: int, version: int) -> None:
    end = (rows[-1][0] if rows else 0) + tail
    program = encode(rows, end, special_opcodes)
    if version == 4:
        unit = line_unit_4(program, files=(("a", 0), ("b", 0), ("c", 0)))
    else:
        unit = line_unit_5(program, [], [], [(PATH, DW_FORM_STRING)], [b"a\0", b"b\0", b"c\0", b"d\0"])
    table = read(unit)
    assert columns(table) == rows
    assert (table.offsets[-1], table.flags[-1] & END_SEQUENCE) == (end, END_SEQUENCE)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (line_unit_4(b"\x02\x80"), "ends within an opcode"),
        (line_unit_4(b"\x00\x40\x02"), "beyond the line program"),
        (line_unit_4(b"\x02" + uleb(1 << 33) + b"\x01"), "32 bits"),
        (line_unit_4(encode([(0, 9, 1, 0, True)], 8)), "names file 9"),
        (line_unit_4(b"")[:-4], "beyond the section's end"),
        (line_unit_4(b"").replace(b"\x04\x00", b"\x06\x00", 1), "version 6"),
        (line_unit_5(b"", [], [b""], [], []), "without a format"),
        (line_unit_5(b"", [(PATH, 0x19)], [b""], [], []), "form 0x19"),
        (line_unit_5(b"", [(PATH, DW_FORM_LINE_STRP)], [struct.pack("<I", 99)], [], []), "outside the string table"),
        (b"\x05\0\0\0\x04\0", "section's end"),
    ],
)  # fmt: skip
def test_damage_is_a_sentence(line: bytes, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        read(line)


def test_a_long_directory_of_many_files_is_refused() -> None:
    files = [("a", 1)] * 1000
    with pytest.raises(FormatError, match="paths are many times longer"):
        read(line_unit_4(b"", files=files, directories=("d" * 10_000,)))


@pytest.mark.parametrize("left", range(7))
def test_a_header_that_ends_with_the_section_is_refused(left: int) -> None:
    """``left`` bytes of the header's parameters are there."""
    body = struct.pack("<HI", 4, left) + bytes((1, 1, 1, 251, 14, 13))[:left]
    with pytest.raises(FormatError, match="ends within a line program's header"):
        read(struct.pack("<I", len(body)) + body)


def test_endless_entries_without_bytes_are_refused() -> None:
    unit = line_unit_5(b"", [], [], [], [])
    counted = unit.replace(dwarf.OPERAND_COUNTS + b"\0\0", dwarf.OPERAND_COUNTS + b"\0" + b"\x7f")
    assert counted != unit
    with pytest.raises(FormatError, match="127 entries without a format"):
        read(counted)


@given(noise=st.binary(max_size=80), position=st.integers(0, 60))
def test_noise_is_refused_or_read(noise: bytes, position: int) -> None:
    line = line_unit_4(encode([(0, 1, 1, 1, True), (16, 1, 2, 1, False)], 64))
    with suppress(FormatError):
        read(line[:position] + noise + line[position + len(noise) :])


def two_kernels(
    *, written: Sequence[str] = ("first", "second"), kernels: Sequence[str] = ("first", "second"), **options: object
) -> ElfWriter:
    """Two kernels, each with a unit and a line program; the second program starts behind the first. The units are those of the
    kernels ``written``, in this order, whose code sections are those of ``kernels``."""
    programs = [line_unit_4(encode([(0, 1, line, 0, True), (16, 1, line + 1, 5, True)], 64)) for line in (10, 20)]
    address = len(line_unit_4(b"")) + 3
    units = []
    for number, name in enumerate(written):
        unit = UnitWriter(name, number * len(programs[0]))
        unit.subprogram(f"typeinfo name for {name}", 0, 64)
        unit.close()
        units.append(unit)
    sites = [(address, written[0], 0), (len(programs[0]) + address, written[1], 0)]
    return debug_zebin(kernels, units, b"".join(programs), sites, **options)  # type: ignore[arg-type]


def test_each_kernel_of_a_zebin_has_its_own_table() -> None:
    tables = read_zebin_line_tables(read_elf(two_kernels().build()))
    assert list(tables) == ["first", "second"]
    assert list(tables["first"].lines) == [10, 11, 11]
    assert list(tables["second"].lines) == [20, 21, 21]
    assert list(tables["second"].offsets) == [0, 16, 64]
    assert tables["second"].directory == "/work"
    assert "third" not in tables


LOADED = (0xFFFF8000FFBE0000, 0xFFFF8000FFBE0B00)


def test_load_addresses_of_a_debug_elf_do_not_count() -> None:
    tables = read_zebin_line_tables(read_elf(two_kernels(load_addresses=LOADED).build()))
    assert [list(tables[name].offsets) for name in tables] == [[0, 16, 64], [0, 16, 64]]


def test_load_addresses_count_from_their_code_section_where_relocations_are_lost() -> None:
    line = line_unit_4(encode([(LOADED[1], 1, 20, 0, True), (LOADED[1] + 16, 1, 21, 0, True)], LOADED[1] + 64))
    unit = UnitWriter("second", 0)
    unit.subprogram("second", 0, 64)
    unit.close()
    elf = debug_zebin(("first", "second"), [unit], line, [], load_addresses=LOADED, relocate=False).build()
    assert list(read_zebin_line_tables(read_elf(elf))["second"].offsets) == [0, 16, 64]


def lines_of(elf: ElfWriter) -> dict[str, int]:
    """The first line of each kernel's table."""
    return {name: table.lines[0] for name, table in read_zebin_line_tables(read_elf(elf.build())).items()}


def test_a_table_is_the_kernels_whose_section_its_addresses_are_relocated_to() -> None:
    both = ("first", "second")
    assert lines_of(two_kernels(named=both)) == {"first": 10, "second": 20}
    assert lines_of(two_kernels(named=both, written=("second", "first"))) == {"second": 10, "first": 20}
    assert lines_of(two_kernels(named=both, load_addresses=LOADED)) == {"first": 10, "second": 20}


def test_units_whose_symbols_lost_their_names_stand_in_the_order_of_the_sections() -> None:
    sizes = {"first": 64, "second": 64}
    assert lines_of(two_kernels(functions=sizes)) == {"first": 10, "second": 20}
    assert lines_of(two_kernels(named=("second",), functions=sizes)) == {"first": 10, "second": 20}
    assert lines_of(two_kernels(named=("first",), functions=sizes, load_addresses=LOADED)) == {
        "first": 10,
        "second": 20,
    }


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"written": ("second", "first"), "named": ("first",)}, {"first": 20}),
        ({"functions": {"first": 64, "second": 48}}, {}),
        ({"kernels": ("first", "second", "third")}, {}),
        ({"kernels": ("first", "second", "third"), "named": ("second",)}, {"second": 20}),
    ],
)
def test_what_speaks_against_that_order_leaves_them_without_a_kernel(
    options: dict[str, object], told: dict[str, int]
) -> None:
    writer = two_kernels(**options)  # type: ignore[arg-type]
    assert lines_of(writer) == told
    assert read_zebin_line_tables(read_elf(writer.build())).has_others
    assert not read_zebin_line_tables(read_elf(two_kernels().build())).has_others


def test_a_unit_without_rows_is_no_table() -> None:
    """Intel's compiler writes one for a module's functions that are no kernels, even if all of them were inlined."""
    programs = [line_unit_4(encode([(0, 1, 10, 0, True)], 64)), line_unit_4(b"")]
    units = [UnitWriter("first", 0), UnitWriter("second", len(programs[0]))]
    sites = [(len(line_unit_4(b"")) + 3, "first", 0)]
    writer = debug_zebin(("first", "second"), units, b"".join(programs), sites, named=("first", "second"))
    assert lines_of(writer) == {"first": 10}


def test_units_that_share_one_long_program_are_refused_before_they_cost_much() -> None:
    line = line_unit_4(encode([(0, 1, 3, 0, True)], 64))
    units = []
    for number in range(9):
        unit = UnitWriter(f"k{number}", 0)
        unit.subprogram(f"k{number}", 0, 64)
        unit.close()
        units.append(unit)
    tables = read_zebin_line_tables(read_elf(debug_zebin([f"k{n}" for n in range(9)], units, line, []).build()))
    with pytest.raises(FormatError, match="overlap"):
        list(tables.values())


def inlined_zebin() -> memoryview:
    unit = UnitWriter("first", 0)
    outer, inner = unit.abstract("outer"), unit.abstract("inner")
    unit.subprogram("first", 0, 64)
    unit.inlined(outer, 8, 40, (1, 30, 7))
    unit.inlined_ranges(inner, 0, (1, 12, 9))
    unit.inlined(outer, 16, 8, (1, 2, 3))
    for _ in range(4):
        unit.close()
    ranges = struct.pack("<6Q", 16, 24, 32, 40, 0, 0)
    line = line_unit_4(encode([(0, 1, 3, 0, True)], 64))
    return debug_zebin(("first",), [unit], line, [], ranges=ranges).build()


def test_inlined_calls_with_sizes_and_with_ranges() -> None:
    table = read_zebin_line_tables(read_elf(inlined_zebin()))["first"]
    assert table.inlined == (
        InlinedCall("outer", 8, 48, 1, 30, 7, 0),
        InlinedCall("inner", 16, 24, 1, 12, 9, 1),
        InlinedCall("inner", 32, 40, 1, 12, 9, 1),
        InlinedCall("outer", 16, 24, 1, 2, 3, 2),
    )


def test_damaged_entries_cost_the_inlined_calls_and_not_the_lines() -> None:
    elf = bytearray(inlined_zebin())
    elf[elf.index(bytes((1, 30, 7))) + 3] = 0x7F  # the entry after the outer call's has no such abbreviation
    table = read_zebin_line_tables(read_elf(memoryview(bytes(elf))))["first"]
    assert list(table.lines) == [3, 3]
    with pytest.raises(FormatError, match="abbreviation 127 is not in the table"):
        _ = table.inlined
