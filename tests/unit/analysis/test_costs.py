"""What kernels and their lines cost: kinds of instructions, and sums over them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from kernlens.analysis.costs import costliest_lines, costs_of
from kernlens.isa.intel.device_table import XE_HPG
from kernlens.isa.intel.instruction_kinds import classifier
from kernlens.model.figures import COSTS, LINE_ORDERS
from kernlens.model.instruction_kind import Access, InstructionKind
from kernlens.model.intel_instructions import SEND, IntelInstructions
from kernlens.model.line_table import IS_STMT, LineTable, SourceFile
from kernlens.model.source_map import NO_ROW, PROLOGUE, SourceMap
from tests.limits import memory, processor_time
from tests.writers.instruction_records import DIRECT, Operand, record

MNEMONICS = ("", "mov", "add", "goto", "send", "math", "dpas", "sync", "nop", "cmp")
MOV, ADD, GOTO, SENT, MATH, DPAS, SYNC, NOP, CMP = range(1, 10)
UNIFORM_LOAD = 3 << 7 | 2 << 9 | 3 << 12 | 1 << 15
UGM, DC0, GATEWAY = 15, 10, 3
IMMEDIATES = 0b0101
NO_LENGTHS = 0x7FFF


def typed(number: int, kind: int = DIRECT) -> Operand:
    return (1, 0, kind, 18, number)


FLOAT, DWORD = typed(20), typed(11)


def instructions(*records: bytes) -> IntelInstructions:
    return IntelInstructions(b"".join(records), MNEMONICS, list, classify=classifier(MNEMONICS, XE_HPG))


def message(sfid: int, descriptor: int, *, descriptor_flags: int = IMMEDIATES) -> bytes:
    return record(
        opcode=SENT, flags=SEND, sfid=sfid, descriptor=descriptor, descriptor_flags=descriptor_flags, execution_size=16,
        lengths=NO_LENGTHS,
    )  # fmt: skip


SPILL = message(DC0, 1 << 18 | 1 << 17 | 2 << 12)
FILL = message(DC0, 1 << 18 | 1 << 12)
LOAD = message(UGM, UNIFORM_LOAD)
ATOMIC = message(UGM, 3 << 7 | 2 << 9 | 0x0C)
BARRIER = message(GATEWAY, 4)
UNKNOWN = message(UGM, 0, descriptor_flags=0b0110)


def test_the_instruction_mix() -> None:
    result = instructions(
        record(opcode=MOV, destination=FLOAT, sources=(DWORD,)),
        record(opcode=ADD, destination=FLOAT, sources=(FLOAT, FLOAT)),
        record(opcode=ADD, destination=DWORD, sources=(DWORD, DWORD)),
        record(opcode=CMP, destination=DWORD, sources=(FLOAT, DWORD)),
        record(opcode=GOTO),
        record(opcode=MATH, destination=FLOAT),
        record(opcode=DPAS, destination=FLOAT),
        record(opcode=SYNC),
        record(opcode=NOP),
    )
    names = ["move", "float", "integer", "float", "control", "math", "systolic", "synchronisation", "other"]
    assert [kind.name for kind in result.kinds] == names
    assert result[2].kind == InstructionKind("integer")
    assert [kind.name for kind in result[4:6].kinds] == ["control", "math"]


def test_messages_have_an_access() -> None:
    (kind,) = instructions(LOAD).kinds
    assert kind == InstructionKind("global", Access("load", "load", 4, 4, 1, "flat", 16))


def nonzero(costs: dict[str, int]) -> dict[str, int]:
    return {key: value for key, value in costs.items() if value}


def test_a_prefetch_is_no_load_and_has_no_bytes() -> None:
    kinds = [InstructionKind("global", Access("load", "prefetch", 4, 16, 1, "flat", size)) for size in (64, None)]
    assert nonzero(costs_of(kinds)) == {"instructions": 2, "sends": 2, "global_prefetches": 2}


def test_costs_of_messages() -> None:
    costs = costs_of(instructions(SPILL, SPILL, FILL, LOAD, ATOMIC, BARRIER, UNKNOWN).kinds)
    assert nonzero(costs) == {
        "instructions": 7,
        "sends": 7,
        "synchronisation_instructions": 1,
        "other_instructions": 1,
        "dynamic_messages": 1,
        "global_loads": 1,
        "global_atomics": 1,
        "global_load_bytes": 16 + 64,
        "global_store_bytes": 64,
        "scratch_stores": 2,
        "scratch_loads": 1,
        "scratch_store_bytes": 256,
        "scratch_load_bytes": 64,
        "spill_stores": 2,
        "fill_loads": 1,
        "spill_store_bytes": 256,
        "spill_load_bytes": 64,
    }
    assert list(costs) == ["instructions", *(figure.key for figure in COSTS)]


def source_map(row_of: list[int], lines: Sequence[int] = (7, 9)) -> SourceMap:
    count = len(lines)
    table = LineTable(
        files=(SourceFile("a.cl"),),
        offsets=array("I", range(0, 16 * count, 16)),
        files_of=array("I", [0] * count),
        lines=array("I", lines),
        columns=array("I", [1] * count),
        flags=array("B", [IS_STMT] * count),
    )
    return SourceMap(table, [16 * index for index in range(len(row_of))], array("i", row_of), prologue=1)


def test_the_costs_of_lines_the_prologue_and_the_rest_are_the_kernels() -> None:
    add = record(opcode=ADD, destination=FLOAT, sources=(FLOAT, FLOAT))
    result = instructions(LOAD, add, SPILL, add, FILL, add)
    joined = source_map([PROLOGUE, 0, 1, 0, 1, NO_ROW])
    by_line = costliest_lines(result.kinds, joined, LINE_ORDERS["instructions"], 9)
    assert [(entry.path, entry.line) for entry in by_line.lines] == [("a.cl", 7), ("a.cl", 9)]
    assert (by_line.other_line_count, nonzero(by_line.other_lines)) == (0, {})
    seven, nine = (line.costs for line in by_line.lines)
    assert (seven["float_instructions"], seven["sends"], seven["instructions"]) == (2, 0, 2)
    assert (nine["spill_stores"], nine["fill_loads"], nine["spill_load_bytes"]) == (1, 1, 64)
    assert by_line.prologue["global_load_bytes"] == 16
    assert nonzero(by_line.without_line) == {"instructions": 1, "float_instructions": 1}
    total = costs_of(result.kinds)
    parts = [seven, nine, by_line.prologue, by_line.without_line]
    assert {key: sum(part[key] for part in parts) for key in total} == total
    by_memory = costliest_lines(result.kinds, joined, LINE_ORDERS["memory"], 9)
    assert [line.line for line in by_memory.lines] == [9]
    assert (by_memory.other_line_count, by_memory.other_lines) == (1, seven)


def test_lines_that_are_not_listed_take_no_memory() -> None:
    """Figures of a line are some kilobytes, and honest files have hundreds of thousands of lines."""
    count = 5_000
    kinds = [InstructionKind("math")] * count
    joined = source_map(list(range(count)), range(1, count + 1))
    with memory(7 << 20), processor_time():
        costliest = costliest_lines(kinds, joined, LINE_ORDERS["math"], 3)
    assert [line.line for line in costliest.lines] == [1, 2, 3]
    assert (costliest.other_line_count, costliest.other_lines["math_instructions"]) == (count - 3, count - 3)
