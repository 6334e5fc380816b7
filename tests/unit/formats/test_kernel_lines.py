"""The line tables of a code object's kernels, which share one line program."""

from __future__ import annotations

import struct

import pytest

from kernlens.errors import FormatError
from kernlens.formats.amdgpu.code_object import read_code_object
from kernlens.formats.amdgpu.kernel_lines import CodeObjectLines
from kernlens.model.line_table import LineTable
from tests.writers.code_objects import END, NOP, TEXT_ADDRESS, code_object
from tests.writers.dwarf import encode, line_unit_4, set_address

KERNELS = {"first": NOP * 3 + END, "second": NOP + END, "third": END}
SECOND = TEXT_ADDRESS + 256
#: A compile unit with no more than the offset of its line program.
ABBREVIATION = bytes([1, 0x11, 0, 0x10, 0x17, 0, 0, 0])
UNIT = struct.pack("<IHIBBI", 12, 4, 0, 8, 1, 0)


def lines_of(program: bytes) -> dict[str, LineTable | None]:
    sections = {".debug_line": line_unit_4(program), ".debug_info": UNIT, ".debug_abbrev": ABBREVIATION}
    read = read_code_object(memoryview(code_object(KERNELS, None, sections=sections)))
    lines = CodeObjectLines(read)
    assert lines.are_there
    return {kernel.name: lines.of_kernel(kernel) for kernel in read.kernels}


def rows(table: LineTable | None) -> list[tuple[int, int, bool]]:
    assert table is not None
    return [(row.offset, row.line, row.end_sequence) for row in table.rows]


def test_each_kernel_has_its_own_rows() -> None:
    start = TEXT_ADDRESS
    program = encode([(start, 1, 10, 0, True), (start + 8, 1, 11, 0, True), (SECOND, 1, 20, 0, True)], SECOND + 8)
    tables = lines_of(program)
    assert rows(tables["first"]) == [(0, 10, False), (8, 11, False), (16, 11, True)]
    assert rows(tables["second"]) == [(0, 20, False), (8, 20, True)]
    assert tables["third"] is None


def test_a_row_that_covers_two_kernels_is_cut() -> None:
    tables = lines_of(encode([(TEXT_ADDRESS, 1, 10, 0, True)], SECOND + 4))
    assert rows(tables["first"]) == [(0, 10, False), (16, 10, True)]
    assert rows(tables["second"]) == [(0, 10, False), (4, 10, True)]


def test_rows_at_a_start_are_all_kept() -> None:
    program = encode([(TEXT_ADDRESS, 1, 1, 0, True), (SECOND, 1, 20, 0, True), (SECOND, 1, 21, 0, True)], SECOND + 8)
    assert rows(lines_of(program)["second"]) == [(0, 20, False), (0, 21, False), (8, 21, True)]


def test_dropped_code_has_no_kernel() -> None:
    """The linker leaves the sequences of code that it dropped at address 0."""
    program = encode([(0, 1, 5, 0, True)], 1 << 20) + encode([(SECOND, 1, 20, 0, True)], SECOND + 8)
    tables = lines_of(program)
    assert tables["first"] is None
    assert rows(tables["second"]) == [(0, 20, False), (8, 20, True)]


def test_addresses_beyond_the_code() -> None:
    with pytest.raises(FormatError, match="lies in no code section"):
        lines_of(set_address(1 << 40) + b"\x01")
