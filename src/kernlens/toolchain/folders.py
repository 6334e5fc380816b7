"""Folders of any depth: what lies in them, and their making. Those of the standard library call themselves for each level,
and 1,000 levels are too many for that; a path may have 2,000."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path


def paths_below(folder: str) -> Iterator[str]:
    """Yield what lies below a folder and is no folder, in order: a folder's own before those of its folders. Links to
    folders are not followed. A folder whose path is too long to be opened is yielded itself; others that cannot be read
    are left out."""
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        folders = []
        try:
            with os.scandir(path) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    if not entry.is_dir():
                        yield entry.path
                    elif not entry.is_symlink():
                        folders.append(entry.path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                yield path
        waiting += reversed(folders)


def entries_below(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield all that lies below a folder, in no order; links are not followed. Folders that cannot be read, or are gone, are
    left out. Raises OSError for a folder whose path is too long."""
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise


def make_folder(path: Path) -> None:
    """Make a folder, and those that it lies in, where they are not there. Raises OSError."""
    missing = []
    while not path.is_dir() and path != path.parent:
        missing.append(path)
        path = path.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
