"""Recordings: what goes in comes out; what is left out, refused or kept readable."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from kernlens.errors import KernlensError, OutputError
from kernlens.model.build import Build, HeldParts, Source
from kernlens.recording.reader import Recording
from kernlens.recording.schema import is_recording
from kernlens.recording.writer import RecordingWriter
from tests.writers.recordings import CHAIN, FAILED, FULL, SOURCE, beside, entry, holding, make_older


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    path = tmp_path / "a b.klens"
    with RecordingWriter(path, command_line=["kernlens", "compile", "x y"]) as writer:
        assert writer.add(FULL) == 1
        assert writer.add(FAILED) == 2
    assert is_recording(path.read_bytes()[:100])
    with Recording(path) as recording:
        first, second = recording.builds()
        assert (first.name, first.device, first.toolchain) == ("add", "bmg", CHAIN)
        assert (first.options, first.ok, first.reason, first.seconds) == (FULL.options, True, None, 0.25)
        assert (first.command, first.log) == (FULL.command, FULL.log)
        assert (first.binary, first.debug, first.spirv) == (FULL.binary, FULL.debug, FULL.spirv)
        assert [(source.path, source.text) for source in first.sources] == [
            (source.path, source.text) for source in FULL.sources
        ]
        assert {source.origin for source in first.sources} == {"recording"}
        assert [(s.stage, s.kernel, s.form, s.ending, s.attempt) for s in first.snapshots] == [
            ("source", None, "text", ".cl", 1),
            ("asm", "add", "text", ".asm", 2),
        ]
        assert [snapshot.content for snapshot in first.snapshots] == [s.content for s in FULL.snapshots]
        assert (second.ok, second.reason, second.binary, second.sources) == (False, FAILED.reason, b"", ())
        assert recording.command_line == ("kernlens", "compile", "x y")
        assert recording.metadata["kernlens_version"]
        assert not recording.redacted


def test_the_first_schema_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "old.klens"
    with RecordingWriter(path) as writer:
        writer.add(FULL)
    connection = sqlite3.connect(path, isolation_level=None)
    rows = connection.execute("SELECT program, position, stage, kernel, form, ending, blob FROM snapshot").fetchall()
    make_older(connection, 1)
    connection.executemany("INSERT INTO snapshot VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.close()
    with Recording(path) as recording:
        (program,) = recording.builds()
        assert [(snapshot.kernel, snapshot.attempt) for snapshot in program.snapshots] == [(None, 1), ("add", 1)]
        assert [snapshot.content for snapshot in program.snapshots] == [s.content for s in FULL.snapshots]


def test_equal_content_is_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    content = random.Random(1).randbytes(200_000)
    with RecordingWriter(path) as writer:
        for number in range(10):
            writer.add(holding(f"p{number}", content))
    assert path.stat().st_size < 300_000
    with Recording(path) as recording:
        assert {program.binary for program in recording.builds()} == {content}


def test_redacted_sources(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    with RecordingWriter(path, redact_source=True) as writer:
        writer.add(FULL)
    whole = b""
    with Recording(path) as recording:
        assert recording.redacted
        program = recording.builds()[0]
        assert program.sources == ()
        assert program.parts.source_paths == ("/src/add.cl", "/src/add.h")
        assert program.snapshots == ()
        assert program.log.splitlines()[0] == "1:2:5: warning: x"
        assert len(program.spirv) == len(FULL.spirv)
        assert program.spirv.startswith(b"\x03\x02\x23\x07 ****")
        assert program.spirv.endswith(b" tail")
        whole = program.log.encode() + program.spirv + program.binary
    for line in (b"kernel void add(", b"a[0] = a[0]", b"// header"):
        assert line in SOURCE.encode() + b"// header"
        assert line not in whole
        assert line not in path.read_bytes()


def test_sources_that_were_not_read_keep_their_names(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    sources = (Source("/src/a.cl", "text"), Source("/home/me/.ssh/id_rsa", "", unread="it is hidden"))
    with RecordingWriter(path) as writer:
        writer.add(Build("a", "dg2", parts=HeldParts(sources=sources)))
    (build,) = Recording(path).builds()
    assert [source.path for source in build.sources] == ["/src/a.cl"]
    assert build.parts.source_paths == ("/src/a.cl", "/home/me/.ssh/id_rsa")


def test_no_overwriting_by_accident(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    RecordingWriter(path).close()
    assert not path.exists(), "a new recording without a program"
    with RecordingWriter(path) as writer:
        writer.add(FULL)
    with pytest.raises(OutputError, match="exists; choose another name"):
        RecordingWriter(path)
    RecordingWriter(path, overwrite=True).close()
    assert path.exists()
    path.write_text("my only copy")
    with pytest.raises(OutputError, match="is not a recording; kernlens leaves it alone"):
        RecordingWriter(path, overwrite=True)
    assert path.read_text() == "my only copy"
    with pytest.raises(OutputError, match="is a folder"):
        RecordingWriter(tmp_path, overwrite=True)
    with pytest.raises(OutputError, match="cannot be written"):
        RecordingWriter(tmp_path / "gone" / "x.klens")
    assert beside(path) == []


def test_a_closed_writer_and_a_closed_reader(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    writer = RecordingWriter(path)
    writer.add(FULL)
    writer.close()
    writer.close()
    with pytest.raises(OutputError, match="is closed"):
        writer.add(FULL)
    recording = Recording(path)
    program = recording.builds()[0]
    recording.close()
    with pytest.raises(KernlensError):
        _ = program.binary


def test_odd_names_are_kept_readable(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    with RecordingWriter(path) as writer:
        writer.add(
            Build(
                "n\udcff",
                "dg2",
                command="c\udc80",
                parts=HeldParts(sources=(Source("p\udcff", "t\udcff"),)),
            )
        )
    with Recording(path) as recording:
        program = recording.builds()[0]
        assert (program.name, program.command) == ("n?", "c?")
        assert [(source.path, source.text) for source in program.sources] == [("p?", "t?")]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on the database's pages stands in for the disk's: SQLite reports both as SQLITE_FULL."""
    path = tmp_path / "x.klens"
    with RecordingWriter(path) as writer:
        writer.add(entry(1))
        assert writer._connection is not None
        writer._connection.execute("PRAGMA max_page_count=40")
        with pytest.raises(OutputError, match="full"):
            writer.add(entry(2, 400_000))
        writer.add(entry(3, 1000))
    with Recording(path) as recording:
        assert [program.name for program in recording.builds()] == ["p1", "p3"]
