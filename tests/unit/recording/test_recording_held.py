"""A recording that is read while others write over its file: what was recorded when it was opened is read to its end."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kernlens.errors import KernlensError
from kernlens.recording import settled
from kernlens.recording.reader import Recording
from kernlens.recording.writer import RecordingWriter
from tests.writers.recordings import entry


def recorded(path: Path, *numbers: int) -> Path:
    with RecordingWriter(path) as writer:
        for number in numbers:
            writer.add(entry(number))
    return path


def truncate(path: Path, other: Path) -> None:
    os.truncate(path, 4096)


def write_over(path: Path, other: Path) -> None:
    """What ``cp`` does: the same file gets another content."""
    shutil.copyfile(other, path)


def rename_over(path: Path, other: Path) -> None:
    other.rename(path)


def remove(path: Path, other: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [truncate, write_over, rename_over, remove])
def test_a_held_recording_is_read_to_its_end(
    change: Callable[[Path, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    path, other = recorded(tmp_path / "x.klens", *range(40)), recorded(tmp_path / "y.klens", *range(100, 140))
    with Recording(path, is_held=True) as recording:
        first = recording.builds()[0]
        assert first.binary == entry(0).binary
        change(path, other)
        for number, build in enumerate(recording.builds()):
            assert (build.name, build.binary) == (f"p{number}", entry(number).binary)
    assert list(temporary.iterdir()) == [], "the copy goes with the recording"


def test_a_file_that_is_written_to_all_the_time_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recorded(tmp_path / "x.klens", 1)
    copies = []

    def copy_and_write(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes())
        copies.append(target)
        if len(copies) < most:
            with path.open("ab") as file:
                file.write(b"more")

    monkeypatch.setattr(shutil, "copyfile", copy_and_write)
    monkeypatch.setattr(settled, "_COPY_PAUSE", 0)
    most = 1000
    with pytest.raises(KernlensError, match="changes while it is read"):
        Recording(path, is_held=True)
    assert len(copies) == settled.COPIES
    # It is waited for, if it ends soon.
    copies.clear()
    most = 3
    with Recording(path, is_held=True) as recording:
        assert [build.name for build in recording.builds()] == ["p1"]
