"""The names of spilled values, from the stages of a compile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernlens.cli.answers.pressure_answer import spilled_document, spilled_table
from kernlens.formats.listings.spilled_registers import VisaWrite, read_spilled_registers, read_writes
from kernlens.formats.listings.visa_llvm_map import read_visa_values
from kernlens.loading.spilled_values import spilled_values
from kernlens.loading.stage_maps import Beside
from kernlens.model.kernel import Kernel
from kernlens.model.source_map import SourcePlace
from kernlens.model.spilled_value import SpilledValue
from kernlens.report.style import rendered
from tests.limits import processor_time
from tests.unit.formats.test_visa_llvm_lines import snapshot as snapshot
from tests.unit.report.test_listing import listed_program

ASSEMBLY = """\
//.declare V0035 (40)  rf=r size=32 type=d align=16 words (r4.0)
//.declare V0092 (100)  rf=r size=32 type=d align=16 words (spilled -> Scratch[3x32])
//.declare V0100 (108)  rf=r size=64 type=uq align=16 words (spilled -> Scratch[4x32])
//.declare P17 (147)  rf=f16  size=2 type=uw align=1 words (spilled -> )
//.declare V0101 (109)  rf=r size=128 type=f align=32 words (spilled -> Scratch[6x32])
"""
VISA = """\
.decl V0035 v_type=G type=d num_elts=8 align=hword
.decl V0092 v_type=G type=d num_elts=8 align=hword
.decl V0093 v_type=G type=ud num_elts=8 align=hword alias=<V0092, 0>
.decl V0094 v_type=G type=uw num_elts=16 align=hword alias=<V0093, 0>
.decl V0100 v_type=G type=uq num_elts=8 align=hword
.decl V0101 v_type=G type=f num_elts=32 align=hword
k:
    FILE "/src/k.cl"
    LOC 7
    (!P1) mov (M1, 8) V0101(0,0)<1> V0035(0,0)<1;1,0>                          /// $3
    LOC 8
    add (M1_NM, 1) V0035(0,0)<1> V0094(0,0)<0;1,0> 0x1:d                       /// $4
    mov (M1, 8) V0093(0,0)<1> V0035(0,0)<0;1,0>                                /// $7
    LOC 9
    svm_gather.4.1 (M1, 8) V0035.0 V0100.0                                     /// $8
    mov (M1, 8) V0101(0,0)<1> 0x0:f                                            /// $9
"""
LLVM = """\
define spir_kernel void @k(i32 %n) !dbg !20 {
  br i1 %p, label %x, label %y		; visa id: 3
  %"a b" = add i32 %n, 1		; visa id: 4
  %c.i = zext i32 %b to i64		; visa id: 7
  store i32 %c, i32* %d		; visa id: 8
  %sum = phi float [ 0.0, %x ]		; visa id: 9
}
"""
CODEGEN = """\
  call void @llvm.dbg.value(metadata float %sum, metadata !12, metadata !DIExpression()), !dbg !3
  call void @llvm.dbg.value(metadata i64 %c.i, metadata !12, metadata !DIExpression()), !dbg !3
  call void @llvm.dbg.value(metadata i64 %c.i, metadata !13, metadata !DIExpression()), !dbg !3
!12 = !DILocalVariable(name: "total", scope: !5)
!13 = !DILocalVariable(name: "other", scope: !5)
"""
STAGES = (
    snapshot("gen-assembly", "k", ASSEMBLY, ".asm"),
    snapshot("visa", "k", VISA, ".visaasm"),
    snapshot("visa-llvm-map", "k", LLVM, ".visa.ll"),
    snapshot("llvm-codegen", None, CODEGEN, ".ll"),
)
FOUND = (
    SpilledValue("V0101", 128, "%sum", SourcePlace("/src/k.cl", 9), "total"),
    SpilledValue("V0100", 64, None, SourcePlace("/src/k.cl", 9)),
    SpilledValue("V0092", 32, "%c.i", SourcePlace("/src/k.cl", 8)),
)


def test_spilled_registers() -> None:
    assert read_spilled_registers(ASSEMBLY) == {"V0092": 32, "V0100": 64, "V0101": 128}
    assert read_spilled_registers("\x00 garbage") == {}


@pytest.mark.parametrize(
    "text",
    [
        "//.declare V1 (1) " + "size=1 " * 200_000,
        ".decl V1 " + "x" * 200_000 + ",",
        "a" + "(" * 200_000,
        "(P" + "a" * 200_000,
        "a (1) " + " " * 200_000,
    ],
)
def test_no_line_takes_long(text: str) -> None:
    with processor_time():
        assert (read_spilled_registers(text), read_writes(text, {"V2"})) == ({}, {})


def test_who_writes_them() -> None:
    writes = read_writes(VISA, {"V0092", "V0100", "V0101", "V0999"})
    # Through an alias of an alias; what is never first is taken where it is first named.
    assert writes == {
        "V0101": [VisaWrite(3, 10), VisaWrite(9, 16)],
        "V0092": [VisaWrite(7, 13)],
        "V0100": [VisaWrite(8, 15)],
    }


def test_values_of_visa_are_read_with_their_names() -> None:
    assert read_visa_values(LLVM) == {3: None, 4: '%"a b"', 7: "%c.i", 8: None, 9: "%sum"}


def test_all_the_way_to_the_variable() -> None:
    # The first write of V0101 is a branch's copy, which makes no value; %c.i is of two variables.
    assert spilled_values("k", None, Beside(STAGES)) == FOUND


def test_as_far_as_the_stages_lead() -> None:
    assert spilled_values("k", None, Beside(STAGES[1:])) is None
    assert spilled_values("other", None, Beside(STAGES)) is None
    assert spilled_values("k", None, Beside(STAGES[:1])) == tuple(
        SpilledValue(name, size) for name, size in read_spilled_registers(ASSEMBLY).items()
    )
    without_llvm = spilled_values("k", None, Beside(STAGES[:2]))
    assert without_llvm is not None
    assert [(stage.value, stage.place) for stage in without_llvm] == [
        (None, SourcePlace("/src/k.cl", line)) for line in (7, 9, 8)
    ]


def test_the_table() -> None:
    program, kernel = listed_program()
    kernel.spilled_values = tuple(
        replace(place, place=SourcePlace("a.cl", place.place.line) if place.place else None) for place in FOUND
    )
    assert [rendered(line) for line in spilled_table(program, kernel)] == [
        "  spilled value of  bytes  vISA   LLVM  variable  source",
        "  a.cl:9              128  V0101  %sum  total     line 9",
        "  a.cl:9               64  V0100                  line 9",
        "  a.cl:8               32  V0092  %c.i            line 8",
        "",
    ]
    assert rendered(list(spilled_table(program, kernel, 1))[2]) == "  2 other values       96"
    assert (spilled_document(kernel) or [])[0] == {
        "name": "V0101",
        "size": 128,
        "value": "%sum",
        "variable": "total",
        "path": "a.cl",
        "line": 9,
    }


def test_nothing_is_shown_of_a_kernel_without_stages() -> None:
    program, kernel = listed_program()
    assert isinstance(kernel, Kernel)
    assert (list(spilled_table(program, kernel)), spilled_document(kernel)) == ([], None)
