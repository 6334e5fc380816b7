"""What the kept stages of a compile say of each instruction: numbers of vISA instructions between three small texts."""

from __future__ import annotations

from array import array

from kernlens.analysis.correlate import correlate, functions_of
from kernlens.formats.listings.gen_assembly import read_visa_numbers
from kernlens.loading.stage_maps import Beside
from kernlens.loading.stated_places import with_stated_places
from kernlens.model.intel_instructions import COMPACTED, IntelInstructions
from kernlens.model.line_table import END_SEQUENCE, DebugFunction, LineTable, SourceFile
from kernlens.model.source_map import SourceMap, SourcePlace, StatedPlace
from kernlens.model.stage import Snapshot
from tests.writers.instruction_records import record

CODEGEN = """\
define spir_kernel void @k(i32 %n) !dbg !30 {
  call void @llvm.genx.GenISA.CatchAllDebugLine(), !dbg !31
  %a = add i32 %n, 1, !dbg !32
  %b = call i32 @f(i32 %a), !dbg !33
  br label %next, !dbg !32
  %c = zext i32 %b to i64
  ret void, !dbg !31
}
define internal i32 @f(i32 %n) !dbg !35 {
  %a = mul i32 %n, %n, !dbg !36
  ret i32 %a, !dbg !36
}
!1 = !DIFile(filename: "k.cl", directory: "/src")
!30 = distinct !DISubprogram(name: "k", file: !1)
!31 = !DILocation(line: 5, column: 1, scope: !30)
!32 = !DILocation(line: 6, column: 2, scope: !30)
!33 = !DILocation(line: 7, column: 3, scope: !30, inlinedAt: !34)
!34 = distinct !DILocation(line: 9, column: 4, scope: !30)
!35 = distinct !DISubprogram(name: "f", file: !1)
!36 = !DILocation(line: 2, column: 5, scope: !35)
"""
NUMBERS = {"Line()": 4, "%a = add": 5, "%b = ": 6, "br": 12, "%c": 13, "ret void": 14, "%a = mul": 20, "ret i32": 21}
VISA_LLVM = "\n".join(
    line + next((f"\t\t; visa id: {number}" for start, number in NUMBERS.items() if start in line), "")
    for line in CODEGEN.partition("!1 =")[0].splitlines()
)
#: Of each instruction: its number, or that of nothing.
OF_KERNEL = (4, 5, 6, 9, 12, 13, 14, None, 21)
ASSEMBLY = "//.kernel k\n_main:\n" + "".join(
    f"        mov (8|M0)  r1.0<1>:ud  r2.0:ud  {{Compacted,$3.dst}}  // wr:1 ${number}\n"
    if number
    else "        nop // \n"
    for number in (*OF_KERNEL, 20, 21)
)


def snapshot(stage: str, text: str, kernel: str | None) -> Snapshot:
    return Snapshot(stage, kernel, "text", ".txt", text.encode)


def stated(assembly: str = ASSEMBLY) -> SourceMap:
    count = len(OF_KERNEL) + 2
    compacted = [number is not None for number in (*OF_KERNEL, 20, 21)]
    records = b"".join(
        record(offset=16 * index, flags=COMPACTED if is_compacted else 0)
        for index, is_compacted in enumerate(compacted)
    )
    instructions = IntelInstructions(records, ["mov"], lambda: ["mov"] * count)
    table = LineTable(
        files=(SourceFile(""), SourceFile("k.cl")),
        offsets=array("I", (0, 16 * count)),
        files_of=array("I", (1, 1)),
        lines=array("I", (5, 5)),
        columns=array("I", (0, 0)),
        flags=bytes((1, END_SEQUENCE)),
        directory="/src",
        find_functions=lambda: (DebugFunction("k", 0), DebugFunction("f", 16 * len(OF_KERNEL))),
    )
    functions = functions_of(instructions.offsets, 16 * count, (16 * len(OF_KERNEL),), stated=table.functions)
    joined = correlate(instructions.offsets, table, functions=functions)
    beside = Beside(
        [
            snapshot("gen-assembly", assembly, "k"),
            snapshot("visa-llvm-map", VISA_LLVM, "k"),
            snapshot("llvm-codegen", CODEGEN, None),
        ]
    )
    return with_stated_places(joined, "k", instructions, beside)


def test_each_instruction_has_the_place_of_its_llvm_instruction() -> None:
    six, seven, five = (SourcePlace("k.cl", line, column) for line, column in ((6, 2), (7, 3), (5, 1)))
    call = SourcePlace("k.cl", 9, 4)
    assert list(stated().stated) == [
        StatedPlace(None),  # a mark of the kernel's first line, no instruction's place
        StatedPlace(six),
        StatedPlace(seven, (call,)),
        None,  # between the call and a branch: of either
        StatedPlace(six),
        StatedPlace(None),  # the compiler gives it none
        StatedPlace(five),
        None,
        None,  # the end of thread has the last number of all, which is another function's
        StatedPlace(SourcePlace("k.cl", 2, 5)),
        StatedPlace(SourcePlace("k.cl", 2, 5)),
    ]


def test_a_listing_of_other_code_says_nothing() -> None:
    assert stated(ASSEMBLY.replace("Compacted,", "", 1)).stated == ()


def test_numbers_stand_in_the_comment() -> None:
    lines = ("(W)  send.dc0 r1 r127 {A@1,$0} // wr:1h+0; read x4 // $363", "  add {Compacted,$0.src} // ALU; $4", "L8:")
    assert read_visa_numbers("\n".join(lines)) == [(363, False), (4, True)]
