"""Source files on disk, but only those that the user can be assumed to mean.

Line tables, ``#include`` lines and recordings name files, and may come from anybody. A name is followed only to a regular
file that lies, after all links are resolved, below a folder that the user has named or works in.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from kernlens.errors import NotFoundError, UnsupportedError, nearest
from kernlens.model.build import Source

#: The size in bytes of the largest file that counts as source text.
SIZE_LIMIT = 16 << 20
#: No file's path is longer than this many bytes (PATH_MAX of Linux).
PATH_LIMIT = 4096
#: These folders contain regular files, but no sources.
_SYSTEM_FOLDERS = ("/proc", "/sys", "/dev", "/run")
#: What lies below these folders has nothing in common: to work in one names no file of it. Whoever means one says so.
_WIDE_FOLDERS = frozenset((
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt", "/proc", "/root", "/run",
    "/sbin", "/srv", "/sys", "/tmp", "/usr", "/usr/local", "/usr/share", "/usr/src", "/var", "/var/lib", "/var/tmp",
))  # fmt: skip
_HOMES = ("/home", "/Users", "/export/home", "/var/home")
_KINDS = (
    (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)  # fmt: skip


def open_regular(path: str | os.PathLike[str], kind: str = "file") -> BinaryIO:
    """Open a regular file that the user has named, without waiting for a pipe or starting a device. ``kind`` is what to
    call it. Raises NotFoundError if there is none, and UnsupportedError if it is something else or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"there is no {kind} {os.fspath(path)}; {_advice(os.fspath(path), kind)}") from None
    except (OSError, ValueError) as error:
        advice = f"; ls -l {os.fspath(path)} shows who may" if isinstance(error, PermissionError) else ""
        reason = getattr(error, "strerror", None) or error
        raise UnsupportedError(f"cannot read {os.fspath(path)}: {reason}{advice}") from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise UnsupportedError(f"{os.fspath(path)} is a folder; name a file in it")
        what = next((name for test, name in _KINDS if test(mode)), "no file")
        raise UnsupportedError(f"{os.fspath(path)} is {what}; kernlens reads regular files: write the content to one")
    return os.fdopen(descriptor, "rb")


def _advice(path: str, kind: str) -> str:
    """Return what a user may have meant who named a file that is not there."""
    from kernlens.isa.devices import known_device

    if known_device(path) is not None:
        return f"{path} is a device, and several devices are one word: --device skl,dg2"
    if "," in path and all(map(os.path.isfile, path.split(","))):
        return "several files are separated by spaces"
    folder, name = os.path.split(path)
    if not os.path.isdir(folder or "."):
        return f"there is no folder {folder}"
    try:
        near = nearest(name, os.listdir(folder or "."))
    except OSError:
        near = []
    return f"there is {', '.join(near)}" if near else f"no name in {os.path.realpath(folder or '.')} is like it"


def is_wide(folder: str) -> bool:
    """Return whether a folder holds so much else that a name below it is not meant by it alone: ``/``, a home folder
    and those above it, the system's, and those that all may write into, such as ``/tmp``."""
    try:
        real, home = os.path.realpath(folder), os.path.realpath(os.path.expanduser("~"))
        mode = os.stat(real).st_mode
    except (OSError, ValueError):
        return False  # There is no such folder, and nothing below it.
    is_shared = bool(mode & stat.S_ISVTX and mode & stat.S_IWOTH)
    return real in _WIDE_FOLDERS or os.path.dirname(real) in _HOMES or f"{home}/".startswith(f"{real}/") or is_shared


class SourceFolders:
    """The folders below which source files may be read. ``near`` are folders that come with what was opened: its own
    and the working folder, unless they are wide; hidden files and folders in them (``.ssh``) are not read. ``named``
    are those that the user has named with an option, ``advice`` that option."""

    def __init__(self, near: Iterable[str], named: Iterable[str] = (), advice: str = "--source-root") -> None:
        self._near = tuple(folder for folder in dict.fromkeys(_resolved(near)) if not is_wide(folder))
        self._named = tuple(dict.fromkeys(_resolved(named)))
        self._advice = advice

    def read(self, path: str) -> Source | None:
        """Return the text of ``path`` under that name, or a Source without text that says why it must not be read.
        Returns None if there is no such file, or it is too large for a source."""
        if "\0" in path or len(path) >= PATH_LIMIT:
            return None
        try:
            real = os.path.realpath(path)
            kind = os.stat(real).st_mode
        except (OSError, ValueError):
            return None
        if stat.S_ISDIR(kind):
            return None
        reason = self._refusal(real) or (None if stat.S_ISREG(kind) else "it is not a regular file")
        if reason is not None:
            return Source(path, "", unread=reason)
        return _source(path, real)

    def named(self, path: str) -> Source | None:
        """Return the text of a file that the user has named; None if there is none or it is too large for a source."""
        return _source(path, os.path.realpath(path)) if os.path.isfile(path) else None

    def _refusal(self, real: str) -> str | None:
        """Say why the file of this resolved path must not be read; returns None if it may be read."""
        if any(_is_below(real, folder) for folder in _SYSTEM_FOLDERS):
            return "it is a file of the system"
        if any(_is_below(real, folder) for folder in self._named):
            return None
        for folder in self._near:
            if _is_below(real, folder):
                hidden = any(piece.startswith(".") for piece in real[len(folder) :].split("/"))
                return None if not hidden else f"it is hidden; {self._advice} {os.path.dirname(real)} allows it"
        where = f"it lies at {os.path.dirname(real)}, outside the folders that may be read"
        return f"{where}; {self._advice} {os.path.dirname(real)} allows it"


def _resolved(folders: Iterable[str]) -> Iterator[str]:
    """Yield the folders without links; names that no file can have, as they hold a NUL, are left out."""
    for folder in folders:
        try:
            yield os.path.realpath(folder)
        except ValueError:
            continue


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _source(path: str, real: str) -> Source | None:
    """Read a regular file under a name; returns None if it is too large, or something else has replaced it meanwhile."""
    try:
        # O_NONBLOCK, as a pipe may have replaced the file, and opening it would wait.
        descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        if sys.platform == "linux" and os.readlink(f"/proc/self/fd/{descriptor}") != real:
            return None
        content = file.read(SIZE_LIMIT + 1)
    return Source(path, content.decode("utf-8", "replace")) if len(content) <= SIZE_LIMIT else None
