"""Recordings while they are written, by many, and after a crash; readers that may write nothing."""

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

from kernlens.errors import OutputError
from kernlens.recording.reader import Recording
from kernlens.recording.writer import RecordingWriter
from tests.tree import ROOT
from tests.writers.recordings import FAILED, FULL, beside, entry


def test_one_file_after_close_and_readable_where_nothing_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "one.klens"
    with RecordingWriter(path) as writer:
        writer.add(FULL)
    assert beside(path) == []
    assert read_as_a_stranger(path) == b"add"


@pytest.mark.slow
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
        programs = recording.builds()
        assert {program.name for program in programs} == {f"p{number}" for number in range(200)}
        for program in programs:
            assert program.binary == entry(int(program.name[1:])).binary


def test_readable_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    with RecordingWriter(path) as writer:
        writer.add(entry(1))
        with Recording(path) as recording:
            assert [program.name for program in recording.builds()] == ["p1"]
            writer.add(entry(2))
            assert [program.name for program in recording.builds()] == ["p1"], "as it was when it was opened"
        with Recording(path) as recording:
            assert [program.name for program in recording.builds()] == ["p1", "p2"]


WRITE_FOREVER = """
import sys
from kernlens.recording.writer import RecordingWriter
from tests.writers.recordings import entry
writer = RecordingWriter(sys.argv[1])
print("ready", flush=True)
number = 0
while True:
    writer.add(entry(number, 300_000))
    print(number, flush=True)
    number += 1
"""


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(8))
def test_a_kill_at_any_moment_loses_nothing_finished(attempt: int, tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
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
        programs = recording.builds()
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
        return b",".join(program.name.encode() for program in recording.builds())[:60_000]


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
        assert [program.name for program in recording.builds()] == ["p1", "p2"]


def test_a_second_writer_is_told_so(tmp_path: Path) -> None:
    """And what the first one records is all there."""
    path = tmp_path / "x.klens"
    second = "import sys; from kernlens.recording.writer import RecordingWriter; RecordingWriter(sys.argv[1], overwrite=True)"
    with RecordingWriter(path) as writer:
        writer.add(entry(1))
        other = subprocess.run([sys.executable, "-c", second, str(path)], capture_output=True, text=True, check=False)
        assert "OutputError: another process is writing the recording" in other.stderr
        with pytest.raises(OutputError, match="another process is writing"):
            RecordingWriter(path, overwrite=True)
        writer.add(entry(2))
    assert [build.name for build in Recording(path).builds()] == ["p1", "p2"]
    assert beside(path) == []


def test_builds_that_fail_do_not_replace_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    with RecordingWriter(path) as writer:
        writer.add(FAILED)
    assert [build.name for build in Recording(path).builds()] == ["broken"], "there was none before"
    with RecordingWriter(path, overwrite=True) as writer:
        writer.add(entry(1))
    with RecordingWriter(path, overwrite=True) as writer:
        writer.add(FAILED)
        writer.add(FAILED)
        assert not writer.is_published
        assert [build.name for build in Recording(path).builds()] == ["p1"]
    assert [build.name for build in Recording(path).builds()] == ["p1"]
    with RecordingWriter(path, overwrite=True) as writer:
        writer.add(FAILED)
        writer.add(entry(2))
        assert [build.name for build in Recording(path).builds()] == ["broken", "p2"]
    assert [build.name for build in Recording(path).builds()] == ["broken", "p2"]
    assert beside(path) == []


def test_another_program_that_reads_does_not_fail_the_writer(tmp_path: Path) -> None:
    """As the sqlite3 shell does, in the middle of a query when the writer ends."""
    path = tmp_path / "x.klens"
    with RecordingWriter(path) as writer:
        writer.add(entry(1))
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM program").fetchone() == (1,)
        writer.add(entry(2))
    assert [build.name for build in Recording(path).builds()] == ["p1", "p2"]
    reader.close()
    assert [build.name for build in Recording(path).builds()] == ["p1", "p2"]


def test_what_a_killed_process_of_the_same_number_left_is_not_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container kernlens may have the same number each time; a link there would be followed."""
    other = tmp_path / "other"
    other.write_text("another file")
    path = tmp_path / "x.klens"
    names: list[Path] = []
    touch = Path.touch

    def taken(file: Path, mode: int = 0o666, exist_ok: bool = True) -> None:
        names.append(file)
        file.symlink_to(other)
        touch(file, mode, exist_ok)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "touch", taken)
        with pytest.raises(OutputError, match="File exists"):
            RecordingWriter(path)
    assert other.read_text() == "another file"
    with RecordingWriter(path) as writer:
        writer.add(entry(1))
    assert [build.name for build in Recording(path).builds()] == ["p1"]
    assert [file.is_symlink() for file in names] == [True]


def test_what_a_killed_writer_left_beside_goes_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "x.klens"
    ended = subprocess.Popen(["true"])
    ended.wait()
    (tmp_path / f".x.klens.{ended.pid}.1.partial").write_text("left")
    (tmp_path / f".x.klens.{os.getpid()}.77.partial").write_text("of a living process")
    with RecordingWriter(path) as writer:
        writer.add(entry(1))
    assert beside(path) == [f".x.klens.{os.getpid()}.77.partial"]


@pytest.mark.parametrize("kind", ["folder", "link", "fifo"])
def test_odd_things_beside_a_recording(kind: str, tmp_path: Path) -> None:
    """What lies under the name of SQLite's log and is none is neither read nor in the way."""
    path = tmp_path / "x.klens"
    with RecordingWriter(path) as writer:
        writer.add(entry(1))
    log = tmp_path / "x.klens-wal"
    if kind == "folder":
        log.mkdir()
    elif kind == "link":
        log.symlink_to("/etc/hostname")
    else:
        os.mkfifo(log)
    assert [build.name for build in Recording(path).builds()] == ["p1"]
