"""``kernlens stages`` as its users run it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kernlens
from kernlens.errors import KernlensError
from kernlens.model.stages import IGC_1
from kernlens.pipeline.compile_stages import Pipeline
from kernlens.verbs.stages import recorded_pipelines
from tests.integration.stages.stage_fixtures import SMALL, small

__all__ = ["small"]


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-c", "from kernlens.cli.main import main; main()", "stages", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, timeout=300)


def answer(*words: str | Path) -> Any:
    done = command(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_command(small: Path, tmp_path: Path) -> None:
    recording = tmp_path / "scale.klens"
    listed = command(small, "--device", "skl", "-o", recording)
    assert listed.returncode == 0, listed.stderr
    heading, outcome, line = listed.stdout.splitlines()[:3]
    assert heading.startswith(f"{small} for skl  NEO ")
    assert outcome.startswith("  compiled in ")
    assert line.startswith("  $ IGC_ShaderDumpEnable=1")
    for stage in IGC_1.stages:
        assert re.search(rf"^  {stage.name} .*{re.escape(stage.sentence)}", listed.stdout, re.MULTILINE)
    document = answer(recording)
    assert document["schema"] == 1
    (result,) = document["pipelines"]
    assert result["versions"][0].startswith("NEO ")
    assert [snapshot["stage"] for snapshot in result["snapshots"] if snapshot["form"] == "text"][:2] == [
        "source",
        "spirv",
    ]
    assert command(recording, "--stage", "source").stdout == SMALL
    assert "define spir_kernel void @scale" in command(recording, "--stage", "llvm-codegen").stdout
    differences = command(recording, "--diff", "llvm-unified", "llvm-optimized").stdout.splitlines()
    assert differences[:2] == ["--- llvm-unified", "+++ llvm-optimized"]
    assert command(recording, "--diff", "source", "source").stdout == "source and source are equal\n"
    followed = command(recording, "--line", "scale.cl:5").stdout
    assert f"{small}:5  sum += x * i;" in followed
    assert re.search(r"^  program  scale  \d+ instructions$", followed, re.MULTILINE)
    assert "; inlined at 11" in followed
    (lines,) = answer(recording, "--line", "5")["pipelines"]
    assert {part["stage"] for part in lines["stages"]} >= {"spirv", "llvm-codegen", "visa", "gen-assembly", "program"}
    instruction = lines["stages"][-1]["instructions"][0]
    assert instruction["line"] == 5
    assert instruction["inlined_at"][0]["line"] == 11
    changed = command(small, "--device", "skl", "--all-passes").stdout
    assert re.search(r"passes ran, \d+ of them changed the program", changed)
    assert re.search(r"\.\.\. \d+ passes without effect", changed)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["SMALL"], 2, "no target device"),
        (["SMALL", "--device", "no-such"], 2, "knows no device"),
        (["MISSING", "--device", "skl"], 2, "there is no source file"),
        (["BROKEN", "--device", "skl"], 3, "does not compile for skl"),
        (["SMALL", "--device", "skl", "--stage", "visas"], 2, "there is no stage 'visas' here; there is: visa"),
        (
            ["SMALL", "--device", "skl", "--stage", "program", "--form", "text"],
            2,
            "has only a binary form here, not text",
        ),
        (["SMALL", "--device", "skl", "--line", "1000"], 1, "no stage says that anything came from line 1000"),
        (
            ["SMALL", "--device", "skl", "--kernel", "scale", "--line", "1000"],
            1,
            "anything came from line 1000 in scale, and others were not looked at",
        ),
        (["SMALL", "--device", "skl", "--kernel", "nope", "--line", "1000"], 2, "there is no kernel 'nope'"),
        (["SMALL", "--device", "skl", "--kernel", "nope", "--line", "5"], 2, "there is no kernel 'nope'"),
        (["SMALL", "--device", "skl", "--line", "x"], 2, "--line needs a number"),
        (["SMALL", "--device", "skl", "--line", "5", "--no-lines"], 2, "build with -gline-tables-only"),
        (["SMALL", "--device", "skl", "--line", "5", "--stage", "visa"], 2, "exclude each other"),
        (["SMALL", "--device", "skl", "--diff", "spirv", "program"], 2, "has no text to compare"),
    ],
)
def test_errors_of_the_command(words: list[str], status: int, message: str, small: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.cl"
    broken.write_text("kernel void broken( {")
    places = {"SMALL": small, "MISSING": tmp_path / "missing.cl", "BROKEN": broken}
    done = command(*(places.get(word, word) for word in words))
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_spirv_of_which_the_compiler_writes_no_text_has_that_of_spirv_dis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IGC's own printer knows no partial count of unrolling."""
    source = tmp_path / "unroll.cl"
    lines = ["kernel void k(global float *x) {", "  float s = 0;", "  #pragma unroll 1"]
    lines += ["  for (int i = 0; i < 12; i++)", "    s += x[i * 64];", "  *x = s;", "}"]
    source.write_text("\n".join(lines))
    text = command(source, "--device", "dg2", "--stage", "spirv").stdout
    assert "OpLoopMerge" in text
    assert "PartialCount" in text
    (followed,) = answer(source, "--device", "dg2", "--line", "5")["pipelines"]
    (spirv,) = (part for part in followed["stages"] if part["stage"] == "spirv")
    assert any("OpFAdd" in each["text"] for each in spirv["instructions"])
    without = tmp_path / "bin"
    without.mkdir()
    (without / "ocloc").symlink_to(str(shutil.which("ocloc")))
    monkeypatch.setenv("PATH", str(without))
    listed = command(source, "--device", "dg2").stdout
    assert "failed: IGC wrote no text; spirv-dis was not found" in listed


def test_a_binary_and_a_recording_without_snapshots(small: Path, tmp_path: Path) -> None:
    compiled = tmp_path / "compiled.klens"
    (program,) = kernlens.compile(small, "skl", recording=compiled)
    assert [len(pipeline) for pipeline in recorded_pipelines(compiled, "skl")] == [0]
    with pytest.raises(KernlensError, match=r"contains no program for dg2; it contains some for skl"):
        recorded_pipelines(compiled, "dg2")
    (tmp_path / "scale.bin").write_bytes(program.binary)
    done = command(tmp_path / "scale.bin")
    assert done.returncode == 2
    assert "is a finished binary, which contains no stages" in done.stderr


def test_a_recording_of_compile_is_compiled_again(small: Path, tmp_path: Path) -> None:
    """The stages are those of the source itself: only the folder of the included file has another name in them."""
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "factor.h").write_text("float factor(float x) {\n    return x * 3.0f;\n}\n")
    source = tmp_path / "kernels" / "outer.cl"
    source.parent.mkdir()
    source.write_text(
        '#include "../inc/factor.h"\n'
        + small.read_text()
        + "kernel void more(global float *x) {\n  *x = factor(*x);\n}\n"
    )
    recording = tmp_path / "compiled.klens"
    options = f"-gline-tables-only -I {tmp_path}/inc"
    kernlens.compile(source, "skl", options=options, recording=recording)
    fresh = answer(source, "--device", "skl", "--build-options", options, "--line", "factor.h:2")
    source.unlink()
    (tmp_path / "inc" / "factor.h").unlink()
    again = command(recording, "--line", "factor.h:2", "--json")
    assert again.returncode == 0, again.stderr
    assert f"{source} was compiled again for skl from the recorded source" in again.stderr
    document = json.loads(again.stdout)
    (was,), (now,) = fresh["pipelines"], document["pipelines"]
    assert [part["stage"] for part in now["stages"]] == [part["stage"] for part in was["stages"]]

    def texts(pipeline: Any) -> list[str]:
        """Without the numbers of metadata, and places in SPIR-V, which the length of a path moves."""
        rows = [instruction for part in pipeline["stages"] for instruction in part["instructions"]]
        return [re.sub(r"!dbg !\d+| ; 0x[0-9a-f]+$", "", row["text"]) for row in rows]

    assert texts(now) == texts(was) != []
    paths = {instruction["path"] for part in now["stages"] for instruction in part["instructions"]}
    assert paths == {f"{tmp_path}/kernels/../inc/factor.h"}


@pytest.fixture(scope="module")
def nlmeans(darktable_kernels: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Pipeline]:
    """Return the recording of a program of several kernels, and its stages."""
    recording = tmp_path_factory.mktemp("nlmeans") / "nlmeans.klens"
    return recording, kernlens.stages(darktable_kernels / "nlmeans.cl", "dg2", recording=recording)


@pytest.mark.parametrize("stage", ["llvm-before-unification", "llvm-unified", "llvm-optimized", "llvm-codegen"])
def test_one_kernel_of_a_stage_is_a_module(stage: str, nlmeans: tuple[Path, Pipeline]) -> None:
    """LLVM's own assembler takes the kernel's part wherever it takes the whole, and finds it valid."""
    recording, pipeline = nlmeans
    whole = pipeline.choose(stage)[0].text
    for kernel in list(pipeline.programs[0].kernels.keys()):
        done = command(recording, "--stage", stage, "--kernel", kernel)
        assert done.returncode == 0, done.stderr
        assembled = subprocess.run(["llvm-as-15", "-o", "/dev/null"], input=done.stdout, capture_output=True, text=True)
        assert (assembled.returncode, assembled.stderr) == (0, "")
        assert len(done.stdout) < len(whole) / 2
        assert f"define spir_kernel void @{kernel}(" in done.stdout
        assert done.stdout.count("define spir_kernel") == 1


def test_of_a_recording_only_the_programs_with_the_kernel_are_compiled_again(small: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.cl"
    other.write_text("kernel void other(global float *x) { *x = 1.0f; }\n")
    recording = tmp_path / "two.klens"
    subprocess.run(
        [sys.executable, "-m", "kernlens", "compile", str(small), str(other), "--device", "skl", "-o", str(recording)],
        check=True,
        capture_output=True,
    )
    done = command(recording, "--kernel", "other")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"(\S+) was compiled again", done.stderr) == [str(other)]
    # One that no binary has may be in any of them.
    assert command(recording, "--kernel", "oth*").stderr.count("was compiled again") == 1
    assert command(recording, "--kernel", "neither").stderr.count("was compiled again") == 2
