"""Launches that were kept whole, in recordings: written, read, merged, pruned, redacted, and what a hostile recording says."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from kernlens.dataclass import replace
from kernlens.errors import FormatError
from kernlens.model.kept_launch import ImageForm, KeptArgument, KeptLaunch, KeptMemory
from kernlens.recording import launches
from kernlens.recording.blobs import pack
from kernlens.recording.editing import merge, prune, redact_source
from kernlens.recording.inventory import stored_programs
from kernlens.recording.reader import Recording
from kernlens.recording.writer import RecordingWriter
from tests.unit.conftest import Kernlens
from tests.writers.recordings import FULL, entry, make_older, record

NOISE = random.Random(1).randbytes(launches.PIECE + 12)
CHANGED = NOISE[:-1] + b"!"
FORM = ImageForm(0x10B9, 0x10DA, 0x10F1, 4, 3, 1, 1, element_size=4)
LAUNCH = KeptLaunch(
    *("add", 7, 4321, (64, 2), (8, 1), (3, 0)),
    arguments=(
        KeptArgument("memory", memory=0, offset=128, size=256, flags=4),
        KeptArgument("value", b"\x01\x02\x03\x04"),
        KeptArgument("local", size=512),
        KeptArgument("sampler", sampler=(1, 0x1131, 0x1140)),
        KeptArgument("memory", memory=1),
        KeptArgument("pointer", memory=2, offset=16),
        KeptArgument("null"),
    ),
    memory=(
        KeptMemory("buffer", len(NOISE), 1, before=lambda: NOISE, after=lambda: CHANGED),
        KeptMemory("image", 48, 4, image=FORM, before=lambda: bytes(48)),
        KeptMemory("svm", 64, 1, 1 << 40, before=lambda: bytes(64), after=lambda: bytes(64)),
        KeptMemory("shared", 32, 0, (1 << 64) - 32, why="the driver refused"),
    ),
    indirect=(3,),
    nanoseconds=1234,
    notes=("a note",),
)
PLAIN = KeptLaunch("add", 8, 4321, (64,), None, (0,), (), ())


def kept_in(path: Path) -> list[list[KeptLaunch]]:
    with Recording(path) as recording:
        return [list(build.parts.kept_launches) for build in recording.builds()]


def contents(launch: KeptLaunch) -> list[tuple[bytes | None, bytes | None]]:
    return [(each.before and each.before(), each.after and each.after()) for each in launch.memory]


def rows(path: Path, query: str) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def written(path: Path, *each: KeptLaunch) -> Path:
    with RecordingWriter(path) as writer:
        number = writer.add(FULL)
        for launch in each:
            writer.add_launch(number, launch)
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.klens", LAUNCH, PLAIN)
    with Recording(path) as recording:
        (build,) = recording.builds()
        first, second = build.parts.kept_launches
        assert (first, second) == (LAUNCH, PLAIN)
        assert contents(first) == contents(LAUNCH)
        assert build.parts.kept_launches[-2:] == (LAUNCH, PLAIN)
    # A part of a build, as all others.
    again = record(tmp_path / "b.klens", FULL.with_parts(kept_launches=(LAUNCH,)))
    assert kept_in(again) == [[LAUNCH]]


def test_equal_contents_are_stored_once(tmp_path: Path) -> None:
    zeros = KeptMemory("buffer", 64 << 20, before=lambda: bytes(64 << 20), after=lambda: bytes(64 << 20))
    path = written(tmp_path / "a.klens", replace(PLAIN, memory=(zeros,)), LAUNCH, replace(LAUNCH, number=8))
    # 128 pieces of zeros are one; what changed at its end shares the rest.
    assert path.stat().st_size < 1_300_000
    ((pieces,),) = rows(path, "SELECT count(*) FROM memory")
    assert pieces == 128 + 2 * 7
    with Recording(path) as recording:
        (build,) = recording.builds()
        (memory,) = build.parts.kept_launches[0].memory
        assert memory.before is not None
        assert memory.before() == bytes(64 << 20)


@pytest.mark.parametrize("schema", [1, 2, 3, 4])
def test_older_recordings_have_none(schema: int, tmp_path: Path) -> None:
    path = record(tmp_path / "a.klens", entry(1))
    with sqlite3.connect(path) as connection:
        make_older(connection, schema)
    assert kept_in(path) == [[]]
    assert merge([path], tmp_path / "b.klens").programs == 1
    assert kept_in(tmp_path / "b.klens") == [[]]


def test_merged_recordings_keep_all_once(tmp_path: Path) -> None:
    first, second = written(tmp_path / "a.klens", LAUNCH), written(tmp_path / "b.klens", PLAIN, LAUNCH)
    changed = replace(LAUNCH.memory[0], after=lambda: NOISE)
    third = written(tmp_path / "c.klens", replace(LAUNCH, memory=(changed, *LAUNCH.memory[1:])))
    assert merge([first, second, third], tmp_path / "d.klens").programs == 1
    with Recording(tmp_path / "d.klens") as recording:
        (build,) = recording.builds()
        assert list(build.parts.kept_launches) == [LAUNCH, PLAIN, LAUNCH]
        held = [contents(each)[0][1] for each in build.parts.kept_launches if each.memory]
        assert held == [CHANGED, NOISE]


def test_prune_lists_and_drops_them(tmp_path: Path) -> None:
    path = written(tmp_path / "a.klens", LAUNCH)
    with Recording(path) as recording:
        (program,) = stored_programs(recording)
    of_launches = [part for part in program.parts if part.kind == "launches"]
    assert [part.label for part in of_launches][:2] == [("add", 7, 4321), ("add", 7, 4321, 0, "after", 0)]
    assert len(of_launches) == 1 + 7
    prune(path, tmp_path / "b.klens", drop={"launches"})
    assert kept_in(tmp_path / "b.klens") == [[]]
    assert not rows(tmp_path / "b.klens", "SELECT * FROM memory")
    assert (tmp_path / "b.klens").stat().st_size < launches.PIECE


def test_no_source_text_no_data(tmp_path: Path) -> None:
    path = written(tmp_path / "a.klens", LAUNCH)
    redact_source(path, tmp_path / "b.klens")
    assert kept_in(tmp_path / "b.klens") == [[]]
    assert NOISE[:64] not in (tmp_path / "b.klens").read_bytes()
    with RecordingWriter(tmp_path / "c.klens", redact_source=True) as writer:
        writer.add_launch(writer.add(FULL), LAUNCH)
    assert kept_in(tmp_path / "c.klens") == [[]]


HUGE = [2**63, 2**64, -1, 2**200, 1.5, "1", None, True, [1], {}]


def changed_description(path: Path, change: Any) -> None:
    """Put another description in the place of the first."""
    ((number, content),) = rows(path, "SELECT blob, content FROM launch JOIN blob ON blob.id = launch.blob")
    ((digest, size, coding),) = rows(path, f"SELECT sha256, size, coding FROM blob WHERE id = {number}")
    from kernlens.recording.blobs import PackedBlob, unpack

    document = json.loads(unpack(PackedBlob(digest, size, coding, content)))
    changed = pack(json.dumps(change(document)).encode())
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE blob SET sha256 = ?, size = ?, coding = ?, content = ? WHERE id = ?", (*changed, number)
        )


def every_leaf(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(document, dict):
        return [leaf for key in document for leaf in every_leaf(document[key], (*path, key))]
    if isinstance(document, list):
        return [path, *(leaf for key, each in enumerate(document) for leaf in every_leaf(each, (*path, key)))]
    return [path]


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return document


def test_hostile_values_are_refused_or_harmless() -> None:
    """Every leaf of a description with every hostile value: it is read with the value in its bounds, or FormatError."""
    content = launches.encoded(LAUNCH)
    refused = 0
    leaves = every_leaf(json.loads(content))
    assert len(leaves) > 70
    for leaf in leaves:
        for value in HUGE:
            document = put(json.loads(content), leaf, value)
            try:
                launch = launches.decoded(json.dumps(document).encode(), "add", 7, 1)
            except FormatError:
                refused += 1
                continue
            check_bounds(launch)
    assert refused > 600


def check_bounds(launch: KeptLaunch) -> None:
    for each in launch.memory:
        assert type(each.size) is int
        assert 0 <= each.size < 1 << 48
        assert 0 <= each.address <= each.address + each.size <= 1 << 64
    for argument in launch.arguments:
        if argument.memory is not None:
            assert argument.offset + argument.size <= launch.memory[argument.memory].size
    assert all(type(size) is int and 0 <= size < 1 << 63 for size in launch.global_size)


def with_image(**fields: Any) -> KeptLaunch:
    return replace(LAUNCH, memory=(LAUNCH.memory[0], replace(LAUNCH.memory[1], image=replace(FORM, **fields))), **CUT)


CUT: dict[str, Any] = {"arguments": (), "indirect": ()}


@pytest.mark.parametrize(
    "launch",
    [
        with_image(buffer=1),
        with_image(buffer=2),
        replace(LAUNCH, memory=(*with_image(buffer=2).memory, *with_image(buffer=1).memory[1:]), **CUT),
        replace(LAUNCH, arguments=(KeptArgument("pointer", memory=0),)),
        replace(LAUNCH, arguments=(KeptArgument("memory", memory=2),)),
        replace(LAUNCH, arguments=(KeptArgument("memory", memory=1, offset=4),)),
        replace(LAUNCH, arguments=(KeptArgument("memory", memory=0, offset=len(NOISE) - 1, size=2),)),
        replace(LAUNCH, arguments=(KeptArgument("value", memory=0),)),
        replace(LAUNCH, arguments=(KeptArgument("sampler"),)),
        replace(LAUNCH, arguments=(KeptArgument("odd"),)),
        replace(LAUNCH, memory=(replace(LAUNCH.memory[0], address=1),), **CUT),
        replace(LAUNCH, memory=(replace(LAUNCH.memory[2], address=0),), **CUT),
        replace(LAUNCH, global_size=()),
        replace(LAUNCH, global_size=(1, 1, 1, 1)),
        replace(LAUNCH, local_size=(1,)),
        replace(LAUNCH, local_size=(0, 1)),
        replace(LAUNCH, indirect=(4,)),
    ],
)
def test_what_contradicts_itself_is_refused(launch: KeptLaunch) -> None:
    with pytest.raises(FormatError, match="a kept launch: "):
        launches.encoded(launch)


def test_an_image_made_of_a_buffer_is_none_of_itself() -> None:
    launches.encoded(with_image(buffer=0))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE memory SET piece = piece + 9",
        "UPDATE memory SET moment = 'later' WHERE moment = 'after'",
        "UPDATE memory SET number = 9 WHERE number = 0",
        "UPDATE memory SET number = -1 WHERE number = 0",
        "UPDATE memory SET number = 'x' WHERE number = 0",
        "DELETE FROM memory WHERE piece = 0 AND number = 0",
        "UPDATE memory SET blob = 999999 WHERE number = 0",
        "UPDATE memory SET blob = (SELECT max(id) FROM blob)",
        "INSERT INTO memory SELECT program, launch, number, moment, 5, blob FROM memory WHERE piece = 1",
        "UPDATE launch SET number = -1",
        "UPDATE launch SET process = 'x'",
        "UPDATE launch SET blob = 999999",
        "UPDATE blob SET size = 1 << 62 WHERE id = (SELECT blob FROM launch)",
    ],
)
def test_tables_that_lie(change: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.klens", LAUNCH)
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    with Recording(path) as recording:
        (build,) = recording.builds()
        with pytest.raises(FormatError):
            contents(build.parts.kept_launches[0])


def test_a_description_that_lies(tmp_path: Path) -> None:
    path = written(tmp_path / "a.klens", LAUNCH)
    changed_description(path, lambda document: put(document, ("memory", 0, "size"), (1 << 48) - 1))
    with pytest.raises(FormatError, match="the pieces"):
        kept_in(path)


def test_contents_of_another_size_are_not_written(tmp_path: Path) -> None:
    wrong = replace(LAUNCH, memory=(KeptMemory("buffer", 5, before=lambda: bytes(4)),), **CUT)
    with RecordingWriter(tmp_path / "a.klens") as writer:
        number = writer.add(FULL)
        with pytest.raises(FormatError, match="memory of 5 bytes"):
            writer.add_launch(number, wrong)
        writer.add_launch(number, LAUNCH)
    assert kept_in(tmp_path / "a.klens") == [[LAUNCH]]


def test_the_list_says_how_many(kernlens: Kernlens, tmp_path: Path) -> None:
    path = written(tmp_path / "a.klens", LAUNCH, PLAIN)
    document = kernlens("recording", "list", path, "--json").document
    assert document["programs"][0]["kept_launches"] == 2
    assert [each["number"] for each in document["contents"] if each["kind"] == "launches"] == [2 + 5]
    assert ", 2 launches kept" in kernlens("recording", "list", path).out
