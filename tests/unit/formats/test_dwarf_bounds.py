"""DWARF made to be read without end: numbers, entries within one another, inlined calls of a whole file."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from kernlens.errors import FormatError
from kernlens.formats.dwarf import inlining
from kernlens.formats.dwarf.forms import read_initial_length, read_signed, read_unsigned
from kernlens.formats.dwarf.line_tables import read_zebin_line_tables
from kernlens.formats.elf.elf_file import read_elf
from kernlens.model.line_table import LineTable
from tests.writers.dwarf import UnitWriter, debug_zebin, encode, line_unit_4

LINE = encode([(0, 1, 3, 0, True)], 64)


def tables(units: list[UnitWriter], program: bytes = LINE) -> list[LineTable]:
    """The tables of kernels ``k0``, ``k1``..., each with a unit and a line program of its own."""
    names = [f"k{number}" for number in range(len(units))]
    elf = read_elf(debug_zebin(names, units, line_unit_4(program) * len(units), []).build())
    return list(read_zebin_line_tables(elf).values())


def unit(number: int = 0) -> UnitWriter:
    return UnitWriter(f"k{number}", number * len(line_unit_4(LINE)))


@pytest.mark.parametrize("read", [read_unsigned, read_signed])
def test_a_number_ends(read: Callable[[bytes, int], tuple[int, int]]) -> None:
    assert read(b"\x80" * 16 + b"\0", 0) == (0, 17)
    with pytest.raises(FormatError, match="a LEB128 number has too many bytes"):
        read(b"\x80" * 17 + b"\0", 0)


@pytest.mark.parametrize("opcode", [2, 3])
def test_a_number_of_a_line_program_ends(opcode: int) -> None:
    """Of advance_pc, and of advance_line, which has a sign."""
    fine = bytes([opcode]) + b"\x80" * 15 + b"\0" + LINE
    assert list(tables([UnitWriter("k0", 0)], fine)[0].lines) == [3, 3]
    endless = bytes([opcode]) + b"\x80" * 16 + b"\0" + LINE
    with pytest.raises(FormatError, match="a LEB128 number has too many bytes"):
        tables([UnitWriter("k0", 0)], endless)


@pytest.mark.parametrize("position", [8, 1 << 32, (1 << 64) - 2])
def test_a_length_beyond_the_section(position: int) -> None:
    """A common entry's place is a number of 64 bits, which no index can be."""
    with pytest.raises(struct.error):
        read_initial_length(bytes(8), position)


@pytest.mark.parametrize(("depth", "is_refused"), [(500, False), (512, True)])
def test_entries_within_one_another_are_bounded(depth: int, is_refused: bool) -> None:
    deep = unit()
    called = deep.abstract("called")
    deep.subprogram("k0", 0, 64)
    for _ in range(depth):
        deep.inlined(called, 0, 64, (1, 1, 1))
    for _ in range(depth + 1):
        deep.close()
    deep.close()
    (table,) = tables([deep])
    if not is_refused:
        assert len(table.inlined) == depth
        return
    with pytest.raises(FormatError, match="entries are nested deeper than 512"):
        _ = table.inlined


def test_the_inlined_calls_of_a_file_share_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inlining, "_MOST_OF_FILE", 5)
    units = []
    for number in range(2):
        each = unit(number)
        called = each.abstract("called")
        each.subprogram(f"k{number}", 0, 64)
        for place in range(3):
            each.inlined(called, 8 * place, 8, (1, 1, 1))
            each.close()
        each.close()
        each.close()
        units.append(each)
    first, second = tables(units)
    assert len(first.inlined) == 3
    with pytest.raises(FormatError, match="its units have more than 5 inlined calls"):
        _ = second.inlined
