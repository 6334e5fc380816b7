"""Temporary folders, and the removal of folders of any depth: foreign text may have a compiler make 2,000 folders in one
another, which the standard library's removal calls itself for, and whose path no call takes."""

from __future__ import annotations

import contextlib
import os
import secrets
import weakref
from pathlib import Path


class TemporaryFolder:
    """A folder that is removed after use, a context manager that gives its path, ``name``. Raises OSError if none can be made;
    what cannot be removed stays."""

    def __init__(self, prefix: str, below: str | Path | None) -> None:
        from tempfile import mkdtemp

        self.name = mkdtemp(prefix=prefix, dir=below)
        self._remove = weakref.finalize(self, try_to_remove, self.name)

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    def cleanup(self) -> None:
        """Remove the folder; more calls do nothing."""
        self._remove()


def try_to_remove(path: str | Path) -> None:
    """Remove a folder as ``remove_folder`` does; what cannot be removed stays."""
    with contextlib.suppress(OSError):
        remove_folder(path)


def remove_folder(path: str | Path) -> None:
    """Remove a folder with everything in it, of whatever depth; links are not followed. Raises OSError for what cannot be
    removed, and leaves the rest then."""
    top = _opened(os.fspath(path), None)
    try:
        # What lies in a folder of the top one is moved up into that, so that nothing is ever deep.
        name, number = f".removed-{secrets.token_hex(8)}-", 0
        while inside := _entries(top):
            for folder in _files_removed(top, inside):
                below = _opened(folder, top)
                try:
                    for deeper in _files_removed(below, _entries(below)):
                        os.close(_opened(deeper, below))  # Which makes it one that may be moved.
                        os.rename(deeper, f"{name}{number}", src_dir_fd=below, dst_dir_fd=top)
                        number += 1
                finally:
                    os.close(below)
                os.rmdir(folder, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(path)


def _entries(folder: int) -> list[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


def _files_removed(folder: int, entries: list[tuple[str, bool]]) -> list[str]:
    """Remove what is no folder, and return the names of the folders."""
    for name, is_folder in entries:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in entries if is_folder]


def _opened(path: str, inside: int | None) -> int:
    """Open a folder, whose owner may then change it."""
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        folder = os.open(path, os.O_RDONLY | flags, dir_fd=inside)
    except PermissionError:
        handle = os.open(path, os.O_PATH | flags, dir_fd=inside)
        try:
            os.chmod(f"/proc/self/fd/{handle}", 0o700)
        finally:
            os.close(handle)
        folder = os.open(path, os.O_RDONLY | flags, dir_fd=inside)
    if os.fstat(folder).st_mode & 0o700 != 0o700:
        os.fchmod(folder, 0o700)
    return folder
