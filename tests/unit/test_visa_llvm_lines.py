"""``.visa.ll``: locations whose numbers stand in the file, and whose meaning stands in other stages."""

from __future__ import annotations

from kernlens.formats.visa_llvm_lines import CodegenFunctions, read_visa_llvm_lines
from kernlens.loading.stage_maps import stage_maps
from kernlens.model.source_map import SourcePlace
from kernlens.model.stage import Snapshot

NODES = """
!1 = !DIFile(filename: "k.cl", directory: "/src")
!30 = distinct !DISubprogram(name: "k", file: !1)
!31 = !DILocation(line: 5, column: 2, scope: !30)
!32 = !DILocation(line: 6, column: 3, scope: !30, inlinedAt: !33)
!33 = distinct !DILocation(line: 9, column: 1, scope: !30)
!34 = !DILocation(line: 0, scope: !30)
"""
CODEGEN = """\
define spir_kernel void @other() {
  ret void, !dbg !31
}
define spir_kernel void @k(i32 %n) #4 !dbg !30 {
entry:
  %a = add i32 %n, 1, !dbg !31
  %b = call i32 @f(i32 %a) #7, !dbg !32, !stats !40
  %c = zext i32 %b to i64
  %d = add i64 %c, 1, !dbg !34
  %e = add i64 %d, 1, !dbg !32
  ret void, !dbg !31
}
"""
SHOWN = """\
; OCL_asm0_simd8_entry_0001.visa.ll
define spir_kernel void @k(i32 %n) #0 !dbg !20 {
entry:
; BB0 :
  %a = add i32 %n, 1, !dbg !22\t\t; visa id: 3
  %b = call i32 @f(i32 %a) #1, !dbg !23, !stats !29\t\t; visa id: 4
  %c = zext i32 %b to i64\t\t; visa id: 7
  %d = add i64 %c, 1, !dbg !24\t\t; visa id: 7
  %e = add i64 %d, 1, !dbg !23
  ret void, !dbg !22\t\t; visa id: 9
}
"""
FIVE, SIX = SourcePlace("/src/k.cl", 5, 2), SourcePlace("/src/k.cl", 6, 3)
#: Line 7 marks what vISA instruction 7 belongs to: %d, which has none in the code generator's IR.
VISA = """\
.kernel "k"
FILE "/src/k.cl"
LOC 5
    add (M1, 8) V1 V2 0x1:d   /// $3
LOC 6
    mov (M1, 8) V1 V2    /// $5
    call (M1, 8) f       /// $6
LOC 7
    mov (M1, 8) V3 V4    /// $7
LOC 5
    ret (M1, 1)          /// $9
"""


def test_the_same_function_in_the_code_generators_ir_has_the_places() -> None:
    rows = read_visa_llvm_lines(SHOWN, CodegenFunctions(CODEGEN + NODES), VISA)
    assert rows.lines == [5, 6, 7, 8, 9, 10]
    assert set(rows.functions) == {"k"}
    assert rows.places == [FIVE, SIX, None, None, SIX, FIVE]
    assert rows.calls == [(), (SourcePlace("/src/k.cl", 9, 1),), (), (), (SourcePlace("/src/k.cl", 9, 1),), ()]


def bare(line: int) -> SourcePlace:
    return SourcePlace("/src/k.cl", line)


def test_another_function_is_not_taken_and_the_visa_has_the_lines() -> None:
    expected = [bare(5), bare(6), None, bare(7), bare(6), bare(5)]
    others = (
        None,
        CodegenFunctions(""),
        CodegenFunctions(CODEGEN.replace("%c = zext", "%c = sext") + NODES),
        CodegenFunctions(
            CODEGEN.replace("  ret void, !dbg !31\n}\ndefine spir_kernel void @k", "}\ndefine void @k") + NODES
        ),
        # One number here would be two there, or two here one there.
        CodegenFunctions(CODEGEN.replace("%e = add i64 %d, 1, !dbg !32", "%e = add i64 %d, 1, !dbg !33") + NODES),
        CodegenFunctions(CODEGEN.replace("!dbg !34", "!dbg !32") + NODES),
    )
    for index, codegen in enumerate(others):
        rows = read_visa_llvm_lines(SHOWN, codegen, VISA)
        # The fourth has the same kernel: only what stands around it differs.
        assert rows.places == ([FIVE, SIX, None, None, SIX, FIVE] if index == 3 else expected), index


def test_the_first_visa_instruction_counts() -> None:
    moved = VISA.replace("    call", "LOC 8\n    call")
    assert read_visa_llvm_lines(SHOWN, None, moved).places == [bare(5), bare(6), None, bare(7), bare(6), bare(5)]


def test_the_stages_of_a_compile_are_found_for_it() -> None:
    def made(stage: str, kernel: str | None, text: str, ending: str) -> Snapshot:
        return Snapshot(stage, kernel, "text", ending, lambda: text.encode())

    shown = made("visa-llvm-map", "k", SHOWN, ".visa.ll")
    codegen = made("llvm-codegen", None, CODEGEN + NODES, ".ll")
    visa, other = made("visa", "k", VISA, ".visaasm"), made("visa", "other", "", ".visaasm")
    for beside, column in (([other, visa, codegen, shown], 2), ([shown, other, visa], 0)):
        (found,) = [one for one in stage_maps(beside, []) if one.stage == "visa-llvm-map"]
        assert (found.kernel, found.places[0]) == ("k", SourcePlace("/src/k.cl", 5, column))
    assert stage_maps([shown, other], []) == ()


def test_a_number_that_would_mean_two_lines_means_none() -> None:
    twice = VISA.replace("LOC 5\n    ret", "LOC 8\n    ret")
    rows = read_visa_llvm_lines(SHOWN, None, twice)
    assert rows.places == [None, bare(6), None, bare(7), bare(6), None]


def test_without_other_stages_there_are_rows_and_no_places() -> None:
    rows = read_visa_llvm_lines(SHOWN, None, None)
    assert rows.lines == [5, 6, 7, 8, 9, 10]
    assert not any(rows.places)
    assert read_visa_llvm_lines("\x00 garbage", None, "/// $1\n").lines == []
