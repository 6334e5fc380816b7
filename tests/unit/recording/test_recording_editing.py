"""Recordings made of recordings: merged, pruned, redacted; and what is there when that is interrupted."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernlens.errors import FormatError, NotFoundError, OutputError
from kernlens.model.build import Build, HeldParts, Source
from kernlens.recording.editing import merge, prune, redact_source
from kernlens.recording.inventory import stored_programs
from kernlens.recording.reader import Recording
from kernlens.recording.writer import RecordingWriter
from tests.limits import memory
from tests.writers.recordings import FAILED, FULL, beside, entry, holding, snapshot
from tests.writers.spirv import SpirvWriter


def recorded(path: Path, *builds: Build, **notes: object) -> Path:
    with RecordingWriter(path, command_line=["kernlens", path.stem], overwrite=True) as writer:
        for build in builds:
            writer.add(build)
        for key, value in notes.items():
            writer.note(key, json.dumps(value))
    return path


def names(path: Path) -> list[tuple[str, str]]:
    with Recording(path) as recording:
        return [(build.name, build.device) for build in recording.builds()]


def test_equal_programs_are_merged_into_one(tmp_path: Path) -> None:
    again = replace(FULL, seconds=9.0, created="2020-01-01T00:00:00.000+00:00")
    first = recorded(tmp_path / "a.klens", FULL, FAILED, entry(1))
    second = recorded(tmp_path / "b.klens", entry(2), again, FAILED, replace(FULL, device="dg2"), entry(2))
    done = merge([first, second, second], tmp_path / "c.klens", command_line=["kernlens", "recording"])
    assert (done.programs, done.left_out) == (5, 8 - 5 + 5)
    assert names(tmp_path / "c.klens") == [
        *names(first),
        ("p2", "dg2"),
        ("add", "dg2"),
    ]
    with Recording(tmp_path / "c.klens") as merged, Recording(first) as alone:
        whole, before = merged.builds()[0], alone.builds()[0]
        assert (whole.created, whole.seconds, whole.log) == (before.created, before.seconds, FULL.log)
        assert [each.content for each in whole.snapshots] == [each.content for each in FULL.snapshots]
        assert merged.command_line == ("kernlens", "recording")
        assert [json.loads(each["command_line"]) for each in json.loads(merged.metadata["merged"])] == [
            ["kernlens", "a"],
            ["kernlens", "b"],
            ["kernlens", "b"],
        ]
    assert beside(tmp_path / "c.klens") == ["a.klens", "b.klens"]


def test_other_programs_of_the_same_name_get_a_number(tmp_path: Path) -> None:
    first = recorded(
        tmp_path / "a.klens", holding("x", b"1"), holding("x#2", b"2"), replace(holding("y", b"3"), device="skl")
    )
    second = recorded(
        tmp_path / "b.klens",
        holding("x", b"4"),
        replace(holding("x", b"5"), device="skl"),
        holding("x", b"6"),
        holding("y", b"7"),
    )
    merge([first, second], first)
    assert names(first) == [
        ("x", "dg2"),
        ("x#2", "dg2"),
        ("y", "skl"),
        # One program for two devices stays one.
        ("x#3", "dg2"),
        ("x#3", "skl"),
        ("x#3", "dg2"),
        ("y", "dg2"),
    ]


def kernel(name: str, program: str, launches: int, *shapes: tuple[int, int | None, int]) -> dict[str, object]:
    return {
        "name": name, "program": program, "device": "dg2" if program else "", "created": 1, "launches": launches,
        "shapes": [{"global": [size], "local": local and [local], "launches": count} for size, local, count in shapes],
    }  # fmt: skip


def test_launches_of_captures_are_added_up(tmp_path: Path) -> None:
    first = recorded(
        tmp_path / "a.klens",
        holding("program-1", b"1"),
        holding("program-2", b"2"),
        capture={
            "builds": [{"program": 1, "operation": "build"}, {"program": 2, "operation": "link"}],
            "kernels": [kernel("k", "program-1", 3, (8, None, 2), (16, 4, 1)), kernel("l", "program-2", 2)],
            "other": 1,
        },
    )
    second = recorded(
        tmp_path / "b.klens",
        holding("program-1", b"2"),
        holding("program-2", b"3"),
        holding("program-3", b"1"),
        capture={
            "builds": [{"program": number, "operation": "compile"} for number in (1, 2, 3)],
            "kernels": [
                kernel("k", "program-3", 10, (8, None, 7), (8, 8, 3)),
                kernel("n", "program-2", 1),
                kernel("u", "", 5),
            ],
        },
    )
    merge([first, second], tmp_path / "c.klens")
    assert [name for name, _ in names(tmp_path / "c.klens")] == ["program-1", "program-2", "program-2#2"]
    with Recording(tmp_path / "c.klens") as recording:
        notes = json.loads(recording.metadata["capture"])
    assert notes["other"] == 1
    assert [(build["program"], build["operation"]) for build in notes["builds"]] == [
        (1, "build"), (2, "link"), (2, "compile"), (3, "compile"), (1, "compile"),
    ]  # fmt: skip
    assert [(each["name"], each["program"], each["created"], each["launches"]) for each in notes["kernels"]] == [
        ("k", "program-1", 2, 13),
        ("u", "", 1, 5),
        ("l", "program-2", 1, 2),
        ("n", "program-2#2", 1, 1),
    ]
    assert [(each["global"], each["local"], each["launches"]) for each in notes["kernels"][0]["shapes"]] == [
        ([8], None, 9), ([16], [4], 1), ([8], [8], 3),
    ]  # fmt: skip
    prune(tmp_path / "c.klens", keep=lambda build: build.name == "program-2#2")
    with Recording(tmp_path / "c.klens") as recording:
        notes = json.loads(recording.metadata["capture"])
    assert [build["program"] for build in notes["builds"]] == [1]
    assert [each["name"] for each in notes["kernels"]] == ["u", "n"]


def test_times_of_merged_captures_add_up(tmp_path: Path) -> None:
    for name, nanoseconds in (("a", 100), ("b", 300)):
        range_ = {"first_ns": nanoseconds // 2, "least_ns": nanoseconds // 10, "most_ns": nanoseconds // 2}
        time = {"launches": 2, "total_ns": nanoseconds, "median_ns": 40, "share": 1.0, **range_}
        notes = [{**kernel("k", "program-1", 2), "time": time}, {**kernel("often", "program-1", 9), "time": None}]
        recorded(tmp_path / f"{name}.klens", holding("program-1", b"1"), capture={"builds": [], "kernels": notes})
    merge([tmp_path / "a.klens", tmp_path / "b.klens"], tmp_path / "c.klens")
    with Recording(tmp_path / "c.klens") as recording:
        kernels = json.loads(recording.metadata["capture"])["kernels"]
    assert [each["name"] for each in kernels] == ["k", "often"], "what takes longest comes first"
    both = {"launches": 4, "total_ns": 400, "median_ns": None, "share": 1.0}
    both |= {"first_ns": 150, "least_ns": 10, "most_ns": 150}
    assert [each["time"] for each in kernels] == [both, None]


@pytest.mark.parametrize(
    "notes",
    [
        {"builds": [], "kernels": [{**kernel("k", "", 1), "time": 3}]},
        {"builds": [], "kernels": [{**kernel("k", "", 1), "time": {"total_ns": "many"}}]},
        {"builds": [], "kernels": [{**kernel("k", "", 1), "time": {"total_ns": 1, "launches": 1, "share": 2}}]},
        {"builds": [], "kernels": [{**kernel("k", "", 1), "time": {"total_ns": -1, "launches": 1, "share": 1}}]},
        {"builds": [], "kernels": [{**kernel("k", "", 1), "time": {"total_ns": 1, "launches": 1 << 64, "share": 1}}]},
        [],
        {"builds": 1},
        {"builds": [{"program": "x"}]},
        {"builds": [{"program": 1, "inputs": 2}]},
        {"builds": [{"program": 1, "inputs": ["x"]}]},
        {"builds": [{"program": 1, "constants": ["0x1"]}]},
        {"builds": [{"program": 1, "constants": {"0": 1}}]},
        {"builds": [{"program": 1, "constants": {"0": "one"}}]},
        {"builds": [{"program": 1, "constants": {"x": "0x1"}}]},
        {"kernels": [{"name": "k"}]},
        {"kernels": [{**kernel("k", "", 1), "shapes": [1]}]},
        {"kernels": [kernel("k", "", 1), {**kernel("k", "", 1), "launches": None}]},
    ],
)
def test_damaged_notes_of_a_capture(tmp_path: Path, notes: object) -> None:
    path = recorded(tmp_path / "a.klens", FULL, capture=notes)
    before = path.read_bytes()
    with pytest.raises(FormatError, match="the recording is damaged"):
        prune(path)
    assert path.read_bytes() == before
    assert beside(path) == []


def test_pruned_room_is_free(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.klens", FULL, FAILED, *(entry(number) for number in range(20)))
    path.chmod(0o600)
    before = path.stat().st_size
    done = prune(path, keep=lambda build: build.name in ("add", "broken"), drop=["binaries", "stages"])
    assert (done.programs, done.left_out, done.size_before, done.size) == (2, 20, before, path.stat().st_size)
    assert done.size < 60_000 < 400_000 < before
    assert path.stat().st_mode & 0o777 == 0o600
    with Recording(path) as recording:
        first, second = recording.builds()
        assert (first.binary, first.snapshots, first.spirv, first.log) == (b"", (), FULL.spirv, FULL.log)
        assert [source.text for source in first.sources] == [source.text for source in FULL.sources]
        assert (second.ok, second.reason) == (False, FAILED.reason)
        assert recording.command_line == ("kernlens", "a")
    prune(path, tmp_path / "b.klens", drop=["sources", "logs", "spirv", "debug"])
    with Recording(tmp_path / "b.klens") as recording:
        build = recording.builds()[0]
        assert (build.sources, build.log, build.spirv, build.debug) == ((), "", b"", b"")
        assert build.parts.source_paths == ("/src/add.cl", "/src/add.h")
    assert names(path) == names(tmp_path / "b.klens")


def test_what_is_damaged_can_be_left_out(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.klens", FULL)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE blob SET content = x'00' WHERE id = (SELECT blob FROM part WHERE role = 'binary')")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(FormatError):
        prune(path, drop=["logs"])
    with pytest.raises(FormatError):
        merge([path], path)
    with pytest.raises(FormatError):
        redact_source(path)
    assert path.read_bytes() == before
    assert beside(path) == []
    prune(path, drop=["binaries"])
    assert names(path) == [("add", "bmg")]


def test_nothing_that_is_chosen_writes_nothing(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.klens", FULL)
    before = path.read_bytes()
    with pytest.raises(NotFoundError, match="is chosen"):
        prune(path, keep=lambda build: False)
    with pytest.raises(NotFoundError, match="no recording"):
        prune(tmp_path / "gone.klens")
    with pytest.raises(NotFoundError, match="no recording"):
        merge([path, tmp_path / "gone.klens"], tmp_path / "b.klens")
    assert path.read_bytes() == before
    assert beside(path) == []


def test_source_text_is_nowhere(tmp_path: Path) -> None:
    secret = "float secret_sauce = in[i] * 0.1234f;"
    module = SpirvWriter().add(7, 1, "x.cl").add(3, 3, 102000, 1, f"kernel void x() {{\n{secret}\n}}\n").build()
    builds = (
        # The text is known from the SPIR-V of one program alone, and stands in others.
        Build("il", "dg2", parts=HeldParts(binary=b"\x7fELF" + bytes(module) + secret.encode(), log=f"x: {secret}\n")),
        replace(FULL, parts=HeldParts(binary=FULL.binary, log=secret, sources=FULL.sources)),
        Build("no", "dg2", ok=False, reason=f"near {secret}", parts=HeldParts(log="a.h:1:1: no\n  int unseen = 1;\n  ^\n")),
        Build("st", "dg2", parts=HeldParts(
            snapshots=(snapshot("source", ".cl", b"int in_stage = 2;\n"), snapshot("llvm", ".ll", b"; int in_stage = 2;")),
            sources=(Source("/src/st.cl", ""),),
        )),
    )  # fmt: skip
    path = recorded(tmp_path / "a.klens", *builds)
    os.symlink(path, tmp_path / "link.klens")
    redact_source(tmp_path / "link.klens")
    assert (tmp_path / "link.klens").is_symlink()
    raw = path.read_bytes()
    with Recording(path) as recording:
        assert recording.redacted
        contents = [raw, *(build.reason.encode() for build in recording.builds() if build.reason)]
        for build in recording.builds():
            contents += [build.binary, build.debug, build.spirv, build.log.encode()]
            contents += [each.content for each in build.snapshots]
            assert build.sources == ()
        assert [len(build.binary) for build in recording.builds()] == [len(build.binary) for build in builds]
        assert recording.builds()[1].parts.source_paths == ("/src/add.cl", "/src/add.h")
        assert recording.builds()[3].snapshots == ()
    for words in (b"secret_sauce", b"unseen", b"in_stage", b"a[0] = a[0]", b"kernel void"):
        assert not any(words in content for content in contents), words
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
    connection.close()


def test_a_redacted_part_makes_a_merged_recording_redacted(tmp_path: Path) -> None:
    first, second = recorded(tmp_path / "a.klens", FULL), recorded(tmp_path / "b.klens", FULL)
    redact_source(second)
    merge([first, second], tmp_path / "c.klens")
    assert Recording(tmp_path / "c.klens").redacted
    assert len(names(tmp_path / "c.klens")) == 2, "one of them has sources"


def test_a_recording_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.klens"
    with RecordingWriter(path) as writer:
        writer.add(FULL)
        with pytest.raises(OutputError, match="another process is writing"):
            prune(path, drop=["logs"])
        merge([path], tmp_path / "b.klens")
    assert names(tmp_path / "b.klens") == [("add", "bmg")]


def test_what_a_crash_left_beside_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.klens"
    work = """
import os, sqlite3, sys
from kernlens.recording.writer import RecordingWriter
from tests.writers.recordings import FULL
writer = RecordingWriter(sys.argv[1])
writer.add(FULL)
writer._connection.execute("INSERT INTO recording VALUES ('late', 'note')")
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", work, path], check=True)
    assert beside(path) != []
    prune(path, drop=["logs"])
    assert beside(path) == []
    with Recording(path) as recording:
        assert recording.metadata["late"] == "note"


@pytest.mark.slow
@pytest.mark.parametrize("output", ["a.klens", "new.klens"])
def test_killed_at_any_moment(tmp_path: Path, output: str) -> None:
    path = recorded(tmp_path / "a.klens", *(entry(number, 200_000) for number in range(20)))
    work = """
import sys
from kernlens.recording.editing import merge
print("ready", flush=True)
while True:
    merge([sys.argv[1]], sys.argv[2])
"""
    for milliseconds in (20, 60, 110, 170):
        process = subprocess.Popen(
            [sys.executable, "-c", work, path, tmp_path / output], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(milliseconds / 1000)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        for file in {path, tmp_path / output}:
            if file.exists():
                assert len(names(file)) == 20
                with Recording(file) as recording:
                    assert all(
                        build.binary == entry(int(build.name[1:]), 200_000).binary for build in recording.builds()
                    )
    prune(path, tmp_path / output, drop=["logs"])
    assert beside(path) == ([] if output == "a.klens" else ["new.klens"])


def test_hostile_names_and_hashes(tmp_path: Path) -> None:
    """A recording whose content does not have the hash that it claims cannot take the place of another's."""
    good = recorded(tmp_path / "a.klens", entry(1))
    bad = recorded(tmp_path / "b.klens", holding("p1\x1b[31m\n../../etc", b"hostile"))
    connection = sqlite3.connect(bad)
    digest = sqlite3.connect(good).execute("SELECT sha256 FROM blob").fetchone()[0]
    connection.execute("UPDATE blob SET sha256 = ?", (digest,))
    connection.commit()
    connection.close()
    with Recording(bad) as recording:
        assert [program.number for program in stored_programs(recording)] == [1]
    done = merge([good, bad], tmp_path / "c.klens")
    assert (done.programs, done.left_out) == (1, 1)
    with Recording(tmp_path / "c.klens") as recording:
        assert recording.builds()[0].binary == entry(1).binary
    with pytest.raises(FormatError, match="does not have the hash"):
        merge([bad, good], tmp_path / "d.klens")


def test_contents_are_copied_packed(tmp_path: Path) -> None:
    """They were unpacked, and packed again: the contents of a program stood in memory twice."""
    content = os.urandom(1 << 20) + bytes(48 << 20)
    with RecordingWriter(tmp_path / "a.klens") as writer:
        writer.add(holding("k", content))
    with memory(24 << 20):
        merge([tmp_path / "a.klens", tmp_path / "a.klens"], tmp_path / "b.klens")
    (build,) = Recording(tmp_path / "b.klens").builds()
    assert build.binary == content
