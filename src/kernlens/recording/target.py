"""The file that a recording is written to, chosen and locked: one writer at a time, and no early loss of an old recording."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from kernlens.errors import OutputError
from kernlens.recording.schema import HEADER_SIZE, is_recording

#: The endings of the files that SQLite keeps beside a database.
_BESIDE = ("-wal", "-shm", "-journal")
_PARTIAL = ".partial"


class Target:
    """A recording's file, locked for this writer. ``file`` is the file to write: the recording itself if there was
    none, else, and with ``is_whole``, a file beside it that then gets its name (``publish``). ``create`` makes an empty
    recording under a given name. Raises OutputError if the file exists and ``overwrite`` is False or it is no
    recording, and if another process is writing it."""

    def __init__(self, path: Path, overwrite: bool, create: Callable[[Path], None], is_whole: bool = False) -> None:
        self.path = path
        self.is_whole = is_whole
        self._locks: list[int] = []
        # Before a name beside it is made: "." and "/" have no names.
        is_recorded(path, overwrite)
        partial = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}{_PARTIAL}")
        _sweep(path)
        # A new file: a killed process may have had this one's number, and in a folder of many somebody may lay a link.
        partial.touch(0o644, exist_ok=False)
        try:
            create(partial)
            self._is_new = is_whole and not is_recorded(path, overwrite)
            if is_whole:
                self.file = partial
            elif not is_recorded(path, overwrite) and _put(partial, path):
                partial.unlink()
                self.file = path
            else:
                is_recorded(path, overwrite)
                self.file = partial
            for file in dict.fromkeys((path, self.file)):
                if file != path or not self._is_new:
                    self._lock(file)
        except BaseException:
            partial.unlink(missing_ok=True)
            self.close()
            raise

    @property
    def is_published(self) -> bool:
        """True if the written file has the recording's name."""
        return self.file == self.path

    def publish(self) -> None:
        """Replace the old recording, whose rights it gets, by the written file, which SQLite must have closed."""
        descriptor = os.open(self.file, os.O_RDONLY | os.O_CLOEXEC)
        self._locks.append(descriptor)  # Closed with the others.
        os.fsync(descriptor)
        if self._is_new:
            if not _put(self.file, self.path):
                raise OutputError(f"another process has just written the recording {self.path}; choose another name")
            self.file.unlink()
        else:
            self.file.chmod(self.path.stat().st_mode & 0o777)
            _settle(self.path)
            # A journal that a crash left belongs to the removed file.
            for ending in _BESIDE:
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
            self.file.replace(self.path)
        self.file = self.path

    def close(self) -> None:
        """Release the file, so that others can write it. SQLite must have closed it, as closing a descriptor of it
        releases SQLite's locks."""
        while self._locks:
            os.close(self._locks.pop())

    def discard(self, is_empty: bool) -> None:
        """Remove the written file if it is not published, or holds no program."""
        if is_empty or not self.is_published:
            self.file.unlink(missing_ok=True)

    def _lock(self, path: Path) -> None:
        import fcntl

        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._locks.append(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                f"another process is writing the recording {path}; wait for it, or choose another name"
            ) from None
        if os.fstat(descriptor).st_ino != path.stat().st_ino:
            raise OutputError(
                f"another process has just replaced the recording {path}; try again, or choose another name"
            )


def is_recorded(path: Path, overwrite: bool) -> bool:
    """Return whether there is a recording that may be replaced. Raises OutputError if a file may not be replaced."""
    if path.is_dir():
        raise OutputError(f"{path} is a folder; name a file for the recording")
    if not path.exists():
        return False
    if not overwrite:
        raise OutputError(f"{path} exists; choose another name, or allow it to be replaced")
    if not path.is_file():
        raise OutputError(f"{path} exists and is not a file; kernlens leaves it alone, choose another name")
    with path.open("rb") as file:
        head = file.read(HEADER_SIZE)
    if head and not is_recording(head):
        raise OutputError(f"{path} exists and is not a recording; kernlens leaves it alone, choose another name")
    return True


def _settle(path: Path) -> None:
    """Have SQLite put what a crash left beside a recording into it: until the recording is replaced, it is whole."""
    import sqlite3

    if path.with_name(f"{path.name}-wal").exists():
        # Of a damaged one there is nothing more to be had.
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")


def _put(partial: Path, path: Path) -> bool:
    """Give the file its name; return False if another writer was faster."""
    try:
        os.link(partial, path, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError:
        # The file system has no hard links. Since the check, another writer may have made an empty recording, which is lost.
        partial.replace(path)
        partial.touch()
    return True


def _sweep(path: Path) -> None:
    """Remove what killed writers have left beside the recording."""
    from glob import escape

    for old in path.parent.glob(f".{escape(path.name)}.*{_PARTIAL}*"):
        number = old.name.removeprefix(f".{path.name}.").partition(".")[0]
        if number.isdecimal() and not is_alive(int(number)):
            with contextlib.suppress(OSError):
                old.unlink()


def is_alive(process: int) -> bool:
    """Return whether there is a process of this number."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
