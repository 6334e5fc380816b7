"""The behaviour of kernels in recordings: written, read, merged, redacted, and what a hostile recording says of it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from kernlens.dataclass import replace
from kernlens.errors import FormatError
from kernlens.loading import load
from kernlens.model.behaviour import (
    Behaviour,
    ObservedAccess,
    ObservedBranch,
    ObservedLoop,
    ObservedMachine,
    ObservedRequest,
)
from kernlens.model.fault import Fault
from kernlens.model.source_map import SourcePlace
from kernlens.recording import behaviours
from kernlens.recording.editing import merge, prune, redact_source
from kernlens.recording.inventory import stored_programs
from kernlens.recording.reader import Recording
from kernlens.recording.writer import RecordingWriter
from tests.writers.programs import binary
from tests.writers.recordings import FULL, entry, make_older, record

LINE, CALL = SourcePlace("/src/add.cl", 2, 5), SourcePlace("/src/add.h", 1)
ACCESS = ObservedAccess(
    *(LINE, (CALL,), "load", "global", 4, 10, 320, 1280, 640, (20, 10, 5), (10, 5, 3), None, None, 7, 8),
    *((1, 2, 3, 4, 5), (-8, 64), 6, ObservedRequest(4096, 4, ((0, 0), (3, 64)), "a")),
)
OBSERVED = Behaviour(
    *("add", ObservedMachine(16, 64, 16, source="a page"), (64, 2, 1), (32, 1, 1), 4, 3, True, 1234, 5),
    pieces=((LINE, 3, 128, 8, True), (CALL, 1, 64, 4, False)),
    accesses=(ACCESS, replace(ACCESS, place=None, calls=(), stride=None, wavefronts=4, least_wavefronts=2)),
    branches=(ObservedBranch(LINE, 8, 3, (100, 28)), ObservedBranch(None, 1, 0, ())),
    loops=(ObservedLoop(LINE, 63, 1, 32.5, 63, 47.25), ObservedLoop(None, 1, 0, 0.0, 0, None)),
    barriers=((LINE, 4), (None, 1)),
    faults=(Fault("race", 'a[0] = a[0] + 41 + "é";', (LINE, CALL), ((1, 2, 3), (4, 5, 6)), "a", 9, True),),
    notes=("a note",),
    source="/src/add.cl",
    device="dg2",
    buffers=((1 << 48, 64),),
    launches=3,
)
REFUSED = Behaviour.not_counted("add", "it uses sub-groups", (64, 1, 1), (32, 1, 1), "dg2", 7)


def observed_in(path: Path) -> list[dict[str, tuple[Behaviour, ...]]]:
    with Recording(path) as recording:
        return [
            {name: tuple(build.parts.behaviours[name]) for name in build.parts.behaviours}
            for build in recording.builds()
        ]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.klens"
    with RecordingWriter(path) as writer:
        first = writer.add(FULL.with_parts(behaviours={"add": (OBSERVED,)}))
        second = writer.add(entry(1))
        writer.add_behaviour(second, replace(OBSERVED, kernel="other"))
        writer.add_behaviour(first, REFUSED)
        # Equal launches of a kernel are one, which ran as often as all of them.
        writer.add_behaviour(first, replace(OBSERVED, launches=2))
    assert observed_in(path) == [
        {"add": (replace(OBSERVED, launches=5), REFUSED)},
        {"other": (replace(OBSERVED, kernel="other"),)},
    ]


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = record(tmp_path / "a.klens", FULL.with_parts(behaviours={"add": (OBSERVED,), "b": (OBSERVED,)}))
    calls: list[str] = []
    decode = behaviours.decoded

    def counted(content: bytes, kernel: str, launches: int) -> Behaviour:
        calls.append(kernel)
        return decode(content, kernel, launches)

    monkeypatch.setattr(behaviours, "decoded", counted)
    with Recording(path) as recording:
        (build,) = recording.builds()
        assert list(build.parts.behaviours) == ["add", "b"]
        assert calls == []
        assert build.parts.behaviours["add"]
    assert calls == ["add"]


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_older_recordings_have_none(schema: int, tmp_path: Path) -> None:
    path = record(tmp_path / "a.klens", entry(1))
    with sqlite3.connect(path) as connection:
        make_older(connection, schema)
    assert observed_in(path) == [{}]
    assert merge([path], tmp_path / "b.klens").programs == 1


def test_merged_recordings_add_up(tmp_path: Path) -> None:
    other = replace(OBSERVED, global_size=(128, 1, 1))
    first = record(tmp_path / "a.klens", FULL.with_parts(behaviours={"add": (OBSERVED, REFUSED)}))
    second = record(tmp_path / "b.klens", entry(1), FULL.with_parts(behaviours={"add": (other, OBSERVED)}), FULL)
    done = merge([first, second], tmp_path / "c.klens")
    # What a program did is no part of what it is.
    assert (done.programs, done.left_out) == (2, 2)
    assert observed_in(tmp_path / "c.klens") == [{"add": (replace(OBSERVED, launches=6), REFUSED, other)}, {}]


def test_prune_lists_and_drops_it(tmp_path: Path) -> None:
    path = record(tmp_path / "a.klens", FULL.with_parts(behaviours={"add": (OBSERVED,)}))
    with Recording(path) as recording:
        kinds = [part.kind for part in stored_programs(recording)[0].parts]
    assert kinds.count("behaviour") == 1
    prune(path, tmp_path / "kept.klens")
    assert observed_in(tmp_path / "kept.klens") == [{"add": (OBSERVED,)}]
    prune(path, drop=["behaviour"])
    assert observed_in(path) == [{}]


def test_redaction_overwrites_source_lines_in_sentences(tmp_path: Path) -> None:
    path = record(tmp_path / "a.klens", FULL.with_parts(behaviours={"add": (OBSERVED,)}))
    redact_source(path)
    ((after,),) = (launches["add"] for launches in observed_in(path))
    assert set(after.faults[0].sentence) == {"*"}
    assert replace(after, faults=OBSERVED.faults) == OBSERVED
    with RecordingWriter(tmp_path / "b.klens", redact_source=True) as writer:
        writer.add_behaviour(writer.add(FULL), OBSERVED)
    ((after,),) = (launches["add"] for launches in observed_in(tmp_path / "b.klens"))
    assert set(after.faults[0].sentence) == {"*"}


def test_counts_that_are_too_many_are_left_out(tmp_path: Path) -> None:
    many = replace(OBSERVED, pieces=[(LINE, 1, 10**15, 10**15, True)] * 200_000)
    ((launch,),) = (
        each["add"] for each in observed_in(record(tmp_path / "a.klens", FULL.with_parts(behaviours={"add": (many,)})))
    )
    assert not launch.is_counted
    assert "too many" in launch.reason
    assert (launch.pieces, launch.accesses, launch.launches) == ((), (), 3)


def changed(path: tuple[Any, ...], value: object) -> bytes:
    document = json.loads(behaviours.encoded(OBSERVED))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(document).encode()


HOSTILE = [
    (("version",), 2),
    (("groups",), -1),
    (("groups",), 1 << 63),
    (("groups",), True),
    (("groups",), 1.5),
    (("device",), 3),
    (("device",), "\ud800"),
    (("source",), "x" * 5000),
    (("machine", 0), 0),
    (("machine", 1), 48),
    (("machine",), [1]),
    (("global_size",), [1, 2]),
    (("files",), {}),
    (("places", 0, 0), 9),
    (("places", 0, 1), -1),
    (("pieces", 0, 0), -1),
    (("pieces", 0, 0), 99),
    (("pieces", 0, 2), "1"),
    (("accesses", 0), []),
    (("accesses", 0, 0), -2),
    (("accesses", 0, 1), [5]),
    (("accesses", 0, 2), "jump"),
    (("accesses", 0, 9), [1, 2]),
    (("accesses", 0, 5), -3),
    (("accesses", 0, 18), [0, 4, [[0, 0]]]),
    (("accesses", 0, 18), [0, 1 << 40, [[0, 0]], None]),
    (("accesses", 0, 18), [0, 4, [], None]),
    (("accesses", 0, 18), [0, 4, [[0, 1 << 60]], None]),
    (("accesses", 0, 18), [0, 4, [[0]] * 5000, None]),
    (("accesses", 0, 18), [0, 4, [[4096, 0]], None]),
    (("accesses", 0, 18), [0, 4, [[0, 0]], 1]),
    (("loops", 0, 3), float("inf")),
    (("loops", 0, 3), 10**400),
    (("loops", 0, 3), None),
    (("branches", 0), [0]),
    (("faults", 0, 0), "no such"),
    (("faults", 0, 6), 1),
    (("notes",), [None]),
    (("buffers", 0), [1]),
    (("reason",), None),
]


@pytest.mark.parametrize(("path", "value"), HOSTILE)
def test_hostile_content_is_damage(path: tuple[Any, ...], value: object) -> None:
    with pytest.raises(FormatError, match="the behaviour of a kernel"):
        behaviours.decoded(changed(path, value), "add", 1)


def test_counts_of_an_earlier_kernlens_have_no_examples() -> None:
    document = json.loads(behaviours.encoded(OBSERVED))
    document["accesses"] = [each[:-1] for each in document["accesses"]]
    former = behaviours.decoded(json.dumps(document).encode(), "add", 3)
    assert former == replace(OBSERVED, accesses=tuple(replace(each, example=None) for each in OBSERVED.accesses))


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b"\xff", b"[]", b"1" * 10_000, b" " * (5 << 20)])
def test_what_is_no_content_is_damage(content: bytes) -> None:
    with pytest.raises(FormatError, match="the behaviour of a kernel"):
        behaviours.decoded(content, "add", 1)


def test_every_key_is_needed() -> None:
    """Whatever is taken away is damage, and nothing else than a KernlensError comes of it."""
    document = json.loads(behaviours.encoded(OBSERVED))
    for key in document:
        if key != "device":  # None where nothing was chosen
            with pytest.raises(FormatError):
                behaviours.decoded(json.dumps({k: v for k, v in document.items() if k != key}).encode(), "add", 1)


def test_many_launches_of_one_content_are_refused(tmp_path: Path) -> None:
    """A small file may not be gigabytes of launches: its rows may name one content again and again."""
    large = replace(OBSERVED, pieces=[(LINE, 1, 1000, 1000, True)] * 50_000)
    path = record(tmp_path / "a.klens", FULL.with_parts(behaviours={"add": (large,)}))
    with sqlite3.connect(path) as connection:
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
            " INSERT INTO behaviour SELECT 1, i, kernel, 1, blob FROM behaviour, n"
        )
    with pytest.raises(FormatError, match="too many for the file"):
        observed_in(path)


@pytest.mark.parametrize("launches", [-1, 1 << 63])
def test_launches_are_a_count(launches: int) -> None:
    with pytest.raises(FormatError):
        behaviours.decoded(behaviours.encoded(OBSERVED), "add", launches)


def test_a_kernel_of_a_recording_has_its_behaviours(tmp_path: Path) -> None:
    build = replace(FULL, device="skl").with_parts(binary=binary(), snapshots=(), behaviours={"scale": (OBSERVED,)})
    (program,) = load(record(tmp_path / "a.klens", build))
    assert program.kernels["scale"].behaviours == (replace(OBSERVED, kernel="scale"),)
    assert program.kernels["scale"].unread().behaviours == program.kernels["scale"].behaviours
    assert program.kernels["plain"].behaviours == ()
