"""Recordings that are damaged or made by somebody malicious give errors of ours, or an answer."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
import zstandard

from kernlens.errors import FormatError, KernlensError, NotFoundError, UnsupportedError
from kernlens.recording.blobs import PackedBlob, pack, unpack
from kernlens.recording.reader import Recording
from kernlens.recording.schema import SCHEMA_VERSION
from kernlens.recording.writer import RecordingWriter
from tests.limits import memory, processor_time
from tests.writers.recordings import FAILED, FULL


@pytest.mark.parametrize("content", [b"", b"x", b"hello" * 1000, bytes(50 << 20), random.Random(2).randbytes(70_000)])
def test_blobs_are_unpacked_as_they_were(content: bytes) -> None:
    blob = pack(content)
    assert len(blob.content) <= len(content)
    assert unpack(blob) == content


def test_damaged_blobs() -> None:
    blob = pack(b"hello" * 1000)
    other = pack(b"world" * 1000)
    for broken in (
        blob._replace(content=blob.content[:-3]),
        blob._replace(content=other.content),
        blob._replace(size=4999),
        blob._replace(size=-1),
        blob._replace(size=1 << 40),
        blob._replace(coding="raw"),
        blob._replace(coding="lzma"),
        blob._replace(sha256=other.sha256),
        blob._replace(content=b"\x28\xb5\x2f\xfd"),
    ):
        with pytest.raises(FormatError):
            unpack(broken)


def test_a_bomb_is_not_unpacked() -> None:
    size = 512 << 20
    packer = zstandard.ZstdCompressor().compressobj(size=size)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)) + packer.flush()
    assert len(bomb) < 60_000
    for claim in (size, 1000):
        with memory(1 << 20), pytest.raises(FormatError):
            unpack(PackedBlob(bytes(32), claim, "zstd", bomb))


def test_files_that_are_no_recordings(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    with pytest.raises(NotFoundError, match="there is no recording"):
        Recording(path)
    with pytest.raises(KernlensError, match="Is a directory"):
        Recording(tmp_path)
    for content in (b"", b"SQLite format 3\0", b"x" * 5000):
        path.write_bytes(content)
        with pytest.raises(FormatError, match="is not a kernlens recording"):
            Recording(path)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (x)")
    with pytest.raises(FormatError, match="is not a kernlens recording"):
        Recording(path)


def test_a_recording_that_was_cut_off(tmp_path: Path) -> None:
    """What SQLite says of it helps nobody; what is missing does."""
    path = tmp_path / "x.klens"
    with RecordingWriter(path) as writer:
        writer.add(FULL)
    whole = path.read_bytes()
    path.write_bytes(whole[:5000])
    with pytest.raises(
        FormatError, match=rf"is damaged: it was cut off after 5,000 of {len(whole):,} bytes; copy or make"
    ):
        Recording(path).builds()
    path.write_bytes(whole[:4096] + bytes(byte ^ 0x55 for byte in whole[4096:]))
    with pytest.raises(FormatError, match=r"x\.klens is damaged; copy or make it again$"):
        Recording(path).builds()


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "x.klens"
    with RecordingWriter(path) as writer:
        writer.add(FULL)
        writer.add(FAILED)
    return path


def read_all(path: Path) -> None:
    with Recording(path) as recording:
        _ = recording.command_line
        for program in recording.builds():
            _ = program.binary, program.debug, program.spirv, program.log, program.sources
            for snapshot in program.snapshots:
                _ = snapshot.content


def test_another_schema(recorded: Path) -> None:
    change(recorded, f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    with pytest.raises(UnsupportedError, match="update kernlens"):
        Recording(recorded)
    change(recorded, "PRAGMA user_version=0")
    with pytest.raises(FormatError, match="unknown schema 0"):
        Recording(recorded)


@pytest.mark.parametrize(
    "statements",
    [
        ("DROP TABLE snapshot",),
        ("ALTER TABLE part RENAME TO old", "CREATE VIEW part AS SELECT * FROM old"),
        ("CREATE VIEW extra AS SELECT 1",),
        ("CREATE TRIGGER extra AFTER INSERT ON part BEGIN SELECT 1; END",),
        ("ALTER TABLE program ADD COLUMN more",),
        ("UPDATE program SET status = 'odd'",),
        ("UPDATE program SET toolchain = 77",),
        ("UPDATE program SET name = x'00ff'",),
        ("UPDATE program SET seconds = 'long'",),
        ("UPDATE part SET role = 'odd'",),
        ("UPDATE part SET blob = 777",),
        ("UPDATE part SET blob = 'x'",),
        ("UPDATE part SET path = x'ff'",),
        ("UPDATE snapshot SET form = 'odd'",),
        ("UPDATE snapshot SET blob = 'x'",),
        ("UPDATE snapshot SET attempt = 'x'",),
        ("PRAGMA user_version=1",),
        ("UPDATE blob SET content = zeroblob(5000000)",),
        ("UPDATE blob SET size = 1000000000000",),
        ("UPDATE blob SET size = 'x'",),
        ("UPDATE blob SET coding = 'odd'",),
        ("UPDATE program SET name = cast(x'ff' as text)",),
    ],
)
def test_changed_tables(recorded: Path, statements: tuple[str, ...]) -> None:
    read_all(recorded)
    change(recorded, *statements)
    with pytest.raises(FormatError):
        read_all(recorded)


def test_odd_metadata_is_no_error(recorded: Path) -> None:
    for value in ("", "[1, null]", '{"a": 1}', "[" * 100_000):
        change(recorded, f"UPDATE recording SET value = '{value}' WHERE key = 'command_line'")
        with Recording(recorded) as recording:
            assert recording.command_line == ()


@pytest.mark.parametrize("seed", range(4))
def test_damaged_bytes_give_only_our_errors(recorded: Path, seed: int) -> None:
    whole = recorded.read_bytes()
    source = random.Random(seed)
    failures = 0
    for _ in range(100):
        content = bytearray(whole)
        for _ in range(source.choice((1, 3, 30))):
            content[source.randrange(100, len(content))] = source.randrange(256)
        if source.random() < 0.3:
            del content[source.randrange(100, len(content)) :]
        recorded.write_bytes(content)
        try:
            with processor_time():
                read_all(recorded)
        except KernlensError:
            failures += 1
    assert failures > 30


def test_random_bytes_after_a_good_header(recorded: Path) -> None:
    head = recorded.read_bytes()[:100]
    for seed in range(50):
        recorded.write_bytes(head + random.Random(seed).randbytes(20_000))
        with pytest.raises(KernlensError):
            read_all(recorded)
