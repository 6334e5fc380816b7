"""The stages of an offline compile to SPIR-V (clang and llvm-spirv), against the tools of each stage."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest

import kernlens
from kernlens.errors import NotFoundError, OutputError, ToolError, UnsupportedError
from kernlens.formats.spirv.spirv_module import read_spirv
from kernlens.model.stages import CLANG
from kernlens.pipeline.clang_spirv import snapshots
from kernlens.pipeline.compile_stages import Pipeline, compile_stages
from kernlens.verbs.stages import record, recorded_pipelines
from tests.integration.stages.stage_fixtures import SMALL, placed_count, small

__all__ = ["small"]


@pytest.fixture(scope="module", params=["-gline-tables-only", "-g"])
def pipeline(request: pytest.FixtureRequest, darktable_kernels: Path) -> Pipeline:
    return kernlens.stages(darktable_kernels / "nlmeans.cl", "spirv", options=request.param)


def run_tool(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{command[0]}: {done.stderr[:500]}"
    return done.stdout


def content(pipeline: Pipeline, stage: str, form: str) -> bytes:
    (result,) = pipeline.choose(stage, form=form)
    assert result.form == form
    return result.content


def test_stages_and_forms_are_those_of_the_table(pipeline: Pipeline) -> None:
    expected = [(stage.name, form, stage.ending(form)) for stage in CLANG.stages for form in stage.forms]
    assert [(snapshot.stage, snapshot.form, snapshot.ending) for snapshot in pipeline] == expected
    times = [snapshot.seconds for snapshot in pipeline if snapshot.seconds is not None]
    assert times == sorted(times)
    assert 0 < times[0] < times[-1] <= pipeline.build.seconds
    assert pipeline.build.toolchain is not None
    clang, translator = pipeline.build.toolchain.title.split(", ")
    assert f"clang version {clang.removeprefix('clang ')}\n" in run_tool("clang-15", "--version")
    assert f"LLVM version {translator.removeprefix('llvm-spirv for LLVM ')}\n" in run_tool("llvm-spirv-15", "--version")


def test_the_command_makes_the_same_files_by_hand(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Debug information names the folder that the compiler runs in.
    monkeypatch.chdir(small.parent)
    result = kernlens.stages(small, "spirv", options='-g "-DWORDS=two words"')
    subprocess.run(["sh", "-c", result.build.command], check=True, timeout=60)
    assert small.with_suffix(".bc").read_bytes() == content(result, "llvm", "binary")
    assert small.with_suffix(".spv").read_bytes() == content(result, "spirv", "binary")


def test_a_recording_opens_as_the_spirv_module(pipeline: Pipeline, tmp_path: Path) -> None:
    path = tmp_path / "nlmeans.klens"
    record([pipeline], path)
    (program,) = kernlens.load(path)
    assert (program.format, program.name, program.device) == ("spirv", "nlmeans", None)
    assert pipeline.build.toolchain is not None
    assert program.build.toolchain_title == pipeline.build.toolchain.title
    assert program.spirv == content(pipeline, "spirv", "binary")
    (tmp_path / "a.spv").write_bytes(program.spirv)
    # With -g spirv-dis gives up in the debug instructions, which come after the entry points.
    done = subprocess.run(["spirv-dis", tmp_path / "a.spv"], capture_output=True, text=True, timeout=60)
    entry_points = re.findall(r'OpEntryPoint Kernel %\w+ "(\w+)"', done.stdout)
    assert entry_points
    assert [symbol.name for symbol in program.symbols if symbol.kind == "kernel"] == entry_points
    assert [(snapshot.stage, snapshot.form, snapshot.content) for snapshot in program.build.snapshots] == [
        (snapshot.stage, snapshot.form, snapshot.content) for snapshot in pipeline
    ]
    assert [(part.stage, part.texts) for part in program.line(42).stages] == [
        (part.stage, part.texts) for part in pipeline.line(42).stages
    ]
    assert {part.stage for part in program.line(42).stages} == {"llvm", "spirv"}
    assert [(source.path, source.text) for source in program.sources] == [
        (source.path, source.text) for source in pipeline.build.sources
    ]
    (held,) = pipeline.programs
    assert (held.format, held.spirv, held.build.snapshots) == ("spirv", program.spirv, pipeline.snapshots)


def test_text_and_binary_are_read_by_the_stages_own_tools(pipeline: Pipeline, tmp_path: Path) -> None:
    """Text assembled again and disassembled once more is the same text."""
    (tmp_path / "a.ll").write_bytes(content(pipeline, "llvm", "text"))
    (tmp_path / "a.bc").write_bytes(content(pipeline, "llvm", "binary"))
    run_tool("llvm-as-15", tmp_path / "a.ll", "-o", tmp_path / "b.bc")
    again = [run_tool("llvm-dis-15", tmp_path / name, "-o", "-").splitlines()[1:] for name in ("a.bc", "b.bc")]
    assert again[0] == again[1]
    (tmp_path / "a.spvasm").write_bytes(content(pipeline, "spirv", "text"))
    run_tool("spirv-as", "--target-env", "spv1.4", tmp_path / "a.spvasm", "-o", tmp_path / "b.spv")
    ours, theirs = content(pipeline, "spirv", "binary"), (tmp_path / "b.spv").read_bytes()
    assert _first_words(theirs) == _first_words(ours)
    assert len(_first_words(ours)) > 1000


def _first_words(module: bytes) -> list[int]:
    """Each instruction's opcode and length; ids are the assembler's own."""
    words = struct.unpack(f"<{len(module) // 4}I", module)
    opcodes, position = [], 5
    while position < len(words):
        opcodes.append(words[position])
        position += words[position] >> 16
    return opcodes


def test_pointers_without_a_storage_class_are_shown_and_said_to_be(pipeline: Pipeline, tmp_path: Path) -> None:
    """llvm-spirv writes such debug types with -g, and spirv-dis by itself stops at them."""
    (tmp_path / "a.spv").write_bytes(content(pipeline, "spirv", "binary"))
    alone = subprocess.run(["spirv-dis", "--offsets", tmp_path / "a.spv"], capture_output=True, text=True, timeout=60)
    text = content(pipeline, "spirv", "text").decode()
    if pipeline.build.options != "-g":
        assert text == alone.stdout
        return
    assert "Invalid storage class operand: 4294967295" in alone.stderr
    remark, rest = text.split("\n", 1)
    match = re.fullmatch(r"; DebugTypePointer without a storage class, shown with Function: (\d+)", remark)
    assert match is not None
    assert 0 < int(match[1]) <= len(re.findall(r"DebugTypePointer %\w+ Function ", rest))
    assert rest.startswith(alone.stdout)


def test_spirv_without_debug_information_is_valid(darktable_kernels: Path, tmp_path: Path) -> None:
    result = kernlens.stages(darktable_kernels / "nlmeans.cl", "spirv", lines=False)
    (tmp_path / "a.spv").write_bytes(content(result, "spirv", "binary"))
    run_tool("spirv-val", "--target-env", "spv1.4", tmp_path / "a.spv")
    assert result.stage_maps == ()


def test_the_maps_cover_what_carries_debug_information(pipeline: Pipeline) -> None:
    """At least 90% of the instructions that carry debug information, counted here without the readers."""
    llvm, spirv = pipeline.stage_maps
    assert (llvm.stage, spirv.stage) == ("llvm", "spirv")
    marked = len(re.findall(r"^  .*, !dbg !\d+", content(pipeline, "llvm", "text").decode(), re.MULTILINE))
    assert marked >= placed_count(llvm) >= 0.9 * marked > 500
    lines = re.sub(r"^ +", "", content(pipeline, "spirv", "text").decode(), flags=re.MULTILINE)
    # Line 0 is the compiler's word for no line.
    marked = len(re.findall(r"^OpLine %\w+ [1-9].*\n(?!OpLine|OpNoLine|OpFunctionEnd)", lines, re.MULTILINE))
    assert placed_count(spirv) >= 0.9 * marked > 500


def test_the_two_stages_agree_and_so_does_the_reader_of_the_binary_form(pipeline: Pipeline) -> None:
    llvm, spirv = (
        {(p.path, p.line, p.column) for p in stage_map.places if p is not None} for stage_map in pipeline.stage_maps
    )
    # A sampler's initializer, in LLVM a call, is a constant in SPIR-V.
    here = {place for place in llvm if place[0].endswith("/nlmeans.cl")}
    assert spirv <= here
    assert len(spirv) >= 0.9 * len(here)
    lines = read_spirv(memoryview(content(pipeline, "spirv", "binary"))).lines
    assert spirv <= {(row.file, row.line, row.column) for rows in lines.values() for row in rows}


def test_one_line_is_followed(pipeline: Pipeline) -> None:
    llvm, spirv = pipeline.line(42, "nlmeans.cl").stages
    assert {llvm.map.functions[index] for index in llvm.indexes} == {"gh"}
    assert {spirv.map.functions[index] for index in spirv.indexes} == {"gh"}
    assert any("fmul float" in text for text in llvm.texts)
    assert any("OpFMul" in text for text in spirv.texts)


def test_a_recording_keeps_the_snapshots(small: Path, tmp_path: Path) -> None:
    result = kernlens.stages(small, "spirv")
    record([result], tmp_path / "scale.klens")
    (again,) = recorded_pipelines(tmp_path / "scale.klens")
    assert [(snapshot.stage, snapshot.form, snapshot.content) for snapshot in again] == [
        (item.stage, item.form, item.content) for item in result
    ]
    assert [part.texts for part in again.line(5).stages] == [part.texts for part in result.line(5).stages]


def test_what_does_not_compile(small: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.cl"
    broken.write_text("kernel void broken( {")
    with pytest.raises(
        ToolError, match=r"broken.cl does not compile for spirv \(toolchain clang .*broken.cl:1:21"
    ) as caught:
        kernlens.stages(broken, "spirv")
    assert "error" in caught.value.log
    assert [snapshot.stage for snapshot in compile_stages(broken, "spirv")] == ["source"]
    # clang takes inline assembly of its target; SPIR-V has none without an extension.
    small.write_text(SMALL.replace("float sum = 0;", 'float sum = 0; __asm__("nop");'))
    result = compile_stages(small, "spirv")
    assert not result.build.ok
    assert "llvm-spirv" in (result.build.reason or "")
    assert [item.stage for item in result] == ["source", "llvm", "llvm"]


def test_bad_input(small: Path, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="does not show its single passes"):
        kernlens.stages(small, "spirv", all_passes=True)
    with pytest.raises(NotFoundError, match="no source file"):
        kernlens.stages(tmp_path / "missing.cl", "spirv")
    module = tmp_path / "a.spv"
    module.write_bytes(content(kernlens.stages(small, "spirv"), "spirv", "binary"))
    with pytest.raises(UnsupportedError, match="is SPIR-V already"):
        kernlens.stages(module, "spirv")
    with pytest.raises(OutputError, match="point TMPDIR at one that is writable"):
        snapshots(small, dump_folder=Path("/proc/1/nowhere"))


def test_missing_tools_are_named_with_their_packages(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = kernlens.stages(small, "spirv")
    monkeypatch.setenv("PATH", str(tmp_path))
    names = ("clang-15", "llvm-15", "llvm-spirv-15", "spirv-tools")
    monkeypatch.setattr("kernlens.toolchain.packages._packages", lambda: names)
    with pytest.raises(ToolError, match="apt install clang-15 llvm-spirv-15"):
        kernlens.stages(small, "spirv")
    with pytest.raises(ToolError, match=r"llvm-dis-15 was not found.*apt install llvm-15"):
        content(result, "llvm", "text")
    with pytest.raises(ToolError, match=r"spirv-dis was not found.*apt install spirv-tools"):
        content(result, "spirv", "text")
