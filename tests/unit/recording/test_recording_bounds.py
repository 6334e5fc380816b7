"""What reading and writing a recording may cost: rows, their bytes, time, and the size of a part."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.errors import FormatError, KernlensError
from kernlens.recording import blobs, reader, settled, writer
from kernlens.recording.reader import Recording
from kernlens.recording.writer import RecordingWriter
from tests.writers.recordings import FULL

NUMBERS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT {}) SELECT {} FROM n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    recording = tmp_path / "x.klens"
    with RecordingWriter(recording) as writing:
        writing.add(FULL)
    return recording


def test_rows_are_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of pages that are linked in a circle."""
    monkeypatch.setattr(reader, "ROW_LIMIT", 100)
    with Recording(path) as recording:
        assert len(recording.rows(NUMBERS.format(100, "x"))) == 100
        with pytest.raises(FormatError, match="a table holds more than the file can"):
            recording.rows(NUMBERS.format(101, "x"))


def test_the_bytes_of_rows_are_no_more_than_the_files(path: Path) -> None:
    count = path.stat().st_size // 4000
    with Recording(path) as recording:
        assert len(recording.rows(NUMBERS.format(count, "zeroblob(4000)"))) == count
        with pytest.raises(FormatError, match="a table holds more than the file can"):
            recording.rows(NUMBERS.format(count + 2, "zeroblob(4000)"))


def test_a_query_ends_when_its_time_is_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Recording(path) as recording:
        assert recording.rows(NUMBERS.format(1_000_000, "count(*)")) == [(1_000_000,)]
        monkeypatch.setattr(reader, "QUERY_TIMEOUT", -1.0)
        with pytest.raises(KernlensError, match="interrupted"):
            recording.rows(NUMBERS.format(1_000_000, "count(*)"))


def test_a_value_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settled, "VALUE_LIMIT", 1_000_000)
    with Recording(path) as recording, pytest.raises(KernlensError, match="too big"):
        recording.rows("SELECT length(zeroblob(2000000))")


def test_parts_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = blobs.pack(b"hello")
    monkeypatch.setattr(blobs, "SIZE_LIMIT", 4)
    with pytest.raises(FormatError, match="content of 5 bytes, where at most 4 are allowed"):
        blobs.unpack(packed)
    monkeypatch.setattr(writer, "SIZE_LIMIT", 4)
    with RecordingWriter(tmp_path / "y.klens") as writing, pytest.raises(KernlensError, match="is too large"):
        writing.add(FULL)
