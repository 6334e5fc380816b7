"""Files that the user named for output: whole or as they were, and never one that the command reads."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernlens.cli.output import write_bytes
from kernlens.errors import OutputError
from kernlens.model.build import Build
from kernlens.recording.writer import RecordingWriter
from tests.unit.analysis.test_comparison import SOURCE, with_code
from tests.unit.conftest import Kernlens
from tests.writers.programs import SOURCE as PROGRAM


def test_of_two_writers_of_one_file_the_later_wins_whole(tmp_path: Path) -> None:
    path = str(tmp_path / "x.csv")

    def first() -> Iterator[bytes]:
        yield b"a" * 100_000
        write_bytes(path, [b"b" * 300_000])
        assert Path(path).read_bytes() == b"b" * 300_000
        yield b"a" * 100_000

    write_bytes(path, first())
    assert Path(path).read_bytes() == b"a" * 200_000
    assert os.listdir(tmp_path) == ["x.csv"]


def test_what_ends_in_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    for content in (None, b"old"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(KeyboardInterrupt):
            write_bytes(str(path), broken())
        assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == (
            [("x.csv", b"old")] if content else []
        )


def test_rights_and_links_stay(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    path, link = tmp_path / "there" / "x.csv", tmp_path / "link.csv"
    link.symlink_to(path)
    before = os.umask(0o027)
    try:
        write_bytes(str(link), [b"new"])
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    write_bytes(str(link), [b"newer"])
    assert (link.is_symlink(), path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (True, b"newer", 0o604)


def test_a_pipe_is_written_as_it_is(tmp_path: Path) -> None:
    path, result = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: result.append(path.read_bytes()))
    reader.start()
    write_bytes(str(path), [b"rows"])
    reader.join()
    assert (result, stat.S_ISFIFO(path.stat().st_mode)) == ([b"rows"], True)
    with pytest.raises(OutputError, match="cannot write /dev/full: No space left on device; choose another location"):
        write_bytes("/dev/full", [b"rows"])


@pytest.mark.parametrize(
    "words",
    [
        ("check", "old.bin", "--max-simd", "99", "--junit", "old.bin"),
        ("check", "old.bin", "--max-simd", "99", "--baseline", "new.bin", "--sarif", "./new.bin"),
        ("check", "old.bin", "--budget", "b.toml", "--sarif", "b.toml"),
        ("annotate", "old.bin", "--format", "text", "-o", "old.bin"),
    ],
)
def test_what_a_command_reads_it_does_not_write(
    words: tuple[str, ...], kernlens: Kernlens, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    contents = {"old.bin": with_code(48), "new.bin": with_code(80), "b.toml": b'[kernel."*"]\nmax-simd = 99\n'}
    for name, content in contents.items():
        Path(name).write_bytes(content)
    Path("scale.cl").write_text(SOURCE)
    done = kernlens(*words)
    assert done.status == 2
    assert f"{words[-1]} is named twice in this command and would be overwritten" in done.err
    assert {name: Path(name).read_bytes() for name in contents} == contents


def test_a_verdict_is_printed_though_its_file_cannot_be_written(
    kernlens: Kernlens, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.bin").write_bytes(with_code(48))
    done = kernlens("check", "old.bin", "--max-simd", "99", "--junit", "no/x.xml", "--sarif", "/dev/full")
    assert (done.status, done.out) == (2, "1 kernel, 0 unread, 1 bound checked: all kept\n")
    assert "cannot write no/x.xml: No such file or directory" in done.err
    assert "cannot write /dev/full: No space left on device" in done.err


def test_what_cannot_be_written_costs_nothing_else(
    kernlens: Kernlens, compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full when the rows are written: the old file stays, the other is written, the table is printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNLENS_CACHE", "off")
    Path("scale.cl").write_text(PROGRAM)
    Path("x.csv").write_text("of yesterday\n")
    Path("x.csv").chmod(0o640)

    def full(*_: object) -> Iterator[str]:
        yield "half a row"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("kernlens.cli.answers.sweep_table.csv_rows", full)
        done = kernlens("sweep", "scale.cl", "--device", "skl", "--csv", "x.csv", "--heat-map", "x.html")
    assert (done.status, done.err) == (
        2,
        "kernlens: cannot write x.csv: No space left on device; choose another location\n",
    )
    assert "1 compile, 2 kernels" in done.out
    assert Path("x.csv").read_text() == "of yesterday\n"
    assert Path("x.html").exists()
    assert kernlens("sweep", "scale.cl", "--device", "skl", "--csv", "x.csv").status == 0
    assert Path("x.csv").read_text().count("\n") == 3
    assert stat.S_IMODE(Path("x.csv").stat().st_mode) == 0o640
    assert not list(tmp_path.glob(".kernlens-*"))


def test_a_recording_that_cannot_be_written_costs_nothing_else(
    kernlens: Kernlens, compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full when the second program is recorded, and a sweep that is interrupted then: the old recording
    stays, and nothing lies beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNLENS_CACHE", "off")
    Path("scale.cl").write_text(PROGRAM)
    words = ("sweep", "scale.cl", "--device", "skl", "-D", "N=1,2,3", "-o", "x.klens", "--csv", "x.csv")
    assert kernlens(*words).status == 0
    old = Path("x.klens").read_bytes()
    write = RecordingWriter.add
    for error, status in ((OutputError("no space"), 2), (KeyboardInterrupt(), 130)):

        def add(self: RecordingWriter, build: Build, place: int, error: BaseException = error) -> int:
            number = write(self, build, place)
            if number == 2:
                raise error
            return number

        Path("x.csv").unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            patch.setattr(RecordingWriter, "add", add)
            done = kernlens(*words)
        assert done.status == status
        assert Path("x.klens").read_bytes() == old
        assert not [name for name in os.listdir() if name.startswith(".x")]
        if status == 2:
            assert done.err == "kernlens: no space\n"
            assert "3 compiles, 6 kernels" in done.out
            assert len(Path("x.csv").read_text().splitlines()) == 1 + 6
