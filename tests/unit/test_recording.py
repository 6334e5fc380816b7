"""Recordings: what goes in comes out; crashes, threads, damage and malice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
import zstandard

from kernlens.capture.blobs import PackedBlob, pack, unpack
from kernlens.capture.recording import Recording
from kernlens.capture.recording_schema import SCHEMA_VERSION, is_recording
from kernlens.capture.recording_writer import ProgramEntry, RecordedToolchain, RecordingWriter, SnapshotEntry
from kernlens.errors import FormatError, KernlensError, NotFoundError, OutputError, UnsupportedError

CHAIN = RecordedToolchain("newest", "26.27.39122", "2.40.14")
SOURCE = 'kernel void add(global int *a) {\n    a[0] = a[0] + 41 + "é";\n}\nadd_one_more\n'
FULL = ProgramEntry(
    name="add",
    device="bmg",
    toolchain=CHAIN,
    options="-g -DX=é",
    log='1:2:5: warning: x\n    a[0] = a[0] + 41 + "é";\n        ^\n',
    seconds=0.25,
    command="ocloc compile -file add.cl",
    binary=b"\x7fELF" + bytes(5000),
    debug=b"debug",
    spirv=b"\x03\x02\x23\x07 kernel void add(global int *a) { tail",
    sources=(("/src/add.cl", SOURCE), ("/src/add.h", "// header\n")),
    snapshots=(
        SnapshotEntry("source", "text", ".cl", SOURCE.encode()),
        SnapshotEntry("asm", "text", ".asm", b"// kernel void add(global int *a) {\n mov r0", kernel="add"),
    ),
)
FAILED = ProgramEntry("broken", "dg2", CHAIN, ok=False, reason="it does not compile", log="error: x")


def entry(number: int, size: int = 20_000) -> ProgramEntry:
    """A program whose binary can be told from its number."""
    return ProgramEntry(f"p{number}", "dg2", CHAIN, binary=random.Random(number).randbytes(size))


def beside(path: Path) -> list[str]:
    return sorted(other.name for other in path.parent.iterdir() if other != path)


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    path = tmp_path / "a b.klens"
    with RecordingWriter(path, command_line=["kernlens", "compile", "x y"]) as writer:
        assert writer.add(FULL) == 1
        assert writer.add(FAILED) == 2
    assert is_recording(path.read_bytes()[:100])
    with Recording(path) as recording:
        first, second = recording.programs()
        assert (first.number, first.name, first.device, first.toolchain) == (1, "add", "bmg", CHAIN)
        assert (first.options, first.ok, first.reason, first.seconds) == (FULL.options, True, None, 0.25)
        assert (first.command, first.log) == (FULL.command, FULL.log)
        assert (first.binary, first.debug, first.spirv) == (FULL.binary, FULL.debug, FULL.spirv)
        assert first.sources == FULL.sources
        assert [(s.stage, s.kernel, s.form, s.ending) for s in first.snapshots] == [
            ("source", None, "text", ".cl"),
            ("asm", "add", "text", ".asm"),
        ]
        assert [snapshot.read() for snapshot in first.snapshots] == [s.content for s in FULL.snapshots]
        assert (second.ok, second.reason, second.binary, second.sources) == (False, FAILED.reason, b"", ())
        assert recording.command_line == ("kernlens", "compile", "x y")
        assert recording.metadata["kernlens_version"]
        assert not recording.redacted


def test_one_file_after_close_and_readable_where_nothing_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "one.klens"
    with RecordingWriter(path) as writer:
        writer.add(FULL)
    assert beside(path) == []
    assert read_as_a_stranger(path) == b"add"


def test_equal_content_is_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    content = random.Random(1).randbytes(200_000)
    with RecordingWriter(path) as writer:
        for number in range(10):
            writer.add(ProgramEntry(f"p{number}", "dg2", binary=content))
    assert path.stat().st_size < 300_000
    with Recording(path) as recording:
        assert {program.binary for program in recording.programs()} == {content}


def test_threads_write_whole_programs(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"

    def work(start: int) -> None:
        for number in range(start, start + 25):
            writer.add(entry(number))

    with RecordingWriter(path) as writer:
        threads = [threading.Thread(target=work, args=(start,)) for start in range(0, 200, 25)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with Recording(path) as recording:
        programs = recording.programs()
        assert {program.name for program in programs} == {f"p{number}" for number in range(200)}
        for program in programs:
            assert program.binary == entry(int(program.name[1:])).binary


def test_readable_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    with RecordingWriter(path) as writer:
        writer.add(entry(1))
        with Recording(path) as recording:
            assert [program.name for program in recording.programs()] == ["p1"]
            writer.add(entry(2))
            assert [program.name for program in recording.programs()] == ["p1", "p2"]


WRITE_FOREVER = """
import sys
from tests.unit.test_recording import RecordingWriter, entry
writer = RecordingWriter(sys.argv[1])
print("ready", flush=True)
number = 0
while True:
    writer.add(entry(number, 300_000))
    print(number, flush=True)
    number += 1
"""


@pytest.mark.parametrize("attempt", range(8))
def test_a_kill_at_any_moment_loses_nothing_finished(attempt: int, tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    child = subprocess.Popen(
        [sys.executable, "-c", WRITE_FOREVER, str(path)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.05 + random.Random(attempt).random() * 0.3)
    child.send_signal(signal.SIGKILL)
    finished = [int(line) for line in child.stdout.read().splitlines()]
    child.wait()
    child.stdout.close()
    stranger = read_as_a_stranger(path)
    with Recording(path) as recording:
        programs = recording.programs()
        # The last one may have been finished without a chance to say so.
        assert len(programs) in (len(finished), len(finished) + 1)
        for number, program in enumerate(programs):
            assert program.name == f"p{number}"
            assert program.binary == entry(number, 300_000).binary
    assert stranger == b",".join(f"p{number}".encode() for number in range(len(programs)))
    with RecordingWriter(path, overwrite=True) as writer:
        writer.add(entry(7))
    assert beside(path) == []


def read_as_a_stranger(path: Path) -> bytes:
    """The names of the programs, as read by somebody who may write nothing where the recording lies.

    Works on a copy: pytest keeps its own folders to their owner.
    """
    folder = Path(tempfile.mkdtemp())
    try:
        for file in path.parent.glob(path.name + "*"):
            shutil.copyfile(file, folder / file.name)
        folder.chmod(0o555)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writer, _names_without_rights(folder / path.name))
            except BaseException as error:
                os.write(writer, f"{type(error).__name__}: {error}".encode())
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            names = pipe.read()
        os.waitpid(child, 0)
        return names
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def _names_without_rights(path: Path) -> bytes:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    assert not os.access(path.parent, os.W_OK)
    with Recording(path) as recording:
        return b",".join(program.name.encode() for program in recording.programs())[:60_000]


def test_left_over_journal_is_merged(tmp_path: Path) -> None:
    """The state right after a crash: the last program is only in the file beside the recording."""
    live, path = tmp_path / "live.klens", tmp_path / "crash" / "x.klens"
    path.parent.mkdir()
    writer = RecordingWriter(live)
    writer.add(entry(1))
    with Recording(live) as holder:
        # A reader in the middle of a query keeps the writer from carrying the next program over.
        cursor = holder._connection.execute("SELECT * FROM blob")
        cursor.fetchone()
        writer.add(entry(2))
        path.write_bytes(live.read_bytes())
        path.with_name("x.klens-wal").write_bytes(live.with_name("live.klens-wal").read_bytes())
    writer.close()
    assert path.with_name("x.klens-wal").stat().st_size > 20_000
    assert read_as_a_stranger(path) == b"p1,p2"
    with Recording(path) as recording:
        assert [program.name for program in recording.programs()] == ["p1", "p2"]


def test_redacted_sources(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    with RecordingWriter(path, redact_source=True) as writer:
        writer.add(FULL)
    whole = b""
    with Recording(path) as recording:
        assert recording.redacted
        program = recording.programs()[0]
        assert program.sources == ()
        assert program.source_paths == ("/src/add.cl", "/src/add.h")
        assert [snapshot.stage for snapshot in program.snapshots] == ["asm"]
        assert program.log.splitlines()[0] == "1:2:5: warning: x"
        assert len(program.spirv) == len(FULL.spirv)
        assert program.spirv.startswith(b"\x03\x02\x23\x07 ****")
        assert program.spirv.endswith(b" tail")
        assert program.snapshots[0].read().endswith(b"\n mov r0")
        whole = program.log.encode() + program.spirv + program.snapshots[0].read() + program.binary
    for line in (b"kernel void add(", b"a[0] = a[0]", b"// header"):
        assert line in SOURCE.encode() + b"// header"
        assert line not in whole
        assert line not in path.read_bytes()


def test_no_overwriting_by_accident(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    RecordingWriter(path).close()
    with pytest.raises(OutputError, match="exists; choose another name"):
        RecordingWriter(path)
    RecordingWriter(path, overwrite=True).close()
    path.write_text("my only copy")
    with pytest.raises(OutputError, match="is no recording"):
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
    program = recording.programs()[0]
    recording.close()
    with pytest.raises(KernlensError):
        _ = program.binary


def test_odd_names_are_kept_readable(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    with RecordingWriter(path) as writer:
        writer.add(ProgramEntry("n\udcff", "dg2", command="c\udc80", sources=(("p\udcff", "t\udcff"),)))
    with Recording(path) as recording:
        program = recording.programs()[0]
        assert (program.name, program.command, program.sources) == ("n?", "c?", (("p?", "t?"),))


@pytest.mark.parametrize("content", [b"", b"x", b"hello" * 1000, bytes(50 << 20), random.Random(2).randbytes(70_000)])
def test_blobs(content: bytes) -> None:
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
    start = time.monotonic()
    for claim in (size, 1000):
        with pytest.raises(FormatError):
            unpack(PackedBlob(bytes(32), claim, "zstd", bomb))
    assert time.monotonic() - start < 0.1


def test_files_that_are_no_recordings(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    with pytest.raises(NotFoundError, match="there is no recording"):
        Recording(path)
    with pytest.raises(KernlensError, match="Is a directory"):
        Recording(tmp_path)
    for content in (b"", b"SQLite format 3\0", b"x" * 5000):
        path.write_bytes(content)
        with pytest.raises(FormatError, match="is no recording"):
            Recording(path)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (x)")
    with pytest.raises(FormatError, match="is no recording"):
        Recording(path)


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
        for program in recording.programs():
            _ = program.binary, program.debug, program.spirv, program.log, program.sources
            for snapshot in program.snapshots:
                snapshot.read()


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
        start = time.monotonic()
        try:
            read_all(recorded)
        except KernlensError:
            failures += 1
        assert time.monotonic() - start < 1.0
    assert failures > 30


def test_random_bytes_after_a_good_header(recorded: Path) -> None:
    head = recorded.read_bytes()[:100]
    for seed in range(50):
        recorded.write_bytes(head + random.Random(seed).randbytes(20_000))
        with pytest.raises(KernlensError):
            read_all(recorded)


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
        assert [program.name for program in recording.programs()] == ["p1", "p3"]
