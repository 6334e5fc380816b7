"""What ``load`` makes of the programs in a recording: of their binary, their SPIR-V or their stages alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kernlens
from kernlens.cli.answers.overview import overview, program_lines
from kernlens.explorer.served import SourceBuild, open_served
from kernlens.loading import open_file
from kernlens.model.build import Build, BuildToolchain, HeldParts, Source
from kernlens.model.stage import Snapshot
from kernlens.recording import blobs
from kernlens.recording.blobs import PackedBlob, unpack
from kernlens.recording.editing import merge
from kernlens.recording.reader import Recording
from kernlens.recording.writer import RecordingWriter
from kernlens.toolchain.confinement import Limits
from tests.writers.spirv import SpirvWriter

CHAIN = BuildToolchain("a compiler 1.2")
STAGES = (
    Snapshot("llvm", None, "text", ".ll", lambda: b"; nothing\n"),
    Snapshot("object", None, "binary", ".o", lambda: b"\x01\x02"),
)
SOURCES = (Source("/src/one.cl", "kernel void one() {}\n"),)


def recording(folder: Path, *builds: Build) -> Path:
    path = folder / "some.klens"
    with RecordingWriter(path) as writer:
        for build in builds:
            writer.add(build)
    return path


def test_programs_without_a_binary(tmp_path: Path) -> None:
    path = recording(
        tmp_path,
        Build(
            "one",
            "spirv",
            CHAIN,
            parts=HeldParts(spirv=bytes(SpirvWriter().build()), sources=SOURCES, snapshots=STAGES[:1]),
        ),
        Build("one", "pocl", CHAIN, parts=HeldParts(sources=SOURCES, snapshots=STAGES)),
        Build("failed", "pocl", CHAIN, ok=False, reason="no", parts=HeldParts(snapshots=STAGES)),
        Build("empty", "pocl", CHAIN),
    )
    module, stages = kernlens.load(path)
    assert (module.name, module.format, module.build.toolchain_title) == ("one:spirv", "spirv", "a compiler 1.2")
    assert (stages.name, stages.format, stages.device) == ("one:pocl", "stages", None)
    assert [snapshot.stage for snapshot in module.build.snapshots] == ["llvm"]
    assert [(snapshot.stage, snapshot.form, snapshot.content) for snapshot in stages.build.snapshots] == [
        ("llvm", "text", b"; nothing\n"),
        ("object", "binary", b"\x01\x02"),
    ]
    assert [(source.path, source.text) for source in stages.sources] == [
        (source.path, source.text) for source in module.sources
    ]
    assert [(entry.path, entry.origin) for entry in stages.sources] == [("/src/one.cl", "recording")]


def linked(folder: Path, name: str, inputs: dict[int, list[int]], *sources: tuple[Source, ...]) -> Path:
    """A recording of programs with these sources; ``inputs`` are those that each, by its number, was linked from."""
    path = folder / name
    with RecordingWriter(path) as writer:
        for number, own in enumerate(sources, 1):
            parts = HeldParts(sources=own, snapshots=STAGES)
            writer.add(Build(f"p{number}", "dg2", CHAIN, f"-DN={number}", parts=parts))
        writer.note(
            "capture", json.dumps({"builds": [{"program": key, "inputs": value} for key, value in inputs.items()]})
        )
    return path


HEADER = Source("/src/one.h", "int one;\n")
NAMELESS, OTHER = Source("", "kernel void two() {}\n"), Source("", "kernel void three() {}\n")


@pytest.mark.parametrize(
    ("inputs", "sources", "texts"),
    [
        ({3: [1]}, [(NAMELESS,), (OTHER,), ()], [NAMELESS.text]),
        # By way of a library; one that two are made from is there once.
        ({3: [1, 2], 4: [3]}, [(NAMELESS, HEADER), (NAMELESS, HEADER), (), ()], [NAMELESS.text, HEADER.text]),
        ({3: [1, 2]}, [(NAMELESS,), (OTHER, HEADER), ()], [HEADER.text]),
        ({3: [1]}, [(NAMELESS,), (), (OTHER,)], [OTHER.text]),
        # Nobody is linked from himself, or from what is not there.
        ({1: [1, 2], 2: [1, 2, 3, 99]}, [(), ()], []),
    ],
)
def test_a_linked_program_has_the_sources_of_what_it_was_linked_from(
    tmp_path: Path, inputs: dict[int, list[int]], sources: list[tuple[Source, ...]], texts: list[str]
) -> None:
    path = linked(tmp_path, "a.klens", inputs, *sources)
    assert sorted(source.text for source in kernlens.load(path)[-1].sources) == sorted(texts)
    merge([linked(tmp_path, "b.klens", {}, SOURCES), path], tmp_path / "c.klens")
    assert sorted(source.text for source in kernlens.load(tmp_path / "c.klens")[-1].sources) == sorted(texts)


def test_a_linked_program_is_edited_with_the_options_of_its_compile_too(tmp_path: Path) -> None:
    path = linked(tmp_path, "a.klens", {3: [1, 2]}, (NAMELESS, HEADER), SOURCES, ())
    served = open_served(
        [str(path)], source_build=SourceBuild("dg2", "system", ""), include=(), limits=Limits(), source_roots=()
    )
    sources, options = served.sources(HEADER.path, "int two;\n", served.programs[-1])
    assert [(source.path, source.text) for source in sources] == [("", NAMELESS.text), (HEADER.path, "int two;\n")]
    assert options == "-DN=1 -DN=3"


def test_what_is_no_binary_after_all(tmp_path: Path) -> None:
    """A recording may come from anybody: unknown content is shown as that, and its stages are there."""
    path = recording(tmp_path, Build("odd", "dg2", CHAIN, parts=HeldParts(binary=b"no binary" * 9, snapshots=STAGES)))
    contents = open_file(path)
    (program,) = contents.programs
    assert (program.format, len(program.build.snapshots)) == ("stages", 2)
    shown = "\n".join(overview("some.klens", contents.containers, map(program_lines, contents.programs)))
    assert "unknown content odd" in shown
    assert "llvm, object" in shown


def test_snapshots_that_failed_are_left_out_of_a_recording(tmp_path: Path) -> None:
    whole = Snapshot("llvm", None, "text", ".ll", lambda: b"; whole\n")
    failed = Snapshot("visa", "one", "text", ".visaasm", bytes, failure="the disk is full")
    path = recording(tmp_path, Build("one", "dg2", CHAIN, parts=HeldParts(snapshots=(failed, whole))))
    (build,) = Recording(path).builds()
    assert [snapshot.stage for snapshot in build.snapshots] == ["llvm"]


def test_opening_a_recording_unpacks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage of the second program's content is noticed when that program is asked for, and no sooner."""
    spirv = bytes(SpirvWriter().build())
    parts = HeldParts(spirv=spirv, sources=SOURCES, snapshots=STAGES)
    path = recording(tmp_path, *(Build(f"p{number}", "spirv", CHAIN, parts=parts) for number in range(3)))
    unpacked: list[int] = []

    def unpack_and_count(blob: PackedBlob) -> bytes:
        unpacked.append(blob.size)
        return unpack(blob)

    monkeypatch.setattr(blobs, "unpack", unpack_and_count)
    programs = kernlens.load(path)
    assert programs
    assert unpacked == [len(spirv)], "only what the first program is made from"
    assert [snapshot.size for snapshot in programs[0].build.snapshots] == [10, 2]
    assert programs[0].build.snapshots[0].content == b"; nothing\n"
    assert unpacked == [len(spirv), 10]
    assert [program.name for program in programs] == ["p0", "p1", "p2"]
    assert unpacked == [len(spirv), 10], "what all programs are made from is unpacked once"


def test_another_folder_and_another_file_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was opened stays what it was."""
    path = recording(tmp_path, Build("old", "pocl", CHAIN, parts=HeldParts(sources=SOURCES, snapshots=STAGES)))
    monkeypatch.chdir(tmp_path)
    programs = kernlens.load(path.name)
    (build,) = Recording(path.name).builds()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with RecordingWriter(path, overwrite=True) as writer:
        writer.add(Build("new", "pocl", CHAIN, parts=HeldParts(snapshots=STAGES[:1])))
        assert [program.name for program in programs] == ["old"]
        assert [snapshot.content for snapshot in build.snapshots] == [b"; nothing\n", b"\x01\x02"]
    path.unlink()
    assert [source.text for source in programs[0].sources] == ["kernel void one() {}\n"]
