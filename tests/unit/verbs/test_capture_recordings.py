"""What becomes of a capture's folder: a recording that is whole or not there, which holds equal binaries once."""

from __future__ import annotations

import os
import pty
import random
import resource
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import kernlens
from kernlens.loading import open_build
from kernlens.model.build import Build
from kernlens.recording import writer
from kernlens.recording.blobs import pack
from kernlens.recording.reader import Recording
from kernlens.verbs.capture import merging
from kernlens.verbs.capture.capture import recover
from kernlens.verbs.capture.spool import Spool
from tests.writers.programs import binary
from tests.writers.spooled import BUILD, entry, fields

MAIN = [sys.executable, "-c", "from kernlens.cli.main import main; main()"]
BUILDS = 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that a killed capture of builds from long sources left."""
    with closing(Spool.make(tmp_path / "x.klens")) as spool:
        builds = b""
        for number in range(BUILDS):
            source = random.Random(number).randbytes(20_000).hex().encode()
            builds += entry(BUILD, number, fields(("operation", b"build"), ("source", source)))
        (spool.folder / "1-2.builds").write_bytes(builds)
        return spool.folder


@pytest.mark.slow
@pytest.mark.parametrize("room", [20_000, 60_000, 100_000, 200_000, 300_000])
def test_a_disk_that_is_full_at_the_end(folder: Path, tmp_path: Path, room: int) -> None:
    """No part of a recording is left, and the message says where everything is, and what to do."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    words = [*MAIN, "capture", "--recover", str(folder)]
    package = str(Path(kernlens.__file__).parents[1])
    done = subprocess.run(
        words, cwd=tmp_path, preexec_fn=limit, env={**os.environ, "PYTHONPATH": package},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    stays = f"what was captured stays in {folder}: kernlens capture --recover {folder} -o OTHER.klens"
    assert stays in done.stderr.replace("\n", " ")
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert recover(folder).builds == BUILDS
    with Recording(tmp_path / "x.klens") as recording:
        assert len(recording.builds()) == BUILDS


def programs_of_one_binary(path: Path, count: int) -> Path:
    """The folder of a capture of an application that makes many programs from one binary."""
    with closing(Spool.make(path)) as spool:
        builds = b""
        for number in range(count):
            of_program = ("operation", b"build"), ("status", bytes(8)), ("program", struct.pack("<QQ", 1, number + 1))
            of_device = (
                ("device", bytes(8)),
                ("device name", b"Intel"),
                ("built", struct.pack("<Q", 1)),
                ("binary", binary()),
            )
            builds += entry(BUILD, number, fields(*of_program, *of_device))
        (spool.folder / "1-2.builds").write_bytes(builds)
        return spool.folder


class Statements(sqlite3.Connection):
    """A connection that notes what is executed."""

    executed: list[str] = []  # noqa: RUF012  # of all

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        self.executed.append(statement)
        return super().execute(statement, *values)


def test_many_programs_of_one_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The binary is parsed and packed once, and nothing waits for the disk program by program."""
    opened, packed = [], []
    connect = sqlite3.connect

    def noted_open(build: Build) -> Any:
        opened.append(build.name)
        return open_build(build)

    def noted_pack(content: bytes, *digest: bytes) -> Any:
        packed.append(content)
        return pack(content, *digest)

    monkeypatch.setattr(merging, "open_build", noted_open)
    monkeypatch.setattr(writer, "pack", noted_pack)
    monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=Statements))
    Statements.executed.clear()
    folder = programs_of_one_binary(tmp_path / "x.klens", 50)
    steps: list[tuple[int, int]] = []
    done = recover(folder, on_progress=lambda *step: steps.append(step))
    assert (done.builds, len(done.kernels) % 50, done.from_binary) == (50, 0, 50)
    assert steps == [(number, 50) for number in range(1, 51)]
    assert (opened, packed) == (["program-1"], [binary()])
    assert "PRAGMA synchronous=OFF" in Statements.executed
    assert not [statement for statement in Statements.executed if "checkpoint" in statement or "WAL" in statement]
    with Recording(tmp_path / "x.klens") as recording:
        assert [build.binary for build in recording.builds()] == [binary()] * 50
        assert len(recording.rows("SELECT id FROM blob")) == 1


@pytest.mark.parametrize("watched", [True, False])
def test_a_bar_where_somebody_watches(watched: bool, tmp_path: Path) -> None:
    programs_of_one_binary(tmp_path / "x.klens", 50)
    terminal, end = pty.openpty()
    words = [*MAIN, "capture", "--recover", "x.klens.capture"]
    package = str(Path(kernlens.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": package, "TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=end if watched else subprocess.PIPE,
        timeout=60, check=True,
    )  # fmt: skip
    os.close(end)
    text = done.stderr or b""
    with suppress(OSError):  # Linux says so of a terminal whose other end is closed.
        while piece := os.read(terminal, 65536):
            text += piece
    os.close(terminal)
    assert (done.stdout, b"50 builds" in text) == (b"", True)
    assert (b"\x1b[2Krecording " in text) == watched
