"""Variables of hand-made debug data: location lists of both versions, expressions for each lane, and what hostile ones cost."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest

from kernlens.errors import FormatError
from kernlens.formats.dwarf.entry_lists import LocationLists, RangeLists
from kernlens.formats.dwarf.expressions import evaluate
from kernlens.formats.dwarf.forms import Encoding
from kernlens.formats.dwarf.relocation import DebugSections
from kernlens.formats.dwarf.strings import DebugStrings
from kernlens.formats.dwarf.units import UnitReader
from kernlens.formats.dwarf.variables import Variables, pieces_of_lanes
from kernlens.formats.elf.elf_file import read_elf
from kernlens.model.variable import COMPUTED, CONSTANT, MEMORY, NOWHERE, REGISTER, Place, Variable
from tests.limits import processor_time
from tests.writers.dwarf import uleb
from tests.writers.elf import ElfWriter

LANE, REGVAL, REGS, PUSH_PIECE, STACK_VALUE = 0xED, 0xFE, 0xEB, 0xEC, 0x9F
#: The abbreviations: 1 a unit with low_pc; 2 a kernel with name, low_pc, size and lanes; 3 an argument with name, type, list;
#: 4 a variable with name and expression; 5 a base type; 6 a vector, 7 its length; 8 an abstract function, 9 its argument;
#: 10 an inlined call with origin, low_pc, size, file and line; 11 an argument with origin and list; 12 a variable with a name
#: alone; 13 a block with low_pc and size; 14 a variable with name and value.
ABBREVIATIONS = bytes.fromhex(
    "01 11 01 11 01 00 00"
    "02 2e 01 03 08 11 01 12 06 80 48 0b 00 00"
    "03 05 00 03 08 49 13 02 17 3a 0b 3b 0b 00 00"
    "04 34 00 03 08 02 18 00 00"
    "05 24 00 03 08 0b 0b 00 00"
    "06 01 01 49 13 00 00"
    "07 21 00 37 0b 00 00"
    "08 2e 01 03 08 00 00"
    "09 05 00 03 08 49 13 3a 0b 3b 0b 00 00"
    "0a 1d 01 31 13 11 01 12 06 58 0b 59 0b 00 00"
    "0b 05 00 31 13 02 17 00 00"
    "0c 34 00 03 08 00 00"
    "0d 0b 01 11 01 12 06 00 00"
    "0e 34 00 03 08 1c 0b 00 00"
    "00"
)


def lanes_of(register: int, mask: int, shift: int, bits: int) -> bytes:
    """The newest compiler's expression of a value for each lane, so many bits wide."""
    count = bytes((LANE, 0x30 + shift, 0x25, 0x23)) + uleb(16 + register)
    return count + bytes((LANE, 0x30 + mask, 0x1A, 0x08, bits, 0x1E, REGVAL, bits))


def read(version: int, lists: bytes, section: str) -> dict[str, Variable]:
    """Read a unit with a kernel of 16 lanes whose argument ``a`` and inlined argument ``x`` name list 0 of ``section``."""
    header = 12 if version == 5 else 11

    def at(offset: int) -> bytes:
        return struct.pack("<I", offset)

    body = b"\x01" + struct.pack("<Q", 0x100)
    float_type = header + len(body)
    body += b"\x05float\0\x04"
    vector = header + len(body)
    body += b"\x06" + at(float_type) + b"\x07\x04" + b"\0"
    function = header + len(body)
    body += b"\x08f\0"
    argument = header + len(body)
    body += b"\x09x\0" + at(float_type) + b"\x01\x05" + b"\0"
    body += b"\x02k\0" + struct.pack("<QIB", 0x100, 0x200, 16)
    body += b"\x03a\0" + at(vector) + at(0) + b"\x01\x03"
    body += b"\x04m\0\x02\x76\x40"  # breg6 -64
    body += b"\x0cgone\0"
    body += b"\x0econstant\0\x07"
    body += b"\x0d" + struct.pack("<QI", 0x140, 0x20) + b"\x0cinner\0" + b"\0"
    body += b"\x0a" + at(function) + struct.pack("<QIBB", 0x180, 0x40, 1, 9) + b"\x0b" + at(argument) + at(0) + b"\0"
    body += b"\0\0"
    fields = struct.pack("<HBBI", 5, 1, 8, 0) if version == 5 else struct.pack("<HIB", 4, 0, 8)
    writer = ElfWriter(machine=182)
    writer.add(".debug_info", struct.pack("<I", len(fields) + len(body)) + fields + body)
    writer.add(".debug_abbrev", ABBREVIATIONS)
    writer.add(section, lists)
    sections = DebugSections(read_elf(writer.build(), format="kernel-debug-elf"))
    reader = Variables(UnitReader(sections), RangeLists(sections), LocationLists(sections))
    assert function
    return {variable.name: variable for variable in reader.of_unit(0, DebugStrings(sections))}


def entry_4(low: int, high: int, expression: bytes) -> bytes:
    return struct.pack("<QQH", low, high, len(expression)) + expression


LIST_4 = entry_4(0, 0x10, lanes_of(3, 7, 3, 32)) + entry_4(0x10, 0x10, b"\x30\x9f") + bytes(16)
LIST_5 = (
    b"\x04\x00\x10" + uleb(13) + lanes_of(3, 7, 3, 32)
    + b"\x08" + struct.pack("<Q", 0x140) + b"\x08" + b"\x02\x37\x9f"
    + b"\x06" + struct.pack("<Q", 0x150) + b"\x04\x00\x08\x02\x38\x9f"
    + b"\x00"
)  # fmt: skip


@pytest.mark.parametrize(("version", "lists", "section"), [(4, LIST_4, ".debug_loc"), (5, LIST_5, ".debug_loclists")])
def test_variables_with_their_scopes_and_lists(version: int, lists: bytes, section: str) -> None:
    variables = read(version, lists, section)
    assert list(variables) == ["a", "m", "gone", "constant", "inner", "x"]
    a, x = variables["a"], variables["x"]
    assert (a.is_argument, a.function, a.type_name, a.size, a.file, a.line) == (True, "k", "float[4]", 16, 1, 3)
    assert (a.locations[0].low, a.locations[0].high) == (0x100, 0x110)
    assert [lane[0][3:5] for lane in a.locations[0].lanes] == [(3 + lane // 8, 32 * (lane % 8)) for lane in range(16)]
    assert (x.function, x.calls, x.scope, x.type_name, x.line) == ("f", ((1, 9),), ((0x180, 0x1C0),), "float", 5)
    assert variables["inner"].scope == ((0x140, 0x160),)
    assert variables["inner"].is_visible(0x140)
    assert not variables["inner"].is_visible(0x160)
    assert variables["gone"].reason == "the compiler states no place for it"
    assert variables["m"].locations[0].lanes == ((Place(MEMORY, text="scratch - 64"),),)
    assert variables["constant"].locations[0].lanes[0][0].value == bytes((7, 0, 0, 0, 0, 0, 0, 0))
    if version == 5:
        assert [(each.low, each.high) for each in a.locations[1:]] == [(0x140, 0x148), (0x150, 0x158)]
        assert a.locations[1].lanes[0][0].value[:1] == b"\x07"
    assert a.location(0x10F) is a.locations[0]
    assert a.location(0x110) is None


def test_what_each_operation_leaves() -> None:
    def left_by(*code: int) -> Place:
        (piece,) = evaluate(bytes(code), 5).pieces
        return piece

    assert left_by(0x30 + 21, 0x30, REGVAL, 32, STACK_VALUE) == Place(REGISTER, 32, "r", 5)
    assert left_by(0x30 + 24, REGS, 0x08, 64, 0x08, 32, PUSH_PIECE, STACK_VALUE) == Place(REGISTER, 32, "r", 8, 64)
    assert left_by(0x50 + 24, 0x9D, 64, 32) == Place(REGISTER, 64, "r", 8, 32)
    assert left_by(0x90, *uleb(288), 0x93, 4) == Place(REGISTER, 32, "f", 0)
    assert left_by(LANE, 0x33, 0x24, STACK_VALUE).value == (40).to_bytes(8, "little")
    assert left_by(0x9E, 2, 1, 2) == Place(CONSTANT, 16, value=b"\x01\x02")
    assert left_by(0x76, 8) == Place(MEMORY, text="scratch + 8")
    assert left_by(0x50 + 24, 0x23, 12, STACK_VALUE) == Place(COMPUTED, text="r8 + 12")
    assert left_by(0x93, 4) == Place(NOWHERE, 32, text="optimised out")
    assert (
        left_by(0x05, 0x10, 0).text == "the compiler wrote LLVM's DW_OP_LLVM_arg, which is no operation of debug data"
    )
    assert left_by(0xE0).text == "the compiler's expression has the operation 0xe0, which is unknown"
    assert evaluate(b"", 0).pieces[0].text == "optimised out"


def test_the_faults_of_a_compiler_that_are_known() -> None:
    """IGC 2.40: a branch over a DW_OP_stack_value that it does not count, sizes as plain bytes, vectors without pieces."""
    half, other = lanes_of(3, 7, 3, 32), bytes((LANE, 0x40, 0x1C)) + lanes_of(9, 7, 3, 32)[1:]
    behind = other + bytes((STACK_VALUE, 0x9D, 32, 0))
    code = bytes((LANE, 0x40, 0x2A, 0x28)) + struct.pack("<h", len(half) + 6) + half + bytes((0x9D, 32, 0, 0x2F))
    code += struct.pack("<h", len(behind) - 1) + behind
    places = pieces_of_lanes(code, 32, 1, 32)
    assert [lane[0][3:5] for lane in (places[0], places[15], places[16])] == [(3, 0), (4, 224), (9, 0)]
    assert evaluate(bytes((0x50 + 20, 0x9D, 0x80, 0)), 0).pieces == (Place(REGISTER, 128, "r", 4),)
    # IGC 1.0: the second half of a variable of 64 bits, by its place in the variable.
    fragment = lanes_of(3, 7, 3, 32) + bytes((STACK_VALUE, 0x9D, 32, 32))
    assert evaluate(fragment, 1).pieces == (
        Place(NOWHERE, 32, text="optimised out"),
        Place(REGISTER, 32, "r", 3, 32),
    )
    vector = b"".join(lanes_of(3 + 8 * number, 1, 1, 128) for number in range(4))
    places = pieces_of_lanes(vector, 16, 4, 32)
    assert places[5] == tuple(Place(REGISTER, 32, "r", 3, 32 * 5 + 512 * number) for number in range(4))


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (b"\x2f\xfd\xff", "does not end"),
        (b"\x30" * 200, "too deep a stack"),
        (b"\x30\x12" + b"\x12\x24" * 60, "."),
        (b"\x2f\x00\x10", "branches out of itself"),
        (b"\x2f\x01\x00\x0c\x00\x00\x00\x00", "into the middle"),
        (b"\x31\x30\x1b", "divides by zero"),
        (b"\x22", "more than its stack holds"),
        (b"\x0c\x01", "ends within an operation"),
        (b"\x50\x30\x30\xec", "."),
        (b"\x0c\xff\xff\xff\x7f\x30\xfe\x20", "a register that there is not"),
        (b"\x93\xff\xff\xff\x7f", "too large"),
        (b"\x54" + b"\x23\x01\x06" * 60, "too long a formula"),
        (b"\x2f\x00\x00" * 1366, "has 4,098 bytes, and at most 4,096 are evaluated"),
    ],
)
def test_hostile_expressions_are_bounded(code: bytes, reason: str) -> None:
    with processor_time(0.5):
        pieces = evaluate(code, 0).pieces
    if reason != ".":
        assert reason in pieces[0].text


def test_lists_that_share_their_entries_are_refused() -> None:
    lists = b"".join(entry_4(number, number + 1, b"\x30\x9f" * 20) for number in range(400))
    writer = ElfWriter(machine=182)
    writer.add(".debug_loc", lists + bytes(16))
    sections = DebugSections(read_elf(writer.build(), format="kernel-debug-elf"))
    reader = LocationLists(sections)

    def read_all() -> list[int]:
        return [len(reader.read(0x17, 0, Encoding(8, 4, 4), None, 0, lambda index: index)) for _ in range(50)]

    with pytest.raises(FormatError, match="shared by so many variables"):
        read_all()


@pytest.mark.parametrize("lists", [LIST_4[:-20], LIST_4[:30], b"\xff"])
def test_a_list_that_is_cut(lists: bytes) -> None:
    with pytest.raises(FormatError, match=r"location list ends without its end|reaches beyond"):
        read(4, lists, ".debug_loc")


def test_entries_ascend_in_the_examples() -> None:
    variables = read(5, LIST_5, ".debug_loclists")
    assert all(first.high <= second.low for first, second in pairwise(variables["a"].locations))
