"""Temporary folders are removed whatever is in them: folders in one another that no path leads to, and links."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kernlens.runtime.temporary import TemporaryFolder, remove_folder

#: More than the interpreter calls itself, and with their names longer than any path.
LEVELS, NAME = 2000, "folder"


@contextmanager
def deep(folder: Path, levels: int = LEVELS) -> Iterator[None]:
    """Have folders in one another below a folder, as a compiler leaves that is told to write into such a path. What is left of
    them goes, as pytest cannot remove it either."""
    _make_deep(folder, levels)
    try:
        yield
    finally:
        subprocess.run(["rm", "-rf", folder / NAME], check=True)


def _make_deep(folder: Path, levels: int) -> None:
    place = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(NAME, dir_fd=place)
        below = os.open(NAME, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=place))
    os.close(place)


def test_folders_in_one_another_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    with deep(folder):
        with pytest.raises((RecursionError, OSError)):
            shutil.rmtree(folder)  # Which is why there is another.
        remove_folder(folder)
        assert not folder.exists()


def test_links_are_removed_and_not_what_they_lead_to(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    with TemporaryFolder("kernlens-", tmp_path) as name:
        folder = Path(name)
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "link").symlink_to(tmp_path / "kept")
        (folder / "a" / "link").symlink_to(tmp_path / "kept")
        (folder / "a" / "b" / "link").symlink_to(tmp_path / "kept" / "file")
        (folder / "pipe").touch()
    assert not folder.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept" / "file").exists()


def test_what_may_not_be_changed_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "a" / "b" / "c").mkdir(parents=True)
    for path in (folder / "a" / "b" / "c", folder / "a" / "b", folder / "a"):
        path.chmod(0o500 if path.name != "c" else 0)
    remove_folder(folder)
    assert not folder.exists()


def test_a_link_is_no_folder_to_remove(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to("kept")
    with pytest.raises(OSError, match="Not a directory"):
        remove_folder(tmp_path / "link")
    assert (tmp_path / "kept").is_dir()
