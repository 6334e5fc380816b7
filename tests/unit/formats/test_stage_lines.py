"""The readers of line marks in each stage's text, on small texts."""

from __future__ import annotations

from kernlens.formats.listings.gen_assembly import kernel_name as assembly_kernel
from kernlens.formats.listings.gen_assembly import read_gen_assembly_lines
from kernlens.formats.listings.llvm_ir import read_llvm_lines
from kernlens.formats.listings.spirv_assembly import read_spirv_text_lines
from kernlens.formats.listings.visa_assembly import kernel_name as vision_kernel
from kernlens.formats.listings.visa_assembly import read_visaasm_lines
from kernlens.model.source_map import SourcePlace
from tests.limits import processor_time

LLVM = """\
; ModuleID = 'k'
@table = constant i32 0, align 4, !dbg !90
; Function Attrs: nounwind
define spir_kernel void @scale(float addrspace(1)* %out) #0 !dbg !3 {
entry:
  ; a comment, !dbg !7
  %0 = load float, float addrspace(1)* %out, !dbg !7
  call void @llvm.dbg.value(metadata i32 0), !dbg !8
  switch i32 %x, label %a [
    i32 0, label %b
    i32 1, label %c
  ], !dbg !9

a:                                                ; preds = %entry
  ret void
}

define internal float @"odd name"(i32 %x) {
  ret float 0.0, !dbg !11
}

!1 = !DIFile(filename: "k.cl", directory: "/src")
!2 = !DIFile(filename: "/abs/caf\\C3\\A9.h", directory: "/src")
!3 = distinct !DISubprogram(name: "scale(file: !2", scope: null, file: !1, line: 3, unit: !0)
!4 = !DILexicalBlock(scope: !3, line: 4, column: 2)
!5 = distinct !DISubprogram(name: "times", file: !2, line: 1)
!7 = !DILocation(line: 5, column: 9, scope: !4)
!8 = !DILocation(line: 0, scope: !3)
!9 = !DILocation(line: 2, column: 3, scope: !5, inlinedAt: !10)
!10 = distinct !DILocation(line: 6, column: 1, scope: !4, inlinedAt: !11)
!11 = !DILocation(line: 7, scope: !3)
"""


def test_llvm_locations_follow_scopes_to_their_file_and_calls_to_their_place() -> None:
    rows = read_llvm_lines(LLVM)
    assert rows.lines == [7, 8, 9, 15, 19]
    assert rows.functions == ["scale"] * 4 + ["odd name"]
    assert rows.places == [
        SourcePlace("/src/k.cl", 5, 9),
        None,  # line 0: the compiler made it up
        SourcePlace("/abs/café.h", 2, 3),  # a switch ends lines after it began
        None,
        SourcePlace("/src/k.cl", 7, 0),
    ]
    assert rows.calls[2] == (SourcePlace("/src/k.cl", 6, 1), SourcePlace("/src/k.cl", 7, 0))
    assert not any(calls for index, calls in enumerate(rows.calls) if index != 2)


def test_llvm_nodes_in_a_circle_and_chains_without_end_are_read_in_no_time() -> None:
    circle = "!1 = !DILocation(line: 1, scope: !2, inlinedAt: !1)\n"
    circle += "!2 = !DILexicalBlock(scope: !3)\n!3 = !DILexicalBlock(scope: !2)\n"
    chain = "".join(f"!{n} = !DILocation(line: 1, scope: !{n + 1}, inlinedAt: !{n + 1})\n" for n in range(10, 20_000))
    body = "define void @f() {\n" + "".join(f"  ret void, !dbg !{n}\n" for n in range(0, 20_000, 20)) + "}\n"
    with processor_time():
        rows = read_llvm_lines(body + circle + chain)
    assert len(rows.lines) == 1000
    assert read_llvm_lines("define void @f() {\n  ret void, !dbg !1\n}\n" + circle).places == [SourcePlace("", 1, 0)]


VISA = """\
.version 4.1
.kernel "scale"
.decl V0032 v_type=G type=d num_elts=8
.function "_main_0"

_main:
    mov (M1, 8) V0033(0,0)<1> 0x0:d   /// $2
    FILE "/src/k.cl"
    LOC 5
    add (M1, 16) V1(0,0)<1> V2(0,0)<1;1,0> 0x1:d    /// $4
    FILE "/src/h.h"
    mul (M1, 16) V1(0,0)<1> V2(0,0)<1;1,0> 0x1:d    /// $5
// a comment
_0_001:                                             /// $6
    LOC 0
    ret (M1, 1)                                     /// $7
"""


def test_visa_marks_hold_until_the_next_and_zero_is_no_line() -> None:
    rows = read_visaasm_lines(VISA)
    assert rows.lines == [7, 10, 12, 16]
    assert rows.places == [None, SourcePlace("/src/k.cl", 5), SourcePlace("/src/h.h", 5), None]
    assert vision_kernel(VISA) == "scale"


ASSEMBLY = """\
//.kernel scale it
//.platform DG2
//.declare V0033 (41)  rf=r size=32 type=d

// B000: Preds:{},  Succs:{B001}
per_thread_prolog:
(W)     mov (8|M0)               r127.0<1>:ud  0x0:ud                                                // $5

// File: /src/k.cl

// Line 5:  o[i] = // Line 9
(W)     mul (1|M0)               acc0.0<1>:d   r10.3<0;1,0>:d    r35.2<0;1,0>:uw  {A@1}              // $7
L3168:

// Line 7
        nop                                                                                          // $246
//.BankConflicts: 4
"""


def test_line_comments_of_a_listing_hold_across_labels() -> None:
    rows = read_gen_assembly_lines(ASSEMBLY)
    assert rows.lines == [7, 12, 16]
    assert rows.places == [None, SourcePlace("/src/k.cl", 5), SourcePlace("/src/k.cl", 7)]
    assert assembly_kernel(ASSEMBLY) == "scale it"


SPIRV = """\
               OpCapability Kernel
         %12 = OpString "/src/k.cl"
         %13 = OpString "two
         %99 = OpString \\"lines\\"
; \\" still a string"
               OpName %scale "sca\\"le"
               OpLine %12 3 0
      %scale = OpFunction %void None %5  ; "not a string
          %6 = OpLabel
               OpLine %12 4 7
          %7 = OpLoad %float %x
          %8 = OpFAdd %float %7 %7
               OpNoLine
               OpStore %x %8
               OpLine %12 5 0
               OpBranch %9
          %9 = OpLabel
               OpReturn
               OpFunctionEnd
"""


def test_spirv_lines_end_with_their_block() -> None:
    rows = read_spirv_text_lines(SPIRV)
    assert [(line, place.line if place else None) for line, place in zip(rows.lines, rows.places, strict=True)] == [
        (8, 3),
        (11, 4),
        (12, 4),
        (14, None),
        (16, 5),
        (18, None),  # a new block: OpLine does not reach into it
        (19, None),
    ]
    assert set(rows.functions) == {'sca"le'}
    assert rows.places[1] == SourcePlace("/src/k.cl", 4, 7)


def test_what_is_no_stage_text_has_no_rows() -> None:
    for read in (read_llvm_lines, read_visaasm_lines, read_gen_assembly_lines, read_spirv_text_lines):
        assert not any(read("\x00\xff garbage \n!1 = (\nLOC\nOpLine\n").places)
        assert read("").lines == []
