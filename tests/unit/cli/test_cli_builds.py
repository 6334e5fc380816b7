"""compile and stages, with a compiler that is a script, and with recordings that the test writes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

import kernlens as package
from kernlens.cli.usage_advice import next_step
from kernlens.formats.neo_elf import DEVICE_BINARY, SPIRV
from kernlens.model.build import Build, HeldParts
from kernlens.recording.reader import Recording
from kernlens.recording.writer import RecordingWriter
from kernlens.toolchain.parallel_compiles import CompileJob, compile_many
from kernlens.verbs.programs import Opening, open_all
from tests.unit.conftest import Kernlens
from tests.writers.patch_tokens import neo_elf, program
from tests.writers.programs import SOURCE, binary, spirv
from tests.writers.recordings import FAILED, FULL


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "scale.cl"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def snapshots(tmp_path: Path) -> Path:
    """A recording with two snapshots of one program."""
    path = tmp_path / "add.klens"
    with RecordingWriter(path) as writer:
        writer.add(FULL)
    return path


def test_compile_prints_a_table_and_records(kernlens: Kernlens, compiler: Path, source: Path, tmp_path: Path) -> None:
    recording = tmp_path / "x.klens"
    done = kernlens("compile", source, "--device", "skl", "-o", recording)
    assert (done.status, done.err) == (0, "")
    assert done.out.split("\n")[1].split() == ["plain", "skl", "16", "0", "0", "0", "0", "0", "3", "48"]
    assert f"1 program, 2 kernels recorded in {recording}" in done.out
    with Recording(recording) as opened:
        (program,) = opened.builds()
        assert (program.name, program.device, program.ok, program.binary) == ("scale", "skl", True, binary())
        assert [(source.path, source.text) for source in program.sources] == [(str(source), SOURCE)]


@pytest.fixture
def finishing_last_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several compiles the one that was asked for last is ready first."""

    def reversed_results(jobs: Iterable[Any], work: Callable[..., Any], workers: int | None = None) -> Iterator[Any]:
        yield from reversed([work(job, lambda child: None) for job in jobs])

    monkeypatch.setattr("kernlens.toolchain.parallel_compiles.do_many", reversed_results)
    monkeypatch.setattr("kernlens.verbs.sweep.sweep.do_many", reversed_results)


ASKED = ["icllp", "skl", "dg2"]


@pytest.mark.slow
def test_programs_come_in_the_order_that_was_asked_for(
    kernlens: Kernlens, compiler: Path, source: Path, tmp_path: Path, finishing_last_first: None
) -> None:
    other = tmp_path / "other.cl"
    other.write_text(SOURCE)
    expected = [(name, device) for name in ("scale", "other") for device in ASKED]
    programs = package.compile([source, other], ASKED, cache=False, recording=tmp_path / "p.klens")
    assert [(program.build.name, program.build.device) for program in programs] == expected
    words = (source, other, "--device", ",".join(ASKED), "--no-cache")
    document = kernlens("compile", *words, "-o", "c.klens", "--json").document
    assert [(program["name"], program["device"]) for program in document["programs"]] == expected
    assert kernlens("sweep", *words, "-o", "s.klens").status == 0
    for recording in (tmp_path / "p.klens", Path("c.klens"), Path("s.klens")):
        with Recording(recording) as opened:
            recorded = [(Path(build.name).stem, build.device) for build in opened.builds()]
        assert recorded == expected, recording
    openings = [Opening(str(path), device) for device in ASKED for path in (other, source)]
    opened_programs = [program for each in open_all(openings) for program in each.programs]
    assert [(program.build.path, program.build.device) for program in opened_programs] == [
        (opening.path, opening.device) for opening in openings
    ]


def test_compile_as_json(kernlens: Kernlens, compiler: Path, source: Path, tmp_path: Path) -> None:
    words = ("--device", "skl,icllp", "-o", tmp_path / "x.klens", "--jobs", "1")
    document = kernlens("compile", source, *words, "--json").document
    assert document["recording"] == str(tmp_path / "x.klens")
    assert [(program["name"], program["device"], program["ok"]) for program in document["programs"]] == [
        ("scale", "skl", True),
        ("scale", "icllp", True),
    ]
    kernels = document["programs"][0]["kernels"]
    assert [(kernel["name"], kernel["simd"], kernel["instructions"]) for kernel in kernels] == [
        ("scale", 16, 3),
        ("plain", 16, 3),
    ]


def test_the_options_reach_the_compiler(kernlens: Kernlens, compiler: Path, source: Path, tmp_path: Path) -> None:
    kernlens("compile", source, "--device", "skl", "--build-options", "-DN=3", "-o", tmp_path / "x.klens")
    (call,) = compiler.with_name("calls").read_text().splitlines()
    assert f"compile -file {source} -device skl" in call
    assert "-DN=3" in call


def test_line_tables_are_asked_for_unless_they_are_refused(
    kernlens: Kernlens, compiler: Path, source: Path, tmp_path: Path
) -> None:
    def options(*words: str) -> str:
        recording = tmp_path / "x.klens"
        assert kernlens("compile", source, "--device", "skl", "-o", recording, *words).status == 0
        with Recording(recording) as opened:
            return opened.builds()[0].options or ""

    assert options() == "-gline-tables-only"
    assert options("--build-options", "-DN=3 -cl-fast-relaxed-math") == "-gline-tables-only -DN=3 -cl-fast-relaxed-math"
    assert options("--build-options", "-DN=3 -g") == "-DN=3 -g"
    assert options("--build-options", "-gline-tables-only -DN=3") == "-gline-tables-only -DN=3"
    assert options("--build-options", "-DN=3", "--no-lines") == "-DN=3"
    assert options("--no-lines") == ""


def test_products_and_all_devices(kernlens: Kernlens, compiler: Path, source: Path, tmp_path: Path) -> None:
    def devices(name: str) -> list[str]:
        document = kernlens("compile", source, "--device", name, "-o", tmp_path / "x.klens", "--json").document
        return sorted(program["device"] for program in document["programs"])

    assert devices("A770") == ["dg2"]
    assert devices("skylake,skl") == ["skl"]
    assert devices("all") == ["dg2", "icllp", "skl"]


def test_a_source_that_does_not_compile(kernlens: Kernlens, compiler: Path, tmp_path: Path) -> None:
    source = tmp_path / "broken.cl"
    source.write_text("broken\n")
    done = kernlens("compile", source, "--device", "skl", "-o", tmp_path / "x.klens")
    assert done.status == 3
    assert f"kernlens: {source} does not compile for skl" in done.err
    assert "error: it is broken\n  broken\n  ^\n" in done.err
    done = kernlens("compile", source, "--device", "skl", "-o", tmp_path / "x.klens", "--json")
    assert done.status == 3
    (program,) = done.document["programs"]
    assert (program["ok"], program["kernels"]) == (False, [])


def test_what_is_wrong_for_several_devices_is_said_once(kernlens: Kernlens, compiler: Path, tmp_path: Path) -> None:
    messages = 'for n in 1 2 3 4 5 6 7; do echo "$source:$n:1: error: no $n"; done'
    compiler.write_text(compiler.read_text().replace('echo "$source:1:1: error: it is broken"', messages))
    source = tmp_path / "broken.cl"
    source.write_text("broken\n" * 9)
    done = kernlens("compile", source, "--device", "skl,icllp,dg2", "-o", tmp_path / "x.klens")
    assert done.status == 3
    assert done.err.startswith(f"kernlens: {source} does not compile for dg2, icllp, skl (toolchain system)\n")
    assert [f"no {number}" in done.err for number in range(1, 8)] == [True] * 5 + [False] * 2
    assert all(done.err.count(f"no {number}\n") == 1 for number in range(1, 6))
    assert "and 2 more errors; kernlens compile --log prints all" in done.err


@pytest.mark.parametrize("devices", ["skl", "skl,icllp"])
def test_where_nothing_compiles_no_recording_is_written(
    devices: str, kernlens: Kernlens, compiler: Path, source: Path, tmp_path: Path
) -> None:
    (tmp_path / "broken.cl").write_text("broken\n")
    recording = tmp_path / "x.klens"
    words = ("compile", tmp_path / "broken.cl", "--device", devices, "-o", recording)
    done = kernlens(*words)
    assert (done.status, done.out) == (3, "")
    assert done.err.endswith("kernlens: nothing compiled, so no recording was written\n")
    assert kernlens(*words, "--json").document["recording"] is None
    assert list(tmp_path.glob("*x.klens*")) == []
    assert kernlens("compile", source, "--device", "skl", "-o", recording).status == 0
    before = recording.read_bytes()
    assert f"nothing compiled, so {recording} stays as it was\n" in kernlens(*words).err
    assert recording.read_bytes() == before


def test_what_failed_before_something_compiled_is_recorded_too(
    kernlens: Kernlens, compiler: Path, source: Path, tmp_path: Path
) -> None:
    (tmp_path / "broken.cl").write_text("broken\n")
    recording = tmp_path / "x.klens"
    done = kernlens("compile", tmp_path / "broken.cl", source, "--device", "skl", "-o", recording, "--jobs", "1")
    assert done.status == 3
    with Recording(recording) as opened:
        assert [(build.name, build.ok) for build in opened.builds()] == [("broken", False), (source.stem, True)]
    assert done.out.endswith(f"1 program, 2 kernels and 1 failed build recorded in {recording}\n")


@pytest.mark.parametrize("finished", [0, 1])
def test_an_interrupted_compile_leaves_what_is_recorded_and_nothing_else(
    finished: int, kernlens: Kernlens, compiler: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(jobs: list[CompileJob], *_: object) -> Iterator[tuple[int, Build]]:
        yield from itertools.islice(compile_many(jobs, 1, None), finished)
        raise KeyboardInterrupt

    monkeypatch.setattr("kernlens.verbs.compile.compile_many", interrupted)
    recording = tmp_path / "x.klens"
    assert kernlens("compile", source, "--device", "skl,icllp", "-o", recording).status == 130
    assert [path.name for path in tmp_path.glob("*x.klens*")] == ["x.klens"] * finished
    if finished:
        with Recording(recording) as opened:
            assert [build.device for build in opened.builds()] == ["skl"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "scale.cl: add --device D, such as dg2"),
        (("--device", "sk"), "knows no device 'sk'; did you mean skl"),
        (("--device", "skl", "--toolchain", "old"), "there is no toolchain 'old'; there are: system"),
        (("--device", "skl", "--jobs", "0"), "--jobs"),
        (("--device", "skl", "-o", "/nowhere/x.klens"), "/nowhere/x.klens"),
    ],
)
def test_what_compile_refuses(
    words: tuple[str, ...], sentence: str, kernlens: Kernlens, compiler: Path, source: Path
) -> None:
    done = kernlens("compile", source, *words)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err
    assert "Traceback" not in done.err


def test_without_a_compiler_the_package_is_named(
    kernlens: Kernlens, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    names = ("intel-opencl-icd", "clang-15", "llvm-spirv-15")
    monkeypatch.setattr("kernlens.toolchain.packages._packages", lambda: names)
    done = kernlens("compile", source, "--device", "skl", "-o", tmp_path / "x.klens")
    assert done.status == 3
    assert "apt install intel-opencl-icd" in done.err
    done = kernlens("compile", source, "--library")
    assert done.status == 3
    assert "apt install clang-15 llvm-spirv-15" in done.err


def test_stages_of_a_recording(kernlens: Kernlens, snapshots: Path) -> None:
    done = kernlens("stages", snapshots)
    assert done.status == 0
    assert "source" in done.out
    document = kernlens("stages", snapshots, "--json").document
    (pipeline,) = document["pipelines"]
    assert [(snapshot["stage"], snapshot["kernel"], snapshot["form"]) for snapshot in pipeline["snapshots"]] == [
        ("source", None, "text"),
        ("asm", "add", "text"),
    ]
    assert kernlens("stages", snapshots, "--device", "bmg-g21") == done
    assert "  $ ocloc compile -file add.cl\n" in done.out


def test_stages_of_a_build_without_a_command(kernlens: Kernlens, snapshots: Path) -> None:
    """An application's: it has options alone."""
    with RecordingWriter(snapshots, overwrite=True) as writer:
        writer.add(replace(FULL, command=""))
    out = kernlens("stages", snapshots).out
    assert "  options: -g -DX=é\n" in out
    assert "$" not in out


def test_one_stage_as_it_is(kernlens: Kernlens, snapshots: Path) -> None:
    assert kernlens("stages", snapshots, "--stage", "source").out == FULL.sources[0].text
    (shown,) = kernlens("stages", snapshots, "--stage", "source", "--json").document["snapshots"]
    assert (shown["stage"], shown["text"]) == ("source", FULL.sources[0].text)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--stage", "sorce"), "source"),
        (("--stage", "source", "--line", "1"), "--stage and --line exclude each other; remove --line"),
        (("--line", "x"), "x"),
        (("--device", "skl"), "contains no program for skl; it contains some for bmg"),
        (("--stage", "asm", "--kernel", "none"), "none"),
    ],
)
def test_what_stages_refuses(words: tuple[str, ...], sentence: str, kernlens: Kernlens, snapshots: Path) -> None:
    done = kernlens("stages", snapshots, *words)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err
    assert "Traceback" not in done.err


def test_builds_without_stages_are_not_left_out_unsaid(kernlens: Kernlens, tmp_path: Path) -> None:
    path = tmp_path / "two.klens"
    with RecordingWriter(path) as writer:
        writer.add(FULL)
        writer.add(replace(FULL, name="other", parts=HeldParts(binary=binary())))
    done = kernlens("stages", path)
    assert done.status == 0
    assert f"1 of 2 builds in {path} hold no stages, and are left out" in done.err


def test_stages_need_a_source_and_a_device(kernlens: Kernlens, source: Path, tmp_path: Path) -> None:
    assert "no target device" in kernlens("stages", source).err
    (tmp_path / "x.bin").write_bytes(binary())
    done = kernlens("stages", tmp_path / "x.bin")
    assert done.status == 2
    assert "is a finished binary, which contains no stages; compile its source: kernlens stages SOURCE" in done.err
    (tmp_path / "x.bin").write_bytes(neo_elf([(SPIRV, spirv()), (DEVICE_BINARY, program([]))]))
    assert "compile its source, or the SPIR-V that 'kernlens extract " in kernlens("stages", tmp_path / "x.bin").err
    with RecordingWriter(tmp_path / "none.klens") as writer:
        writer.add(FAILED)
    done = kernlens("stages", tmp_path / "none.klens")
    assert done.status == 2
    assert "contains neither source nor SPIR-V of broken" in done.err
    (tmp_path / "x.spv").write_bytes(spirv())
    assert "--device D" in kernlens("stages", tmp_path / "x.spv").err


@pytest.mark.parametrize("question", [(), ("--line", "1"), ("--stage", "visa"), ("--diff", "source", "visa")])
def test_stages_of_a_source_that_does_not_compile(
    question: tuple[str, ...], kernlens: Kernlens, compiler: Path, tmp_path: Path
) -> None:
    """The compiler's error comes first, once, and makes the exit status, whatever is asked."""
    source = tmp_path / "broken.cl"
    source.write_text("broken\n")
    done = kernlens("stages", source, "--device", "skl", *question)
    assert done.status == 3
    assert done.err.startswith(
        f"kernlens: {source} does not compile for skl (toolchain system)\n{source}:1:1: error: it is broken\n"
    )
    assert "error: it is broken\n  broken\n  ^\n" in done.err
    assert done.err.count("does not compile") == 1
    done = kernlens("stages", source, "--device", "skl", *question, "--json")
    assert done.status == 3
    assert set(done.document) > {"schema"}


def test_failed_stages_replace_no_recording_and_say_so(kernlens: Kernlens, compiler: Path, tmp_path: Path) -> None:
    source, path = tmp_path / "broken.cl", tmp_path / "x.klens"
    source.write_text("broken\n")
    words = ("stages", source, "--device", "skl", "-o", path)
    assert "stays as it was" not in kernlens(*words).err
    with Recording(path) as recording:
        assert [build.ok for build in recording.builds()] == [False], "with the stages that it came to"
    before = path.read_bytes()
    assert f"kernlens: nothing compiled, so {path} stays as it was\n" in kernlens(*words).err
    assert path.read_bytes() == before


def test_a_failed_program_of_a_recording_hides_no_other(kernlens: Kernlens, tmp_path: Path) -> None:
    path = tmp_path / "two.klens"
    broken = replace(FAILED, parts=HeldParts(sources=FULL.sources, snapshots=FULL.snapshots[:1]))
    with RecordingWriter(path) as writer:
        writer.add(broken)
        writer.add(FULL)
    done = kernlens("stages", path, "--stage", "asm")
    assert (done.status, done.out) == (3, FULL.snapshots[1].text + "\n")
    assert "it does not compile" in done.err.splitlines()[0]
    assert "there is no stage 'asm' here" in done.err
    assert kernlens("stages", path, "--stage", "source").out == 2 * FULL.sources[0].text


def test_a_header_that_is_not_recorded_is_named(kernlens: Kernlens, source: Path, compiler: Path) -> None:
    outside = source.parent.with_name(f"{source.parent.name}-outside")
    outside.mkdir()
    header = outside / "private.h"
    header.write_text("")
    source.write_text(f'#include "{header}"\n' + source.read_text())
    done = kernlens("compile", source, "--device", "skl", "-o", source.parent / "x.klens")
    assert done.status == 0
    assert f"kernlens: {header} is included and not recorded: it lies at {header.parent}, outside" in done.err


def test_a_header_that_must_not_be_read(kernlens: Kernlens, compiler: Path, tmp_path: Path) -> None:
    reason = "cannot open file './x.h': Permission denied"
    compiler.write_text(compiler.read_text().replace("it is broken", reason))
    (tmp_path / "k.cl").write_text("broken")
    done = kernlens("compile", tmp_path / "k.cl", "--device", "skl", "-o", tmp_path / "k.klens")
    assert "kernlens: you may not read ./x.h: ls -l ./x.h shows who may\n" in done.err


@pytest.mark.parametrize(
    ("message", "step"),
    [
        ("Path 'k.cl' is not readable.", " You may not read it: ls -l shows who may."),
        ("File 'k' is a directory.", " Name a file in it."),
        ("anything else", ""),
    ],
)
def test_the_next_step_after_a_path_that_click_refuses(message: str, step: str) -> None:
    assert next_step(click.BadParameter(message), []) == step
