"""Folders in which one file is damaged: the good ones are shown, the damaged one is named."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from kernlens import load
from kernlens.errors import KernlensError
from kernlens.recording.writer import RecordingWriter
from tests.unit.conftest import Kernlens
from tests.writers.programs import binary, spirv
from tests.writers.recordings import holding

DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "tables": ("bad.klens", lambda path: _change(path, "DROP TABLE part")),
    "content": ("bad.klens", lambda path: _change(path, "UPDATE blob SET content = zeroblob(length(content))")),
    "cut recording": ("bad.klens", lambda path: os.truncate(path, 3000)),
    "cut binary": ("bad.bin", lambda path: os.truncate(path, path.stat().st_size - 60)),
}
VERBS = (("inspect",), ("disasm",), ("annotate",), ("symbols",), ("inspect", "--json"), ("extract", "-o", "parts"))


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A recording of each of two kernels, by its name; to write them takes longer than the commands."""
    folder, kernels = tmp_path_factory.mktemp("recordings"), {"good.klens": "last", "whole.klens": "unseen"}
    for name, kernel in kernels.items():
        with RecordingWriter(folder / name) as writer:
            writer.add(holding(kernel, binary(kernel=kernel)))
    return {name: (folder / name).read_bytes() for name in kernels}


@pytest.fixture(params=DAMAGES)
def folder(
    request: pytest.FixtureRequest,
    file: Path,
    tmp_path: Path,
    recordings: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A folder with a good binary, a good recording, and a damaged file whose name stands between theirs."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.bin").write_bytes(binary(kernel="first"))
    (folder / "good.klens").write_bytes(recordings["good.klens"])
    name, damage = DAMAGES[request.param]
    (folder / name).write_bytes(recordings["whole.klens"] if name.endswith("klens") else binary(kernel="unseen"))
    damage(folder / name)
    return folder


def _change(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_the_good_files_are_shown(words: tuple[str, ...], kernlens: Kernlens, folder: Path) -> None:
    (bad,) = folder.glob("bad.*")
    done = kernlens(*words, folder)
    assert done.status == 2
    for kernel in ("first", "last"):
        assert kernel in done.out
    assert "unseen" not in done.out
    assert done.err.startswith(f"kernlens: 1 file of the folder {folder} cannot be read: {bad}: ")
    assert done.err.count("\n") == 1


def test_modules_of_a_damaged_folder_are_not_linked(kernlens: Kernlens, folder: Path) -> None:
    (folder / "x.spv").write_bytes(spirv())
    done = kernlens("link", folder)
    assert (done.status, done.out) == (2, "")
    assert "cannot be read" in done.err


def test_python_is_told(folder: Path) -> None:
    with pytest.raises(KernlensError, match=r"1 file of the folder .* cannot be read"):
        load(folder)


def test_a_folder_of_damaged_files_alone(kernlens: Kernlens, folder: Path) -> None:
    (folder / "a.bin").unlink()
    (folder / "good.klens").unlink()
    done = kernlens("inspect", folder)
    assert (done.status, done.out) == (2, "")
    assert "1 file of the folder" in done.err
