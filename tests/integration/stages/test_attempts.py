"""Programs that Intel's GPU compiler compiles again because a kernel spills: each kernel has the attempt that counts.

darktable's diffuse.cl has one such kernel of three. IGC 1 compiles all of them again, IGC 2 only that one.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kernlens
from kernlens.formats.listings.llvm_parts import LlvmParts
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.stage_map import StageMap
from kernlens.model.stages import IGC_1
from kernlens.pipeline.compile_stages import Pipeline
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from kernlens.verbs.stages import record, recorded_pipelines
from tests.corpus.oracles.run import output_of
from tests.integration.stages.stage_fixtures import placed_count
from tests.integration.stages.test_stages_command import answer, command

LLVM = tuple(stage.name for stage in IGC_1.stages if stage.dump)
_KERNEL = re.compile(r"^define (?:\w+ )*spir_kernel void @(\w+)\(", re.MULTILINE)
_AGAIN = "diffuse_pde"


@pytest.fixture(scope="module", params=["skl", "dg2", "bmg"])
def pipeline(request: pytest.FixtureRequest, darktable_kernels: Path) -> Pipeline:
    if request.param == "bmg":
        request.getfixturevalue("newest_root")
    toolchain = NEWEST if request.param == "bmg" else SYSTEM
    options = f"-gline-tables-only -cl-std=CL2.0 -I {darktable_kernels}"
    return kernlens.stages(darktable_kernels / "diffuse.cl", request.param, toolchain=toolchain, options=options)


def kernels_in_binary(pipeline: Pipeline, folder: Path) -> set[str]:
    """The kernels in the program's binary, of zebin as readelf lists its sections."""
    if pipeline.build.device != "bmg":
        return kernels(pipeline)
    (code,) = pipeline.choose("program")
    (folder / "program").write_bytes(code.content)
    names = re.findall(r"\.text\.(\w+)", output_of(["readelf", "-SW", str(folder / "program")]))
    return set(names) - {PSEUDO_KERNEL}


def kernels(pipeline: Pipeline) -> set[str]:
    return set(pipeline.programs[0].kernels.keys()) - {PSEUDO_KERNEL}


def test_every_kernel_stands_in_the_attempt_that_counts_for_it(pipeline: Pipeline, tmp_path: Path) -> None:
    names = kernels_in_binary(pipeline, tmp_path)
    assert names == kernels(pipeline)
    assert len(names) == 3
    for stage in LLVM:
        attempts = pipeline.choose(stage)
        assert [attempt.attempt for attempt in attempts] == [1, 2]
        held = [set(_KERNEL.findall(attempt.text)) & names for attempt in attempts]
        assert held == [names, {_AGAIN} if pipeline.build.device == "bmg" else names]
        for kernel in names:
            (chosen,) = pipeline.choose(stage, kernel)
            assert chosen is attempts[kernel == _AGAIN]
            assert re.search(rf"^define .*@{kernel}\(", chosen.text, re.MULTILINE)


def test_the_visa_of_a_kernel_came_from_its_attempts_code(pipeline: Pipeline) -> None:
    """What the emitter saw, instruction by instruction without numbers, is in no other attempt of the kernel tried again."""
    for kernel in kernels(pipeline):
        (shown,) = pipeline.choose("visa-llvm-map", kernel)
        (chosen,) = pipeline.choose("llvm-codegen", kernel)
        assert body(shown.text, kernel) == body(chosen.text, kernel)
        others = [snapshot for snapshot in pipeline.choose("llvm-codegen") if snapshot is not chosen]
        if kernel == _AGAIN:
            assert all(body(shown.text, kernel) != body(other.text, kernel) for other in others)


def body(text: str, function: str) -> list[str]:
    match = re.search(rf"^define [^\n]*@{function}\(.*?^}}", text, re.MULTILINE | re.DOTALL)
    lines = match[0].split("\n")[1:] if match else []
    instructions = [re.sub(r"\s*; visa id: \d+$", "", line) for line in lines if line.startswith("  ")]
    return [re.sub(r"!\d+|(?<= )#\d+", "", line) for line in instructions]


def test_lines_are_of_the_attempt_that_counts(pipeline: Pipeline, tmp_path: Path) -> None:
    path = tmp_path / "diffuse.klens"
    record([pipeline], path)
    for snapshot in (pipeline, *recorded_pipelines(path)):
        for stage in LLVM[2:]:
            first, second = (stage_map for stage_map in snapshot.stage_maps if stage_map.stage == stage)
            assert (first.attempt, second.attempt) == (1, 2)
            assert _AGAIN not in first.functions
            assert set(second.functions) & kernels(snapshot) == {_AGAIN}
        shown = {stage_map.kernel: stage_map for stage_map in snapshot.stage_maps if stage_map.stage == "visa-llvm-map"}
        assert {kernel: entry.attempt for kernel, entry in shown.items()} == {
            kernel: 1 + (kernel == _AGAIN) for kernel in kernels(snapshot)
        }
        for kernel, each in shown.items():
            (text,) = snapshot.choose("visa-llvm-map", kernel)
            marked = len(re.findall(r"^  .*, !dbg !\d+", text.text, re.MULTILINE))
            assert placed_count(each) >= 0.8 * marked > 20


def test_the_command_says_which_attempt(pipeline: Pipeline, tmp_path: Path) -> None:
    path = tmp_path / "diffuse.klens"
    record([pipeline], path)
    assert re.search(r"^  llvm-codegen +text +program, 2 attempts ", command(path).stdout, re.MULTILINE)
    both = command(path, "--stage", "llvm-codegen").stdout
    assert re.findall(r"^; llvm-codegen, attempt .*", both, re.MULTILINE) == [
        "; llvm-codegen, attempt 1 of 2: the program has 2 of 3 kernels from it",
        "; llvm-codegen, attempt 2 of 2: the program has 1 of 3 kernels from it",
    ]
    text = command(path, "--stage", "llvm-codegen", "--kernel", _AGAIN).stdout
    assert text == LlvmParts(pipeline.choose("llvm-codegen")[1].text, with_metadata=True).cut_to_function(_AGAIN)
    assert answer(path, "--stage", "llvm-codegen", "--kernel", _AGAIN)["snapshots"][0]["attempt"] == 2
    refused = command(path, "--stage", "llvm-codegen", "--kernel", "no_such")
    assert refused.returncode == 2
    assert "has no kernel 'no_such'; it has: " in refused.stderr
    (other, *_) = sorted(kernels(pipeline) - {_AGAIN})
    for kernel, attempt in ((_AGAIN, 2), (other, 1)):
        listed = answer(path, "--kernel", kernel)["pipelines"][0]["snapshots"]
        assert [snapshot["attempt"] for snapshot in listed if snapshot["stage"] in LLVM] == [attempt] * len(LLVM)
    differences = answer(path, "--diff", "llvm-optimized", "llvm-codegen")["differences"]
    assert [difference["attempt"] for difference in differences] == [1, 2]
    (chosen,) = answer(path, "--diff", "llvm-codegen", "visa", "--kernel", _AGAIN)["differences"]
    assert (chosen["kernel"], chosen["attempt"]) == (_AGAIN, 2)
    line = next(number for (_, number), _ in one_map(pipeline).lines.items())
    parts = answer(path, "--line", str(line), "--kernel", _AGAIN)["pipelines"][0]["stages"]
    assert {part["attempt"] for part in parts if part["stage"] in LLVM} == {2}
    followed = command(path, "--line", str(line), "--kernel", _AGAIN).stdout
    assert re.search(r"^  llvm-codegen  attempt 2  \d+ instruction", followed, re.MULTILINE)
    assert "attempt 1" not in followed


def one_map(pipeline: Pipeline) -> StageMap:
    return next(
        stage_map for stage_map in pipeline.stage_maps if stage_map.stage == "llvm-codegen" and stage_map.attempt == 2
    )
