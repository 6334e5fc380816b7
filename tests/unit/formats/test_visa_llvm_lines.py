"""``.visa.ll``: locations whose numbers stand in the file, and whose meaning stands in other stages."""

from __future__ import annotations

import pytest

from kernlens.formats.listings.visa_llvm_map import (
    CodegenFunctions,
    read_visa_llvm_lines,
    read_visa_ranges,
    read_visa_starts,
    read_visa_values,
)
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


def test_the_same_function_in_the_code_generators_ir_has_the_places() -> None:
    rows = read_visa_llvm_lines(SHOWN, CodegenFunctions(CODEGEN + NODES))
    assert rows.lines == [5, 6, 7, 8, 9, 10]
    assert set(rows.functions) == {"k"}
    assert rows.places == [FIVE, SIX, None, None, SIX, FIVE]
    assert rows.calls == [(), (SourcePlace("/src/k.cl", 9, 1),), (), (), (SourcePlace("/src/k.cl", 9, 1),), ()]


def test_another_function_is_not_taken() -> None:
    same = [FIVE, SIX, None, None, SIX, FIVE]
    others = (
        ("", None),
        (CODEGEN.replace("%c = zext", "%c = sext"), None),
        # Only what stands around the kernel differs.
        (CODEGEN.replace("  ret void, !dbg !31\n}\ndefine spir_kernel void @k", "}\ndefine void @k"), same),
        # One number here would be two there, or two here one there.
        (CODEGEN.replace("%e = add i64 %d, 1, !dbg !32", "%e = add i64 %d, 1, !dbg !33"), None),
        (CODEGEN.replace("!dbg !34", "!dbg !32"), None),
    )
    for text, places in others:
        rows = read_visa_llvm_lines(SHOWN, CodegenFunctions(text + NODES))
        assert rows.lines == [5, 6, 7, 8, 9, 10]
        assert rows.places == (places or [None] * 6), text
    assert read_visa_llvm_lines("\x00 garbage", CodegenFunctions("")).lines == []


@pytest.mark.parametrize(
    ("assembly", "statements"),
    [
        ("", 0),
        (r"{\0A}\0A", 0),
        ("mov %0 %1", 1),
        (r"{\0A.decl T v_type=G type=f num_elts=16\0A  fence_sw\0A(P1) mov (M1, 16) T(0,0)<1> 0xA:ud\0A}", 2),
        (r"here:\0Amov %0 %1", None),
    ],
)
def test_behind_inline_assembly_its_statements_are_counted(assembly: str, statements: int | None) -> None:
    """The compiler numbers the statements of the assembly in vISA, and not here; of a label nobody knows."""
    call = f'  %b = call i32 asm sideeffect "{assembly}", "=rw,rw"(i32 %a), !dbg '
    codegen = CodegenFunctions(CODEGEN.replace("  %b = call i32 @f(i32 %a) #7, !dbg ", call) + NODES)
    shown = SHOWN.replace("  %b = call i32 @f(i32 %a) #1, !dbg ", call)
    starts = [] if statements is None else [3, 4, 7 + statements, 9 + statements]
    assert [start.number for start in read_visa_starts(shown, codegen)] == starts
    assert list(read_visa_values(shown)) == starts
    assert {part.start for part in read_visa_ranges(shown, codegen).values()} == set(starts)
    assert read_visa_llvm_lines(shown, codegen).places == [FIVE, SIX, None, None, SIX, FIVE]


def test_what_is_before_inline_assembly_has_a_smaller_number() -> None:
    """Blocks stand in another order here than in vISA, at times."""
    call = '  %b = call i32 asm "mov %0 %1", "=rw,rw"(i32 %a)\t\t; visa id: 5\n'
    text = f"{call}  %c = add i32 %b, 1\t\t; visa id: 5\n  %d = add i32 %a, 1\t\t; visa id: 4\n"
    assert read_visa_values(text) == {4: "%d", 5: "%b", 6: "%c"}


def snapshot(stage: str, kernel: str | None, text: str, ending: str, attempt: int = 1) -> Snapshot:
    return Snapshot(stage, kernel, "text", ending, lambda: text.encode(), attempt=attempt)


def test_the_attempt_of_the_kernel_has_the_places() -> None:
    lines = NODES.replace("line: 5", "line: 15")
    first, second = (
        snapshot("llvm-codegen", None, CODEGEN + nodes, ".ll", it) for it, nodes in ((1, NODES), (2, lines))
    )
    for attempt, line in ((1, 5), (2, 15)):
        shown = snapshot("visa-llvm-map", "k", SHOWN, ".visa.ll", attempt)
        codegen, result = stage_maps([first, second, shown], [])
        assert (result.kernel, result.places[0]) == ("k", SourcePlace("/src/k.cl", line, 2))
        # The other attempt's IR, which nothing in the program came from, is no map.
        assert {(entry.stage, entry.attempt) for entry in (codegen, result)} == {
            ("llvm-codegen", attempt),
            (result.stage, attempt),
        }
    assert stage_maps([shown, first], [])[1:] == ()
    # Functions that are no kernels stay in each attempt that counts for one.
    other = snapshot("visa", "other", "", ".visaasm")
    maps = stage_maps([first, second, shown, other], [])
    kernels = [(stage_map.attempt, set(stage_map.functions)) for stage_map in maps if stage_map.stage == "llvm-codegen"]
    assert kernels == [(1, {"other"}), (2, {"k"})]
    helper = CODEGEN.replace("spir_kernel void @other", "internal void @helper")
    first, second = (snapshot("llvm-codegen", None, helper + NODES, ".ll", it) for it in (1, 2))
    maps = stage_maps([first, second, shown, other], [])
    kernels = [(stage_map.attempt, set(stage_map.functions)) for stage_map in maps if stage_map.stage == "llvm-codegen"]
    assert kernels == [(1, {"helper"}), (2, {"helper", "k"})]
