"""Stages of real compiles: what each holds, its line marks, and one line followed through all of them."""

from __future__ import annotations

import re
import struct
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import kernlens
from kernlens.analysis.stage_changes import difference, pass_steps
from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.formats.spirv.spirv_module import read_spirv
from kernlens.loading import open_file
from kernlens.model.program import Program
from kernlens.model.source_map import INHERITED
from kernlens.model.source_path import joined
from kernlens.model.stage_map import StageMap
from kernlens.model.stages import CPU_RUNTIME, IGC_1, IGC_2, CompilerKind
from kernlens.pipeline import cpu_runtime as cpu_runtime_stages
from kernlens.pipeline.compile_stages import Pipeline
from kernlens.toolchain import ocloc
from kernlens.toolchain.toolchains import NEWEST, SYSTEM, Toolchain
from kernlens.verbs.stages import record, recorded_pipelines
from tests.corpus.oracles.igc_dump import read_dump
from tests.integration.stages.stage_fixtures import SMALL, placed_count, small
from tests.integration.toolchain.toolchain_fixtures import newest, system

__all__ = ["newest", "small", "system"]

#: darktable's nlmeans: six kernels, loops, and functions (gh, fast_mexp2f, ddirac) that get inlined.
PRODUCTS = {"skl": SYSTEM, "dg2": SYSTEM, "bmg": NEWEST}
LINES = "-gline-tables-only"
LLVM = tuple(stage.name for stage in IGC_1.stages if stage.dump)


@pytest.fixture(scope="module", params=PRODUCTS)
def pipeline(request: pytest.FixtureRequest, darktable_kernels: Path) -> Pipeline:
    if PRODUCTS[request.param] == NEWEST:
        request.getfixturevalue("newest_root")
    source = darktable_kernels / "nlmeans.cl"
    return kernlens.stages(source, request.param, toolchain=PRODUCTS[request.param], options=LINES)


def compiler_of(pipeline: Pipeline) -> CompilerKind:
    return IGC_2 if pipeline.build.device == "bmg" else IGC_1


def maps_of(pipeline: Pipeline, stage: str) -> list[StageMap]:
    return [stage_map for stage_map in pipeline.stage_maps if stage_map.stage == stage]


def test_every_stage_is_there_once_or_once_per_kernel(pipeline: Pipeline) -> None:
    table = compiler_of(pipeline).stages
    kernels = pipeline.programs[0].kernels.keys()
    assert len(kernels) == 6
    for stage in table:
        for form in stage.forms:
            held = [row for row in pipeline if row.stage == stage.name and row.form == form]
            assert [item.ending for item in held] == [stage.ending(form)] * len(held)
            assert {item.kernel for item in held} == (kernels if stage.scope == "kernel" else {None}), stage.name
            assert len(held) == (6 if stage.scope == "kernel" else 1)
            assert all(element.size == len(element.content) > 0 and element.failure is None for element in held)
    order = [stage.name for stage in table]
    assert [order.index(snapshot.stage) for snapshot in pipeline] == sorted(
        order.index(snapshot.stage) for snapshot in pipeline
    )
    assert "IGC_ShaderDumpEnable=1" in pipeline.build.command
    assert "nlmeans.cl" in pipeline.build.command
    assert re.fullmatch(r"NEO \S+ / IGC \S+", (pipeline.build.toolchain.title if pipeline.build.toolchain else ""))
    times = [entry.seconds for entry in pipeline if entry.seconds is not None]
    assert len(times) == len(pipeline)
    assert all(0 <= seconds <= pipeline.build.seconds + 0.1 for seconds in times)


def test_times_count_from_the_compilers_start(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What kernlens does before, as asking for the devices, is no time of a stage."""
    asked = ocloc.check_device

    def slow(device: str, using: Toolchain) -> None:
        asked(device, using)
        time.sleep(1)

    monkeypatch.setattr(ocloc, "check_device", slow)
    pipeline = kernlens.stages(small, "dg2", toolchain=SYSTEM)
    times = [snapshot.seconds for snapshot in pipeline if snapshot.seconds is not None]
    assert len(times) == len(pipeline) > 0
    assert max(times) <= pipeline.build.seconds + 0.1


def test_the_machine_code_of_a_stage_is_the_programs(pipeline: Pipeline) -> None:
    for name, kernel in pipeline.programs[0].kernels.items():
        (code,) = pipeline.choose("gen-assembly", name, "binary")
        assert code.content[: len(kernel.code)] == kernel.code
        (listing,) = maps_of_kernel(pipeline, "gen-assembly", name)
        ours = [_skeleton(text) for text in kernel.instructions.texts]
        theirs = [_skeleton(text) for text in listing.texts][: len(ours) if kernel.trailer else None]
        # The two print message instructions and labels in different ways.
        equal = sum(entry == other for entry, other in zip(ours, theirs, strict=True))
        assert equal >= 0.85 * len(ours)


def maps_of_kernel(pipeline: Pipeline, stage: str, kernel: str) -> list[StageMap]:
    return [stage_map for stage_map in maps_of(pipeline, stage) if stage_map.kernel == kernel]


def _skeleton(text: str) -> list[str]:
    return text.split("//")[0].split()[:3]


def test_the_maps_cover_what_carries_debug_information(pipeline: Pipeline) -> None:
    """At least 90% of the instructions that carry debug information, counted here without the readers."""
    for stage in LLVM:
        (stage_maps,) = maps_of(pipeline, stage)
        (snapshot,) = pipeline.choose(stage)
        marked = len(re.findall(r"^  .*, !dbg !\d+", snapshot.text, re.MULTILINE))
        assert placed_count(stage_maps) >= 0.9 * marked > 300, stage
        assert placed_count(stage_maps) <= marked
    for kernel in list(pipeline.programs[0].kernels.keys()):
        (visa,) = maps_of_kernel(pipeline, "visa", kernel)
        (snapshot,) = pipeline.choose("visa", kernel)
        after = snapshot.text.split("    LOC ", 1)[1]
        marked = len(re.findall(r"^    (?!LOC|FILE).*/// \$\d+$", after, re.MULTILINE))
        assert placed_count(visa) >= 0.9 * marked > 10
    followed = {stage.name for stage in compiler_of(pipeline).stages if stage.lines}
    assert {stage_map.stage for stage_map in pipeline.stage_maps} == followed


def test_spirv_lines_are_those_of_the_binary_module(pipeline: Pipeline) -> None:
    """The text's map against the reader of the binary form: the places of each function, in order."""
    (text,) = maps_of(pipeline, "spirv")
    (module,) = pipeline.choose("spirv", form="binary")
    ours: dict[str, list[tuple[str, int, int]]] = {}
    for place, function in zip(text.places, text.functions, strict=True):
        if place is not None:
            here = ours.setdefault(function, [])
            entry = (place.path, place.line, place.column)
            if not here or here[-1] != entry:
                here.append(entry)
    lines = read_spirv(memoryview(module.content)).lines
    theirs = {
        name: list(_runs((line.file, line.line, line.column) for line in lines[name] if line.line)) for name in ours
    }
    # A place that no instruction follows is in the one and not in the other.
    for name, places in ours.items():
        assert set(places) <= set(theirs[name])
        assert len(places) >= 0.9 * len(theirs[name])


def _runs(places: Iterator[tuple[str, int, int]]) -> Iterator[tuple[str, int, int]]:
    last = None
    for place in places:
        if place != last:
            yield place
        last = place


def test_the_listing_is_read_as_by_an_independent_reader(pipeline: Pipeline, tmp_path: Path) -> None:
    for stage_map in maps_of(pipeline, "gen-assembly"):
        (snapshot,) = pipeline.choose("gen-assembly", stage_map.kernel)
        path = tmp_path / str(stage_map.kernel) / "OCL_asm_simd8_entry_0001.asm"  # Each dump is read once, by its path.
        path.parent.mkdir()
        path.write_bytes(snapshot.content)
        theirs = [instruction.place for instruction in read_dump(path).instructions]
        assert [(place.path, place.line) if place else None for place in stage_map.places] == theirs


def test_the_machine_stage_agrees_with_annotate(pipeline: Pipeline) -> None:
    """The stage ``program`` is annotate's own join; the listing's marks, which are finer, nearly always say the same."""
    both = equal = 0
    for name, kernel in pipeline.programs[0].kernels.items():
        (machine,) = maps_of_kernel(pipeline, "program", name)
        (listing,) = maps_of_kernel(pipeline, "gen-assembly", name)
        source_map = kernel.source_map
        assert source_map is not None
        assert list(machine.positions) == list(kernel.instructions.offsets)
        for index, place in enumerate(machine.places):
            # What only stands under a neighbour's line came from no line.
            annotated = None if source_map.origins[index] == INHERITED else source_map.place(index)
            assert (place is None) == (annotated is None)
            if place is not None and annotated is not None:
                assert place.path == joined(source_map.table.directory, annotated.path)
                assert (place.line, place.column) == (annotated.line, annotated.column)
        # The listing ends with the compiler's hash.
        hashed = kernel.trailer.count if kernel.trailer else 0
        for marked, joined_place in zip(listing.places[: -hashed or None], machine.places, strict=True):
            if marked is not None and joined_place is not None:
                both += 1
                equal += (marked.path, marked.line) == (joined_place.path, joined_place.line)
    assert equal >= 0.9 * both > 500


def test_one_line_is_followed_through_all_stages(pipeline: Pipeline) -> None:
    """Line 42 of nlmeans is in gh, which calls fast_mexp2f and is inlined into one kernel."""
    parts = pipeline.programs[0].line(42, "nlmeans.cl").stages
    by_stage = {part.stage: part for part in parts}
    assert set(by_stage) == {stage_map.stage for stage_map in pipeline.stage_maps}
    assert all(part.indexes for part in parts)
    early = by_stage["llvm-before-unification"]
    assert {early.map.functions[index] for index in early.indexes} == {"gh"}
    late = by_stage["llvm-codegen"]
    assert {late.map.functions[index] for index in late.indexes} == {"nlmeans_vert"}
    # Inlined: the call of gh stands in the kernel's own lines.
    assert all(150 < late.map.calls[index][-1].line < 200 for index in late.indexes)
    assert {by_stage[stage].kernel for stage in ("visa", "gen-assembly", "program")} == {"nlmeans_vert"}
    assert all("Line" not in text and "LOC" not in text for part in parts for text in part.texts)
    (nowhere,) = {part.indexes for part in pipeline.line(10**6).stages}
    assert nowhere == ()


def test_text_and_binary_are_read_by_the_stages_own_tools(pipeline: Pipeline, tmp_path: Path) -> None:
    (text,) = pipeline.choose("spirv", form="text")
    (module,) = pipeline.choose("spirv", form="binary")
    (tmp_path / "a.spvasm").write_bytes(text.content)
    run_tool("spirv-as", "--target-env", "spv1.4", tmp_path / "a.spvasm", "-o", tmp_path / "a.spv")
    assert _opcodes((tmp_path / "a.spv").read_bytes()) == _opcodes(module.content)
    if pipeline.build.device == "bmg":
        return  # IGC 2's LLVM is newer than any that Debian 12 has an assembler of.
    for stage in LLVM:
        (snapshot,) = pipeline.choose(stage)
        (tmp_path / "a.ll").write_bytes(snapshot.content)
        run_tool("llvm-as-15", tmp_path / "a.ll", "-o", tmp_path / "a.bc")


def run_tool(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{command[0]}: {done.stderr[:500]}"


def _opcodes(module: bytes) -> list[int]:
    words = struct.unpack(f"<{len(module) // 4}I", module)
    opcodes, position = [], 5
    while position < len(words):
        opcodes.append(words[position] & 0xFFFF)
        position += words[position] >> 16
    return opcodes


def test_spirv_without_debug_information_is_valid(small: Path, tmp_path: Path) -> None:
    (module,) = kernlens.stages(small, "dg2", lines=False).choose("spirv", form="binary")
    (tmp_path / "a.spv").write_bytes(module.content)
    run_tool("spirv-val", "--target-env", "spv1.4", tmp_path / "a.spv")


def test_iga_assembles_the_instructions_again(small: Path, tmp_path: Path) -> None:
    """``iga64 -a`` reads the stage's instructions, and they disassemble to the same text once more."""
    (code,) = kernlens.stages(small, "skl").choose("gen-assembly", form="binary")
    (tmp_path / "a.dat").write_bytes(code.content)
    run_tool("iga64", "-p=9", "-d", tmp_path / "a.dat", "-o", tmp_path / "a.asm")
    run_tool("iga64", "-p=9", "-a", tmp_path / "a.asm", "-o", tmp_path / "b.dat")
    assert (tmp_path / "b.dat").read_bytes() == code.content


def test_a_recording_keeps_the_snapshots(pipeline: Pipeline, tmp_path: Path) -> None:
    path = tmp_path / "nlmeans.klens"
    record([pipeline], path)
    (again,) = recorded_pipelines(path)
    assert [(snapshot.stage, snapshot.kernel, snapshot.form, snapshot.content) for snapshot in again] == [
        (snapshot.stage, snapshot.kernel, snapshot.form, snapshot.content) for snapshot in pipeline
    ]
    assert again.build.command == pipeline.build.command
    assert again.build.toolchain == pipeline.build.toolchain
    (program,) = kernlens.load(path)
    ours, theirs = program.line(42).stages, pipeline.line(42).stages
    assert [(part.stage, part.kernel, part.positions, part.texts) for part in ours] == [
        (part.stage, part.kernel, part.positions, part.texts) for part in theirs
    ]


@pytest.fixture(scope="module")
def passes(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    source = tmp_path_factory.mktemp("passes") / "scale.cl"
    source.write_text(SMALL)
    return kernlens.stages(source, "skl", all_passes=True)


def test_passes_that_change_nothing_are_folded(passes: Pipeline) -> None:
    ran = [row for row in passes if row.is_pass]
    assert len(ran) > 100
    numbers = [int(entry.stage[:4]) for entry in ran]
    assert numbers == sorted(numbers)
    steps = list(pass_steps(list(passes)))
    assert sum(step.count for step in steps) == len(ran)
    changed = [step for step in steps if step.changed]
    assert 10 < len(changed) < len(ran) / 2
    assert not any(first.changed is second.changed is False for first, second in pairwise(steps))
    # The loop passes, which dump loops alone, among them: their difference to a program would be most of it.
    parts = [step.snapshot for step in steps if step.changed is None]
    assert any("RotateLoops" in part.stage for part in parts)
    assert {entry.stage for entry in ran if "target datalayout" not in entry.text} == {part.stage for part in parts}
    stages = [step.stage for step in passes]
    # Unification ends with the IR that the stage of that name shows.
    unify = [element for element in ran if "-Unify-" in element.stage]
    (unified,) = passes.choose("llvm-unified")
    assert stages.index(unify[-1].stage) < stages.index("llvm-unified")
    changes = [
        line[1:] for line in difference(unify[-1], unified) if line[0] in "+-" and line[:3] not in ("+++", "---")
    ]
    assert not any(line.startswith(("  ", "define")) for line in changes)


def test_an_unknown_pass_is_named_with_its_nearest(passes: Pipeline) -> None:
    with pytest.raises(NotFoundError, match=r"no stage 'BIImprt'.*BIImport"):
        passes.choose("BIImprt")
    assert passes.choose("BIImport")[0].is_pass
    with pytest.raises(NotFoundError, match=r"ran \d+ times"):
        passes.choose("BreakConstantExprPass")


def test_without_passes_the_error_says_how_to_get_them(small: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no stage 'BIImport'.*--all-passes"):
        kernlens.stages(small, "skl").choose("BIImport")


def test_pocl_has_its_stages_as_text_and_binary(small: Path) -> None:
    result = kernlens.stages(small, "pocl", options="-g")
    assert [(item.stage, item.form) for item in result] == [
        ("source", "text"),
        ("llvm", "binary"),
        ("llvm", "text"),
        ("llvm-parallel", "binary"),
        ("llvm-parallel", "text"),
        ("object", "binary"),
        ("object", "text"),
        ("shared-object", "binary"),
        ("shared-object", "text"),
    ]
    parts = result.line(5).stages
    assert {part.stage for part in parts} == {"llvm", "llvm-parallel", "object", "shared-object", "program"}
    assert any("fmuladd" in text for part in parts for text in part.texts)
    assert b"scale" in result.choose("object", "scale", "text")[0].content
    path = small.with_suffix(".klens")
    program = opens_with_its_stages(result, path)
    assert (program.format, *program.kernels.keys()) == ("poclbin", "scale")
    (read,) = open_file(path).machine_code()
    assert read.kernels["scale"].instructions.texts


def opens_as_its_stages(result: Pipeline, path: Path) -> None:
    """A recording of another vendor's compiler holds no binary; it opens as a program of stages."""
    program = opens_with_its_stages(result, path)
    assert (program.format, dict(program.kernels), len(program.binary)) == ("stages", {}, 0)
    with pytest.raises(UnsupportedError, match="look at them with kernlens stages"):
        open_file(path).machine_code()


def opens_with_its_stages(result: Pipeline, path: Path) -> Program:
    record([result], path)
    (program,) = kernlens.load(path)
    assert result.build.toolchain is not None
    assert program.build.toolchain_title == result.build.toolchain.title
    assert [(snapshot.stage, snapshot.form, snapshot.content) for snapshot in program.build.snapshots] == [
        (item.stage, item.form, item.content) for item in result
    ]
    assert [part.texts for part in program.line(5).stages] == [part.texts for part in result.line(5).stages]
    return program


def test_intel_cpu_runtime(small: Path) -> None:
    if cpu_runtime_stages.runtime_library() is None:
        with pytest.raises(UnsupportedError, match="pip install intel-opencl-rt"):
            kernlens.stages(small, "intel-cpu")
        pytest.skip("Intel's CPU runtime is not installed: pip install intel-opencl-rt intel-cmplr-lib-rt")
    result = kernlens.stages(small, "intel-cpu", options="-g")
    assert [item.stage for item in result] == [stage.name for stage in CPU_RUNTIME.stages]
    assert result.choose("object")[0].content in result.choose("program")[0].content
    opens_as_its_stages(result, small.with_suffix(".klens"))
