"""The annotated listing, line by line, of a kernel that is written out here."""

from __future__ import annotations

from array import array

from kernlens.analysis.correlate import correlate
from kernlens.model.binary import EMPTY
from kernlens.model.build import Source
from kernlens.model.figures import KernelResources
from kernlens.model.instruction import Instructions
from kernlens.model.kernel import Kernel, KernelArgument
from kernlens.model.line_choice import LineChoice
from kernlens.model.line_table import InlinedCall, LineTable, SourceFile
from kernlens.model.program import Program
from kernlens.model.source_map import SourceMap, SourcePlace
from kernlens.report.document import annotate_document
from kernlens.report.listing import GAP, annotated
from kernlens.report.rows import csv_lines
from kernlens.report.style import rendered
from tests.writers.instruction_records import record

SOURCE = "\n".join(f"line {number}" for number in range(1, 60))


class Parts:
    """Five instructions of 16 bytes; lines 10, 11, 10 again, 40, and one without a line."""

    def __init__(self, has_lines: bool = True) -> None:
        self.has_lines = has_lines

    def code(self) -> memoryview:
        return memoryview(bytes(80))

    def heap(self) -> memoryview:
        return EMPTY

    def resources(self) -> KernelResources:
        return KernelResources(simd=16, registers=128, spill_bytes=0, prologue_bytes=16)

    def arguments(self) -> tuple[KernelArgument, ...]:
        return ()

    def instructions(self) -> Instructions:
        records = b"".join(record(offset=index * 16) for index in range(5))
        return Instructions(records, ["mov"], lambda: [f"  mov r{index}  " for index in range(5)])

    def line_table_reason(self) -> str | None:
        return None if self.has_lines else "built without debug data"

    def line_table(self) -> LineTable:
        call = InlinedCall("inner", 32, 48, call_file=1, call_line=40, call_column=3)
        return LineTable(
            files=(SourceFile(""), SourceFile("a.cl")),
            offsets=array("I", (0, 16, 32, 48, 64, 80)),
            files_of=array("I", (1,) * 6),
            lines=array("I", (10, 11, 10, 40, 0, 0)),
            columns=array("I", (1, 2, 3, 4, 0, 0)),
            flags=bytes((1, 0, 0, 0, 0, 2)),
            find_inlined=lambda: (call,),
        )

    def source_map(self, kernel: Kernel) -> SourceMap | None:
        table = kernel.line_table
        return correlate(kernel.instructions.offsets, table, kernel.resources.prologue_bytes) if table else None


def made(has_lines: bool = True) -> tuple[Program, Kernel]:
    kernel = Kernel("k", Parts(has_lines))
    return Program("p", "raw", {"k": kernel}, find_sources=lambda: (Source("a.cl", SOURCE),)), kernel


def listing(only: LineChoice | None = None, has_lines: bool = True) -> list[str]:
    return [rendered(line) for line in annotated(*made(has_lines), only)]


def test_the_whole_listing() -> None:
    assert listing() == [
        "k  p on no device yet",
        "  SIMD16, 128 registers, no spill, 5 instructions in 80 bytes",
        "",
        "  a.cl",
        "       8              | line 8",
        "       9              | line 9",
        "      10     2  40.0% | line 10",
        "             0x0000    mov r0  ; prologue",
        "                     ...",
        "             0x0020    mov r2  ; inlined at 40",
        "      11     1  20.0% | line 11",
        "             0x0010    mov r1",
        "     ...              28 lines without code",
        "      40     1  20.0% | line 40",
        "             0x0030    mov r3",
        "",
        "  1 instruction without a source line:",
        "             0x0040    mov r4",
        "",
    ]
    assert GAP < 28


def test_one_line_of_a_file_named_by_its_end() -> None:
    only = [line for line in listing(LineChoice(None, 11)) if "mov" in line]
    assert only == ["             0x0010    mov r1"]
    assert listing(LineChoice("b.cl", 11)) == []


def test_without_a_line_table_the_reason_and_the_instructions() -> None:
    lines = listing(has_lines=False)
    assert lines[0] == "No source lines for k: built without debug data"
    assert sum("mov" in line for line in lines) == 5


def test_csv_has_a_row_for_every_instruction() -> None:
    program, kernel = made()
    rows = list(csv_lines([(program, [kernel])]))
    assert rows[0] == "program,device,kernel,offset,size,opcode,text,path,line,column"
    assert rows[1] == "p,,k,0,16,mov,  mov r0  ,a.cl,10,1"
    assert rows[5] == "p,,k,64,16,mov,  mov r4  ,,,"


def test_json_says_null_where_nothing_is_known() -> None:
    program, kernel = made()
    document = annotate_document([(program, [kernel])])
    instructions = document["programs"][0]["kernels"][0]["instructions"]
    assert instructions[2]["inlined_at"] == [{"path": "a.cl", "line": 40, "column": 3}]
    assert [instructions[4][key] for key in ("path", "line", "column", "inlined_at")] == [None, None, None, []]
    assert document["programs"][0]["kernels"][0]["slm_bytes"] is None


def test_a_line_choice_takes_whole_path_components() -> None:
    assert LineChoice("a.cl", 1).holds(SourcePlace("x/a.cl", 1))
    assert not LineChoice("a.cl", 1).holds(SourcePlace("x/ba.cl", 1))
    assert not LineChoice("a.cl", 1).holds(SourcePlace("a.cl", 2))
    assert not LineChoice(None, 1).holds(None)
