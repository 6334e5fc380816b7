"""The temporary folder of ``serve``: what a killed process left is removed by the next, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.swept_folder import LOCK, PREFIX, swept_folder
from tests.processes import PATIENCE
from tests.unit.runtime.test_temporary import deep

HOLDS = """
import sys, time
from kernlens.toolchain.swept_folder import swept_folder
with swept_folder() as folder:
    open(folder + "/part", "w").close()
    print(folder, flush=True)
    time.sleep(float(sys.argv[1]))
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def holder() -> tuple[subprocess.Popen[str], Path]:
    """A process that holds such a folder, and that."""
    process = subprocess.Popen([sys.executable, "-c", HOLDS, str(PATIENCE)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_the_folder_of_a_killed_process_is_removed_by_the_next() -> None:
    process, left = holder()
    with process:
        with swept_folder():
            assert (left / "part").exists()  # Its process lives.
        process.kill()
        process.wait()
    assert (left / "part").exists()
    with swept_folder() as own:
        assert not left.exists()
        assert os.path.isdir(own)
    assert not os.path.exists(own)


def test_what_is_no_such_folder_stays(temporary: Path) -> None:
    aside = temporary / "aside"
    aside.mkdir()
    (aside / LOCK).touch()
    (temporary / f"{PREFIX}link").symlink_to(aside)
    (temporary / f"{PREFIX}new").mkdir()
    (temporary / f"{PREFIX}file").touch()
    tricked = temporary / f"{PREFIX}linked"
    tricked.mkdir()
    (tricked / LOCK).symlink_to(aside / LOCK)
    before = sorted(temporary.iterdir())
    with swept_folder():
        pass
    assert sorted(temporary.iterdir()) == before
    assert (aside / LOCK).exists()


def test_other_temporary_folders_lie_in_it() -> None:
    with swept_folder() as folder, temporary_folder() as inner:
        assert os.path.dirname(inner) == folder
    with temporary_folder() as after:
        assert os.path.dirname(after) != folder


def test_a_folder_that_the_standard_library_cannot_remove_is_swept(temporary: Path) -> None:
    """A compile of a source 2,000 folders deep left one, and each later start ended with a traceback."""
    left = temporary / f"{PREFIX}left"
    left.mkdir()
    (left / LOCK).touch()
    with deep(left), swept_folder():
        assert not left.exists()


def test_a_sweep_that_fails_stops_nothing(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("kernlens.toolchain.swept_folder.remove_folder", fail)
    left = temporary / f"{PREFIX}left"
    left.mkdir()
    (left / LOCK).touch()
    with swept_folder() as own:
        assert left.exists()
        assert os.path.isdir(own)
