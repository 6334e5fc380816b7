"""The annotated listing, line by line, of a kernel that is written out here."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Mapping
from dataclasses import replace

import pytest

from kernlens.analysis.correlate import correlate, functions_of
from kernlens.analysis.costs import costs_of
from kernlens.analysis.flow.loops import loops_of
from kernlens.analysis.flow.register_peak import pressure_of
from kernlens.analysis.flow.register_uses import register_links, register_rows
from kernlens.cli.answers.costliest import costliest_kernel, costliest_table
from kernlens.cli.answers.overview import program_overview
from kernlens.cli.answers.rows import HEADING, csv_lines
from kernlens.model.binary import EMPTY
from kernlens.model.build import Build, Source
from kernlens.model.code_function import CodeFunction
from kernlens.model.compiler import UNKNOWN_COMPILER, Compiler
from kernlens.model.intel_instructions import IntelInstructions
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.kernel import Kernel, KernelArgument
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.launch_limits import LaunchLimits
from kernlens.model.line_choice import LineChoice
from kernlens.model.line_table import DebugFunction, InlinedCall, LineTable, SourceFile
from kernlens.model.loop_nest import Loops
from kernlens.model.pressure import Pressure
from kernlens.model.program import Kernels, Program
from kernlens.model.register_links import RegisterLinks, RegisterRows
from kernlens.model.source_map import SourceMap, SourcePlace
from kernlens.model.spilled_value import SpilledValue
from kernlens.model.variable import StatedRange, Variable
from kernlens.model.waits import READ, TAKEN, WRITTEN, Wait, Waits
from kernlens.report.listing import CHANGED_BY_DEBUG, GAP, annotated, disassembly, where_from
from kernlens.report.program_document import kernel_json
from kernlens.report.style import rendered
from tests.explore_reader import Page
from tests.writers.documents import annotate_document, report_page
from tests.writers.instruction_records import record

SOURCE = "\n".join(f"line {number}" for number in range(1, 60))


class Parts:
    """Five instructions of 16 bytes; lines 10, 11, 10 again, 40, and one without a line."""

    def __init__(self, has_lines: bool = True, has_waits: bool = True) -> None:
        self.has_lines = has_lines
        self.has_waits = has_waits

    def code(self) -> memoryview:
        return memoryview(bytes(80))

    def launch_limits(self, kernel: Kernel) -> LaunchLimits:
        return LaunchLimits()

    def heap(self) -> memoryview:
        return EMPTY

    def resources(self) -> KernelResources:
        return KernelResources(simd=16, register_files={"GRF": 128}, spill_bytes=0, prologue_bytes=16)

    def arguments(self) -> tuple[KernelArgument, ...]:
        return ()

    def compiler(self) -> Compiler:
        return UNKNOWN_COMPILER

    def instructions(self) -> IntelInstructions:
        records = b"".join(record(offset=index * 16) for index in range(5))
        return IntelInstructions(records, ["mov"], lambda: [f"  mov r{index}  " for index in range(5)])

    def line_table_reason(self, kernel: Kernel) -> str | None:
        return None if self.has_lines else "built without debug data"

    def code_change(self, kernel: Kernel) -> str | None:
        return None

    def line_table(self) -> LineTable:
        calls = (
            InlinedCall("inner", 32, 48, call_file=1, call_line=40, call_column=3),
            InlinedCall("without_lines", 64, 80, call_file=1, call_line=12, call_column=5),
        )
        return LineTable(
            files=(SourceFile(""), SourceFile("a.cl")),
            offsets=array("I", (0, 16, 32, 48, 64, 80)),
            files_of=array("I", (1,) * 6),
            lines=array("I", (10, 11, 10, 40, 0, 0)),
            columns=array("I", (1, 2, 3, 4, 0, 0)),
            flags=bytes((1, 0, 0, 0, 0, 2)),
            find_inlined=lambda: calls,
        )

    def source_map(self, kernel: Kernel) -> SourceMap | None:
        table = kernel.line_table
        return correlate(kernel.instructions.offsets, table, prologue=1) if table else None

    def function_symbols(self) -> Mapping[int, str | None] | None:
        return None

    def is_entry(self) -> bool:
        return True

    def may_call(self) -> bool:
        return False

    may_call_by_address = is_decoded_with_others = lines_need_instructions = may_call

    def instruction_count(self, kernel: Kernel) -> int:
        return len(kernel.instructions)

    def trailer(self) -> None:
        return None

    def operations(self, kernel: Kernel) -> bytes:
        return bytes(len(kernel.instructions))

    def advice_reason(self) -> str | None:
        return None

    def functions(self, kernel: Kernel) -> tuple[CodeFunction, ...]:
        return ()

    def costs(self, kernel: Kernel) -> Mapping[str, int]:
        return costs_of(kernel.instructions.kinds)

    def pressure(self, kernel: Kernel) -> Pressure | None:
        return pressure_of(kernel.instructions)

    def loops(self, kernel: Kernel) -> Loops | None:
        return loops_of(kernel.instructions)

    def waits(self, kernel: Kernel) -> Waits | None:
        """Row 1 waits for row 0, of the prologue, and row 4 for row 1."""
        waits = {1: Wait(1, 0, 30, WRITTEN), 3: Wait(3, 1, 100, READ), 4: Wait(4, 1, 7, TAKEN)}
        return Waits(array("I", [0, 31, 32, 133, 141]), bytes([1, 1, 1, 1, 2]), waits, [0], 6, 137)

    def waits_reason(self, kernel: Kernel) -> str | None:
        return None if self.has_waits else "waits are unknown on Gen9"

    def simulates_waits(self) -> bool:
        return False

    def spilled_values(self, kernel: Kernel) -> tuple[SpilledValue, ...] | None:
        return None

    def register_rows(self, kernel: Kernel) -> dict[int, RegisterRows]:
        return register_rows(kernel.instructions)

    def page(self, kernel: Kernel) -> str | None:
        return None

    def register_links(self, kernel: Kernel, index: int) -> RegisterLinks:
        return register_links(kernel.instructions, index)

    def variables_reason(self, kernel: Kernel) -> str | None:
        return "these tests have no variables"

    def variable_ranges(self, kernel: Kernel, variable: Variable) -> tuple[StatedRange, ...]:
        return ()


def listed_program(has_lines: bool = True) -> tuple[Program, Kernel]:
    kernel = Kernel("k", Parts(has_lines))
    return Program("p", "raw", Kernels({"k": kernel}), find_sources=lambda: (Source("a.cl", SOURCE),)), kernel


def listing(only: LineChoice | None = None, has_lines: bool = True) -> list[str]:
    return [rendered(line) for line in annotated(*listed_program(has_lines), only)]


def test_the_whole_listing() -> None:
    assert listing() == [
        "k  p on no device yet",
        "  SIMD16, 128 GRFs available, no spill, 5 instructions in 80 bytes",
        "",
        "  a.cl",
        "    line instr      % | instructions from the line, and % of the kernel's instructions",
        "       8              | line 8",
        "       9              | line 9",
        "      10     1  20.0% | line 10",
        "             0x0020    mov r2  ; inlined at 40",
        "      11     1  20.0% | line 11",
        "             0x0010    mov r1",
        "     ...              28 lines without code",
        "      40     1  20.0% | line 40",
        "             0x0030    mov r3",
        "",
        "  prologue, 1 instruction (20.0%): loads the kernel's arguments and sets the thread up",
        "             0x0000    mov r0",
        "",
        "  1 instruction (20.0%) without a source line:",
        "             0x0040    mov r4  ; inlined at a.cl:12",
        "",
    ]
    assert GAP < 28


def test_code_that_is_scheduled_elsewhere_begins_with_three_dots() -> None:
    class OutsideOfPrologue(Parts):
        def source_map(self, kernel: Kernel) -> SourceMap | None:
            return correlate(kernel.instructions.offsets, super().line_table(), prologue=0)

    kernel = Kernel("k", OutsideOfPrologue())
    lines = [
        rendered(line)
        for line in annotated(Program("p", "raw", Kernels({"k": kernel})), kernel, LineChoice("a.cl", 10))
    ]
    start = next(index for index, line in enumerate(lines) if "10     2  40.0%" in line)
    assert lines[start + 1 : start + 3] == [
        "             0x0000    mov r0",
        "         ... 0x0020    mov r2  ; inlined at 40",
    ]
    assert not [line for line in lines if line.strip() == "..."]


@pytest.mark.parametrize(
    ("path", "remedy"), [("a.cl", "--source-root DIR says where to look"), ("3", "--source FILE gives it")]
)
def test_a_text_that_is_not_found_is_told_with_what_gives_it(path: str, remedy: str) -> None:
    """The compiler calls a source that has no name ``3``: no folder has that."""

    class OfOneFile(Parts):
        def line_table(self) -> LineTable:
            return replace(super().line_table(), files=(SourceFile(""), SourceFile(path)))

    kernel = Kernel("k", OfOneFile())
    program = Program("p", "raw", Kernels({"k": kernel}), find_sources=lambda: ())
    assert f"  {path}  (source text not found; {remedy})" in map(rendered, annotated(program, kernel))


def test_each_instruction_is_written_once_however_many_files_there_are() -> None:
    class OfTwoFiles(Parts):
        def line_table(self) -> LineTable:
            files = (SourceFile(""), SourceFile("a.cl"), SourceFile("b.cl"))
            return replace(super().line_table(), files=files, files_of=array("I", (1, 2, 1, 2, 1, 1)))

    lines = annotated(Program("p", "raw", Kernels({})), Kernel("k", OfTwoFiles()))
    assert any("b.cl" in line for line in lines)
    assert any("inlined at a.cl:40" in line for line in lines) or any("inlined at 40" in line for line in lines)
    written = [line for line in lines if "mov r" in line]
    assert sorted(re.findall("0x[0-9a-f]{4}", "".join(written))) == ["0x0000", "0x0010", "0x0020", "0x0030", "0x0040"]


def test_one_line_of_a_file_named_by_its_end() -> None:
    only = [line for line in listing(LineChoice(None, 11)) if "mov" in line]
    assert only == ["             0x0010    mov r1"]
    assert listing(LineChoice("b.cl", 11)) == []


def test_without_a_line_table_the_reason_and_the_instructions() -> None:
    lines = listing(has_lines=False)
    assert lines[0] == "No source lines for k: built without debug data"
    assert sum("mov" in line for line in lines) == 5


def test_csv_has_a_row_for_every_instruction() -> None:
    program, kernel = listed_program()
    rows = [HEADING, *csv_lines(program, kernel)]
    assert rows[0] == "program,device,kernel,offset,size,opcode,text,path,line,column,line_origin"
    assert rows[1] == "p,,k,0,16,mov,  mov r0  ,,,,prologue"
    assert rows[2] == "p,,k,16,16,mov,  mov r1  ,a.cl,11,2,table"
    assert rows[5] == "p,,k,64,16,mov,  mov r4  ,,,,none"


def test_json_says_null_where_nothing_is_known() -> None:
    program, kernel = listed_program()
    document = annotate_document([(program, [kernel])])
    instructions = document["programs"][0]["kernels"][0]["instructions"]
    assert instructions[2]["inlined_at"] == [{"path": "a.cl", "line": 40, "column": 3}]
    assert [instructions[4][key] for key in ("path", "line", "column")] == [None, None, None]
    assert instructions[0]["line_origin"] == "prologue"
    assert [instruction["line_origin"] for instruction in instructions[1:]] == ["table", "table", "table", "none"]
    assert document["programs"][0]["kernels"][0]["slm_bytes"] is None


def test_a_call_is_known_where_the_line_within_it_is_not() -> None:
    """A row of line 0 in a function that was inlined: where it was called from is known all the same."""
    program, kernel = listed_program()
    (document,) = annotate_document([(program, [kernel])])["programs"]
    last = document["kernels"][0]["instructions"][4]
    assert last["line"] is None
    assert last["inlined_at"] == [{"path": "a.cl", "line": 12, "column": 5}]


class LostParts(Parts):
    """The same with a function behind the third instruction, and the rows of the kernel itself lost."""

    def is_entry(self) -> bool:
        return True

    def may_call(self) -> bool:
        return True

    def source_map(self, kernel: Kernel) -> SourceMap | None:
        table = kernel.line_table
        return correlate(kernel.instructions.offsets, table, prologue=1, functions=kernel.functions) if table else None

    def functions(self, kernel: Kernel) -> tuple[CodeFunction, ...]:
        return functions_of(kernel.instructions.offsets, kernel.code_size, (48,), stated=self.line_table().functions)

    def line_table(self) -> LineTable:
        table = super().line_table()
        functions = DebugFunction("k", 0), DebugFunction("callee", 16)
        return replace(table, columns=array("I", (1, 0, 3, 4, 0, 0)), find_functions=lambda: functions)


def test_code_that_debug_data_may_have_changed_is_said_to_be() -> None:
    kernel = listed_program()[1]
    for format_name, options, is_said in (
        ("patch-tokens", "-cl-mad-enable -g", True),
        ("patch-tokens", "-gline-tables-only", False),
        ("zebin", "-g", False),
    ):
        program = Program("p", format_name, Kernels({"k": kernel}), Build("", options=options))
        assert (f"  {CHANGED_BY_DEBUG}" in map(rendered, annotated(program, kernel))) == is_said


def test_functions_in_a_kernels_code_are_named_in_every_form() -> None:
    program, kernel = listed_program()
    functions = functions_of(kernel.instructions.offsets, kernel.code_size, (48,), {0: "k", 32: "_Z5twicef"})
    kernel.functions = functions
    twice, unnamed = "twice(float) (0x0020, 1 instruction)", "function at 0x0030 (0x0030, 2 instructions)"
    heading = f"  its code holds 2 functions: {twice}, {unnamed}"
    assert [rendered(line)[:22].split("  mov")[0].rstrip() for line in disassembly(program, kernel)[3:]] == [
        *["", "  0x0000", "  0x0010", "", "  twice(float):", "  0x0020"],
        *["", "  function at 0x0030:", "  0x0030", "  0x0040", ""],
    ]
    assert rendered(annotated(program, kernel)[2]) == heading
    document = json.loads(kernel_json(kernel, is_placed=False))
    assert document["functions"] == [
        {"name": "k", "offset": 0, "size": 32},
        {"name": "_Z5twicef", "offset": 32, "size": 16},
        {"name": None, "offset": 48, "size": 32},
    ]
    (costliest,) = [json.loads(costliest_kernel(program, kernel, 3, "instructions"))]
    assert [function["costs"]["instructions"] for function in costliest["functions"]] == [2, 1, 2]
    table = [rendered(line).split() for line in costliest_table(program, kernel, 3, "instructions")]
    assert ["twice(float)", "1", "20.00"] in [row[:3] for row in table]
    assert ["function", "at", "0x0030", "2", "40.00"] in [row[:5] for row in table]


def test_what_the_compiler_lost_is_said_in_every_form() -> None:
    kernel = Kernel("k", LostParts())
    program = Program("p", "raw", Kernels({"k": kernel}), find_sources=lambda: (Source("a.cl", SOURCE),))
    warning = str(kernel.line_warning)
    assert "lost line rows" in warning
    assert "2 in k" in warning
    text = [rendered(line) for line in annotated(program, kernel)]
    assert f"  {warning}" in text
    assert "  2 instructions (40.0%) of k whose line rows the compiler lost:" in text
    assert where_from(kernel, 1) == "no source line: the compiler lost the line rows of k here"
    assert where_from(kernel, 0).startswith("prologue")
    assert where_from(kernel, 3) == "a.cl:40:4 (or of no line: the line table does not tell)"
    (document,) = annotate_document([(program, [kernel])])["programs"]
    shown = document["kernels"][0]
    assert shown["line_warning"] == warning
    assert shown["functions"] == [{"name": "k", "offset": 0, "size": 48}, {"name": "callee", "offset": 48, "size": 32}]
    assert [instruction["line_origin"] for instruction in shown["instructions"]] == [
        "prologue",
        "lost",
        "lost",
        "uncertain",
        "none",
    ]
    overview = [rendered(line) for line in program_overview(program)]
    assert f"  lines of k: {warning}" in overview
    assert any(line.endswith("in part") for line in overview)
    index = Page(report_page(program))
    (chunk,) = index.index["programs"][0]["kernels"]["chunk"]
    assert index.chunk(chunk)["warning"] == warning


def test_functions_without_a_kernel_are_in_no_table() -> None:
    program = Program("p", "zebin", Kernels({PSEUDO_KERNEL: Kernel(PSEUDO_KERNEL, Parts(has_lines=False))}))
    overview = [rendered(line) for line in program_overview(program)]
    assert overview[1:] == ["  functions that are no kernels: 80 bytes of code"]
    assert list(annotated(program, program.kernels[PSEUDO_KERNEL], LineChoice(None, 10))) == []


def test_a_line_choice_takes_whole_path_components() -> None:
    assert LineChoice("a.cl", 1).holds(SourcePlace("x/a.cl", 1))
    assert not LineChoice("a.cl", 1).holds(SourcePlace("x/ba.cl", 1))
    assert not LineChoice("a.cl", 1).holds(SourcePlace("a.cl", 2))
    assert not LineChoice(None, 1).holds(None)
