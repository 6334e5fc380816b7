"""``kernlens recording``: what it prints, chooses and refuses."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from kernlens.recording.reader import Recording
from kernlens.recording.writer import RecordingWriter
from tests.unit.conftest import Kernlens
from tests.writers.programs import binary
from tests.writers.recordings import FAILED, FULL, holding, record


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with RecordingWriter("a.klens", command_line=["x"]) as writer:
        writer.add(holding("scale", binary(), seconds=1.25, created="2026-01-02T03:04:05.678+00:00"))
        writer.add(replace(FULL, parts=replace(FULL.parts, binary=b"PTX", spirv=b"")))  # type: ignore[type-var]
        writer.add(FAILED)
    return Path("a.klens")


def names(path: Path) -> list[str]:
    return [build.name for build in Recording(path).builds()]


def test_a_recording_is_listed_in_a_row_for_each_build(kernlens: Kernlens, recording: Path) -> None:
    done = kernlens("recording", "list", recording)
    assert (done.status, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines()]
    assert rows[1] == [
        *("scale", "dg2", "NEO", "26.27.39122", "/", "IGC", "2.40.14", "built", "2", "0", "0"),
        *(f"{len(binary()):,}", "1.25", "2026-01-02", "03:04:05"),
    ]
    assert rows[2][7:11] == ["built", "0", "2", "2"]
    assert rows[3][7:11] == ["refused", "0", "0", "0"]
    assert {row[0] for row in rows[6:-1]} == {"binaries", "debug", "sources", "logs", "stages"}
    assert rows[-1][:3] == ["3", "programs", "in"]
    document = kernlens("recording", "list", recording, "--json").document
    assert document["metadata"]["command_line"] == '["x"]'
    assert document["size"] == recording.stat().st_size
    assert [program["kernels"] for program in document["programs"]] == [2, 0, 0]
    assert document["programs"][1]["sources"] == ["/src/add.cl", "/src/add.h"]
    (sources,) = [row for row in document["contents"] if row["kind"] == "sources"]
    assert (sources["number"], sources["size"]) == (2, sum(len(each.text.encode()) for each in FULL.sources))


def test_list_of_a_capture(kernlens: Kernlens, recording: Path) -> None:
    def noted(text: str) -> None:
        with RecordingWriter(recording, overwrite=True) as writer:
            writer.add(holding("one", binary()))
            writer.add(holding("two", binary()))
            writer.note("capture", text)

    kernel = {"program": "two", "device": "dg2", "name": "a", "launches": 5}
    noted(json.dumps({"kernels": [kernel, {**kernel, "name": "b", "launches": 2}]}))
    rows = [line.split() for line in kernlens("recording", "list", recording).out.splitlines()]
    assert rows[0][5] == "launches"
    assert [row[9] for row in rows[1:3]] == ["0", "7"]
    document = kernlens("recording", "list", recording, "--json").document
    assert [program["launches"] for program in document["programs"]] == [0, 7]
    noted('{"kernels": 3}')
    done = kernlens("recording", "list", recording)
    assert (done.status, "launches" in done.out, done.err.count("\n")) == (2, False, 1)


def test_list_of_a_damaged_program(kernlens: Kernlens, recording: Path) -> None:
    with RecordingWriter(recording, overwrite=True) as writer:
        writer.add(holding("good", binary()))
        writer.add(holding("bad", binary()[:-60]))
    done = kernlens("recording", "list", recording)
    assert done.status == 2
    assert done.err.startswith("kernlens: bad for dg2 cannot be read: ")
    assert done.err.count("\n") == 1
    assert "good" in done.out


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("scale", ["scale"]), ("pla*", ["scale"]), ("a*", ["add"]), ("*", ["scale", "add", "broken"]), ("?dd", ["add"])],
)
def test_programs_are_kept_by_their_names_and_by_those_of_kernels(
    pattern: str, expected: list[str], kernlens: Kernlens, recording: Path
) -> None:
    done = kernlens("recording", "prune", recording, "--keep", pattern, "-o", "b.klens")
    assert (done.status, done.err) == (0, "")
    assert names(Path("b.klens")) == expected
    assert names(recording) == ["scale", "add", "broken"]


def test_prune_in_place_merge_and_redact(kernlens: Kernlens, recording: Path) -> None:
    before = recording.stat().st_size
    document = kernlens("recording", "prune", recording, "--drop", "stages,logs", "--drop", "debug", "--json").document
    size = recording.stat().st_size
    assert document == {
        "schema": 1, "recording": "a.klens", "programs": 3, "left_out": 0, "size_before": before, "size": size,
    }  # fmt: skip
    assert not any(build.snapshots or build.log or build.debug for build in Recording(recording).builds())
    done = kernlens("recording", "merge", recording, recording, "-o", "b.klens")
    assert done.out.startswith("3 programs in b.klens, 3 programs the same as one of these: ")
    done = kernlens("recording", "redact", recording, "--source")
    assert done.out.startswith("3 programs in a.klens: ")
    assert "without source text" in kernlens("recording", "list", recording).out
    assert b"kernel void add" not in recording.read_bytes()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("list", "nowhere"), "there is no recording nowhere"),
        (("list", "text"), "text is not a kernlens recording"),
        (("merge", "a.klens"), "Missing option '-o'"),
        (("merge", "-o", "b.klens"), "Missing argument 'FILE...'"),
        (("merge", "a.klens", "text", "-o", "b.klens"), "text is not a kernlens recording"),
        (("merge", "a.klens", "-o", "text"), "text exists and is not a recording; kernlens leaves it alone"),
        (("prune", "a.klens"), "choose what to keep"),
        (("prune", "a.klens", "--drop", "source"), "--drop does not support 'source'; it supports sources, binaries"),
        (("prune", "a.klens", "--keep", "none"), "no program of a.klens is chosen"),
        (("prune", "a.klens", "--keep", "*", "-o", "."), " is a folder; name a file"),
        (("redact", "a.klens"), "add --source"),
        (("redact", "gone.klens", "--source"), "there is no recording"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_use(words: tuple[str, ...], sentence: str, kernlens: Kernlens, recording: Path) -> None:
    Path("text").write_text(
        "my only copy of this, which is rather more than a hundred bytes long, so that it is all read" * 2
    )
    before = recording.read_bytes()
    done = kernlens("recording", *words)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err
    assert recording.read_bytes() == before
    assert sorted(path.name for path in Path().iterdir()) == ["a.klens", "text"]


def test_hostile_names_are_printable(kernlens: Kernlens, recording: Path) -> None:
    connection = sqlite3.connect(recording)
    connection.execute("UPDATE program SET name = ?, created = ?", ("x\x1b[31m\n", "now\x07"))
    connection.execute("UPDATE part SET path = ?", ("\x1b]0;x\x07",))
    connection.commit()
    connection.close()
    for words in (("list",), ("prune", "--keep", "*"), ("redact", "--source")):
        done = kernlens("recording", words[0], recording, *words[1:])
        assert done.status == 0
        assert not {"\x1b", "\x07"} & set(done.out + done.err)


def test_a_recording_that_is_compiled_again_stays(
    kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record(Path("app.klens"), holding("scale", binary()))
    before = Path("app.klens").read_bytes()
    for words in ((), ("-o", "app.klens"), ("-o", f"{tmp_path}/./app.klens")):
        done = kernlens("compile", "app.klens", "--device", "skl", *words)
        assert (done.status, "would be overwritten by what is compiled from it" in done.err) == (2, True)
    assert Path("app.klens").read_bytes() == before
