"""The door through which files are opened, but for those of the system and of kernlens itself. It knows three kinds.

A file that the user has *named* is opened wherever its links lead (``open_regular``). What lies *beside* it by a rule (a stage
of Triton's, a file of a named folder, what a compiler left in a temporary one) comes from whoever filled the folder: it is
opened if its links do not lead out of that (``open_beside``). *Sources* are named by line tables, ``#include`` lines and
recordings: such a name is followed only to a regular file that lies, after all links are resolved, below a folder that the
user has named or works in (``SourceFolders``). tests/unit/rules/test_one_door.py lists who else opens files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from kernlens.errors import NotFoundError, UnsupportedError, nearest
from kernlens.model.build import Source

#: The size in bytes of the largest file that counts as source text.
SIZE_LIMIT = 16 << 20
#: The size in bytes of the largest file that is opened because it lies beside another.
BESIDE_LIMIT = 4 << 30
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
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_KINDS = (
    (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)  # fmt: skip


def open_regular(path: str | os.PathLike[str], kind: str = "file") -> BinaryIO:
    """Open a regular file that the user has named, without waiting for a pipe or starting a device. ``kind`` is what to
    call it. Raises NotFoundError if there is none, and UnsupportedError if it is something else or cannot be read."""
    try:
        descriptor = os.open(path, _READ)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"there is no {kind} {os.fspath(path)}; {_advice(os.fspath(path), kind)}") from None
    except (OSError, ValueError) as error:
        advice = f"; ls -l {os.fspath(path)} shows who may" if isinstance(error, PermissionError) else ""
        reason = getattr(error, "strerror", None) or error
        raise UnsupportedError(f"cannot read {os.fspath(path)}: {reason}{advice}") from error
    return _regular(descriptor, os.fspath(path))


def read_named(path: str | os.PathLike[str], kind: str = "file") -> bytes:
    """Return the content of a file that the user has named. Raises what ``open_regular`` raises."""
    with open_regular(path, kind) as file:
        return _content(file, os.fspath(path))


def open_beside(path: str | os.PathLike[str], folder: str | os.PathLike[str], most: int = BESIDE_LIMIT) -> BinaryIO:
    """Open a regular file of ``folder`` that the user has not named: he has named the folder, or another file in it, or it is
    a temporary one in which a tool has worked. Raises NotFoundError if there is none, and UnsupportedError for a link that
    leads out of the folder or to what is hidden, for any link in a folder of everybody's files (``is_wide``), for what is
    larger than ``most`` bytes, no regular file, or cannot be read."""
    name = os.fspath(path)
    try:
        home, place = os.path.realpath(folder), os.path.realpath(os.path.dirname(name))
        real = os.path.realpath(name)
    except ValueError as error:
        raise UnsupportedError(f"cannot read {name!a}: {error}") from None
    is_link = real != os.path.join(place, os.path.basename(name))
    if not _is_below(real, home) or (is_link and (_is_hidden(real[len(home) :]) or is_wide(home))):
        raise UnsupportedError(
            f"{name} is a link to {real}, which nobody has named, so it is not read; name that file itself"
        )
    try:
        # O_NONBLOCK, as a pipe may have replaced the file, and opening it would wait.
        descriptor = os.open(real, _READ | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"there is no file {name}") from None
    except (OSError, ValueError) as error:
        raise UnsupportedError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from error
    file = _regular(descriptor, name)
    size = os.fstat(descriptor).st_size
    if not _leads_to(descriptor, real) or size > most:
        file.close()
        why = f"has {size:,} bytes, at most {most:,} are read" if size > most else "was replaced while it was opened"
        raise UnsupportedError(f"{name} {why}")
    return file


def read_beside(path: str | os.PathLike[str], folder: str | os.PathLike[str], most: int = BESIDE_LIMIT) -> bytes:
    """Return the content of a file that ``open_beside`` opens. Raises what that raises."""
    with open_beside(path, folder, most) as file:
        return _content(file, os.fspath(path))


def _content(file: BinaryIO, name: str) -> bytes:
    try:
        # ``read`` allocates what it is asked for before it knows how much there is.
        return file.read(os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise UnsupportedError(f"cannot read {name}: {error.strerror or error}") from error


def _regular(descriptor: int, name: str) -> BinaryIO:
    """Return the file of a descriptor. Raises UnsupportedError, and closes it, if that is no regular file."""
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise UnsupportedError(f"{name} is a folder; name a file in it")
        what = next((kind for test, kind in _KINDS if test(mode)), "no file")
        raise UnsupportedError(f"{name} is {what}; kernlens reads regular files: write the content to one")
    return os.fdopen(descriptor, "rb")


def _leads_to(descriptor: int, real: str) -> bool:
    """Return whether a descriptor is of the file that a resolved path names: a link may have replaced a folder on its way."""
    return os.readlink(f"/proc/self/fd/{descriptor}") == real


def _is_hidden(path: str) -> bool:
    return any(piece.startswith(".") for piece in path.split("/"))


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
                if not _is_hidden(real[len(folder) :]):
                    return None
                return f"it is hidden; {self._advice} {os.path.dirname(real)} allows it"
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
        descriptor = os.open(real, _READ | os.O_NOFOLLOW)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not _leads_to(descriptor, real):
            return None
        content = file.read(SIZE_LIMIT + 1)
    return Source(path, content.decode("utf-8", "replace")) if len(content) <= SIZE_LIMIT else None
