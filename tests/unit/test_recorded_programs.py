"""What ``load`` makes of the programs in a recording: of their binary, their SPIR-V or their stages alone."""

from __future__ import annotations

from pathlib import Path

import kernlens
from kernlens.loading import open_file
from kernlens.model.stage import CompileRun, Snapshot
from kernlens.pipeline.compile_stages import Pipeline
from kernlens.recording.writer import ProgramEntry, RecordedToolchain, RecordingWriter, SnapshotEntry
from kernlens.report.overview import overview
from tests.writers.spirv import SpirvWriter

CHAIN = RecordedToolchain("a compiler 1.2")
STAGES = (SnapshotEntry("llvm", "text", ".ll", b"; nothing\n"), SnapshotEntry("object", "binary", ".o", b"\x01\x02"))
SOURCES = (("/src/one.cl", "kernel void one() {}\n"),)


def recording(folder: Path, *entries: ProgramEntry) -> Path:
    path = folder / "some.klens"
    with RecordingWriter(path) as writer:
        for one in entries:
            writer.add(one)
    return path


def test_programs_without_a_binary(tmp_path: Path) -> None:
    path = recording(
        tmp_path,
        ProgramEntry("one", "spirv", CHAIN, spirv=bytes(SpirvWriter().build()), sources=SOURCES, snapshots=STAGES[:1]),
        ProgramEntry("one", "pocl", CHAIN, sources=SOURCES, snapshots=STAGES),
        ProgramEntry("failed", "pocl", CHAIN, ok=False, reason="no", snapshots=STAGES),
        ProgramEntry("empty", "pocl", CHAIN),
    )
    spirv, stages = kernlens.load(path)
    assert (spirv.name, spirv.format, spirv.toolchain) == ("one:spirv", "spirv", "a compiler 1.2")
    assert (stages.name, stages.format, stages.device) == ("one:pocl", "stages", None)
    assert [one.stage for one in spirv.snapshots] == ["llvm"]
    assert [(one.stage, one.form, one.content) for one in stages.snapshots] == [
        ("llvm", "text", b"; nothing\n"),
        ("object", "binary", b"\x01\x02"),
    ]
    assert [(one.path, one.text) for one in stages.sources] == [(one.path, one.text) for one in spirv.sources]
    assert [(one.path, one.origin) for one in stages.sources] == [("/src/one.cl", "recording")]


def test_what_is_no_binary_after_all(tmp_path: Path) -> None:
    """A recording may come from anybody: unknown content is shown as that, and its stages are there."""
    path = recording(tmp_path, ProgramEntry("odd", "dg2", CHAIN, binary=b"no binary" * 9, snapshots=STAGES))
    contents = open_file(path)
    (program,) = contents.programs
    assert (program.format, len(program.snapshots)) == ("stages", 2)
    shown = "\n".join(overview("some.klens", contents.containers, contents.programs))
    assert "unknown content odd" in shown
    assert "llvm, object" in shown


def test_snapshots_that_failed_are_left_out_of_a_recording() -> None:
    run = CompileRun("one.cl", "dg2", "", "ocloc", ("a compiler 1.2",), True, None, "", 0.1)
    whole = Snapshot("llvm", None, "text", ".ll", lambda: b"; whole\n")
    failed = Snapshot("visa", "one", "text", ".visaasm", bytes, failure="the disk is full")
    assert [one.stage for one in Pipeline(run, (failed, whole)).entry().snapshots] == ["llvm"]
