"""One kernel cut out of a program's LLVM IR or SPIR-V text, on small texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.formats.listings.llvm_parts import LlvmParts
from kernlens.formats.listings.spirv_cut import cut_to_entry_point
from kernlens.model.build import Build, HeldParts
from kernlens.recording.writer import RecordingWriter
from tests.limits import processor_time
from tests.unit.conftest import Kernlens
from tests.writers.recordings import snapshot


def cut_to_function(text: str, function: str) -> str | None:
    return LlvmParts(text, with_metadata=True).cut_to_function(function)


def functions_of(text: str) -> list[str]:
    return LlvmParts(text).defined()


LLVM = """\
; ModuleID = 'k'
target triple = "spir64-unknown-unknown"

%used = type { i32, %inner }
%inner = type { i8 }
%unused = type opaque

@table = constant [2 x void ()*] [void ()* @pointed, void ()* null]
@other = constant i32 0

; Function Attrs: nounwind
declare void @llvm.dbg.value(metadata) #0

; Function Attrs: convergent
define spir_kernel void @one(%used* %x) #1 !dbg !3 {
entry:
  call void @"odd name"(), !dbg !5
  %t = load void ()*, void ()** getelementptr ([2 x void ()*], [2 x void ()*]* @table, i32 0, i32 0)
  ret void
}

define internal void @"odd name"() #0 {
  ret void
}

define internal void @pointed() {
  ret void
}

define spir_kernel void @two() #2 !dbg !7 {
  %v = load i32, i32* @other
  call void @one(%used* null), !dbg !8
  ret void
}

attributes #0 = { nounwind }
attributes #1 = { convergent }
attributes #2 = { "only-two" }

!llvm.module.flags = !{!0}
!llvm.dbg.cu = !{!1}
!kernels = !{!9, !10}
!only.two = !{!11}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2)
!2 = !DIFile(filename: "k.cl", directory: "/src")
!3 = distinct !DISubprogram(name: "one", scope: !2, file: !2, line: 1, unit: !1)
!5 = !DILocation(line: 5, column: 9, scope: !3)
!7 = distinct !DISubprogram(name: "two", scope: !2, file: !2, line: 9, unit: !1)
!8 = !DILocation(line: 10, column: 9, scope: !7)
!9 = !{void (%used*)* @one}
!10 = !{void ()* @two}
!11 = distinct !{!11, !10}
"""


def test_a_function_with_all_that_it_needs() -> None:
    cut = cut_to_function(LLVM, "one") or ""
    assert functions_of(cut) == ["one", "odd name", "pointed"]
    gone = ["%unused", "@other", "@llvm.dbg.value", "@two", "only-two", "!7 =", "!8 =", "!10", "!only.two"]
    gone.append("; Function Attrs: nounwind")
    assert [name for name in gone if name in cut] == []
    stays = ["target triple", "%used =", "%inner =", "@table =", "attributes #0", "attributes #1"]
    stays.append("; Function Attrs: convergent\ndefine")
    assert [name for name in stays if name not in cut] == []
    assert "!llvm.dbg.cu = !{!1}" in cut
    assert "!kernels = !{!9}\n" in cut
    assert [line for line in cut.split("\n") if line.startswith(("!0", "!1 ", "!2", "!3", "!5", "!9"))] == [
        line for line in LLVM.split("\n") if line.startswith(("!0", "!1 ", "!2", "!3", "!5", "!9"))
    ]
    assert functions_of(cut_to_function(LLVM, "two") or "") == ["one", "odd name", "pointed", "two"]


def test_what_is_no_function_of_the_module() -> None:
    assert cut_to_function(LLVM, "llvm.dbg.value") is None
    assert cut_to_function(LLVM, "table") is None
    assert cut_to_function("", "one") is None
    assert cut_to_function("define void @one() {\n  ret", "one") is None


def test_the_listed_functions_are_those_that_can_be_cut_out() -> None:
    cut_off = "define void @whole() {\n}\ndeclare void @whole()\ndefine void @cut_off() {\n  ret"
    assert functions_of(cut_off) == ["whole"]
    assert cut_to_function(cut_off, "whole") is not None
    assert cut_to_function("declare void @late()\ndefine void @late() {\n}\n", "late") is not None


def test_of_two_functions_of_one_name_the_first_counts_and_never_one_that_is_cut_off() -> None:
    twice = "define void @f() {\n  ret void\n}\ndefine void @f() {\n  unreachable\n"
    for text in (twice, f"{twice}}}\n"):
        assert set(functions_of(text)) == {"f"}
        assert cut_to_function(text, "f") == "define void @f() {\n  ret void\n}\n"


def test_nameless_functions_keep_their_numbers() -> None:
    """LLVM accepts ``@1`` only after ``@0``."""
    text = "@0 = constant i32 0\n\ndefine void @1() {\n  ret void\n}\n\ndefine void @k() {\n  call void @1()\n  ret void\n}\n"
    assert "@0 = constant" in (cut_to_function(text, "k") or "")


@pytest.mark.slow
def test_large_modules_take_linear_time() -> None:
    functions = "".join(f"define void @f{i}() {{\n  call void @f{i + 1}(), !dbg !{i}\n}}\n" for i in range(20_000))
    nodes = "".join(f"!{i} = !{{!{i + 1}, void ()* @f{i}}}\n" for i in range(20_000))
    text = f"{functions}!named = !{{{', '.join(f'!{i}' for i in range(20_000))}}}\n{nodes}"
    with processor_time(10):
        assert (cut_to_function(text, "f19990") or "").count("define ") == 10
        assert (cut_to_function(text, "f0") or "").count("define ") == 20_000


SPIRV = """\
               OpCapability Kernel
               OpEntryPoint Kernel %one "one"
               OpEntryPoint Kernel %8 "two"
               OpName %helper "helper"
               OpName %x "x"
               OpName %y "y"
       %void = OpTypeVoid
          %4 = OpTypeFunction %void
     %helper = OpFunction %void None %4
          %x = OpLabel
               OpReturn
               OpFunctionEnd
        %one = OpFunction %void None %4
          %5 = OpLabel
          %6 = OpFunctionCall %void %helper
               OpReturn
               OpFunctionEnd
          %8 = OpFunction %void None %4
          %y = OpLabel
               OpReturn
               OpFunctionEnd
"""


def test_an_entry_point_with_what_it_calls() -> None:
    cut = (cut_to_entry_point(SPIRV, "one") or "").split("\n")
    assert cut == [line for line in SPIRV.split("\n")[:17] if '"two"' not in line and '"y"' not in line] + [""]
    assert "OpFunctionCall" not in (cut_to_entry_point(SPIRV, "two") or "OpFunctionCall")
    assert cut_to_entry_point(SPIRV, "helper") is None


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    stages = (
        snapshot("source", ".cl", b"source\n"),
        snapshot("spirv", ".spvasm", SPIRV.encode()),
        snapshot("llvm-optimized", ".ll", LLVM.encode()),
        snapshot("llvm-codegen", ".ll", LLVM.replace("  ret void", "  unreachable").encode()),
        snapshot("visa", ".visaasm", b"one\n", kernel="one"),
        snapshot("visa", ".visaasm", b"two\n", kernel="two"),
    )
    path = tmp_path / "k.klens"
    with RecordingWriter(path) as writer:
        writer.add(Build("k", "dg2", parts=HeldParts(snapshots=stages)))
    return path


def test_stages_shows_one_kernel_of_a_program(kernlens: Kernlens, recording: Path) -> None:
    assert kernlens("stages", recording, "--stage", "llvm-codegen").out.count("define ") == 4
    assert kernlens("stages", recording, "--stage", "llvm-codegen", "--kernel", "one").out == cut_to_function(
        LLVM.replace("  ret void", "  unreachable"), "one"
    )
    assert kernlens("stages", recording, "--stage", "spirv", "--kernel", "one").out == cut_to_entry_point(SPIRV, "one")
    assert kernlens("stages", recording, "--stage", "source", "--kernel", "one").out == "source\n"
    (entry,) = kernlens("stages", recording, "--stage", "llvm-codegen", "--kernel", "two", "--json").document[
        "snapshots"
    ]
    assert (entry["kernel"], entry["size"]) == ("two", len(entry["text"]))
    done = kernlens("stages", recording, "--stage", "llvm-codegen", "--kernel", "three")
    assert (done.status, done.out) == (2, "")
    assert "has no function 'three'; it has: one, odd name, pointed, two" in done.err


def test_the_difference_of_one_kernel(kernlens: Kernlens, recording: Path) -> None:
    words = ("stages", recording, "--diff", "llvm-optimized", "llvm-codegen")
    assert kernlens(*words).out.count("\n+  unreachable") == 4
    lines = kernlens(*words, "--kernel", "one").out.split("\n")
    assert lines[:2] == ["--- one: llvm-optimized", "+++ one: llvm-codegen"]
    assert lines.count("+  unreachable") == 3
