"""The file of a recording that nobody writes to while it is read: itself, or a copy."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kernlens import log
from kernlens.errors import KernlensError
from kernlens.recording.schema import HEADER_SIZE

if TYPE_CHECKING:
    import sqlite3

#: The longest text or blob in bytes that SQLite may build.
VALUE_LIMIT = (1 << 30) + 4096
#: How often a file is copied that is written to meanwhile, and the seconds between.
COPIES, _COPY_PAUSE = 20, 0.25


def connect(path: Path, mode: str, closing: contextlib.ExitStack) -> sqlite3.Connection:
    """Return a connection to a recording that can only be read; ``mode`` is the query of SQLite's address."""
    import sqlite3

    connection = sqlite3.connect(
        path.absolute().as_uri() + mode, uri=True, isolation_level=None, check_same_thread=False
    )
    closing.callback(connection.close)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_LIMIT)
    for setting in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def settled_file(path: Path, closing: contextlib.ExitStack, *, is_held: bool) -> Path:
    """Return a file that nobody writes to: ``path`` if its writer has finished, else a copy of what it holds so far; with
    ``is_held`` a copy in any case. SQLite keeps a second file beside the recording until the writer has finished, and
    leaves it there after a crash."""
    import sqlite3
    from tempfile import TemporaryDirectory

    beside = path.with_name(path.name + "-wal")
    is_finished = beside.is_symlink() or not beside.is_file()
    if is_finished and not is_held:
        return path
    folder = Path(closing.enter_context(TemporaryDirectory(prefix="kernlens-")))
    copy = folder / "recording"
    if is_finished:
        _copy_whole(path, copy)
        return copy
    log.debug("recording", "%s: read from a copy, as %s says that it is not finished", path, beside)
    with contextlib.ExitStack() as closing_source:
        try:
            connect(path, "?mode=ro", closing_source).execute("SELECT count(*) FROM sqlite_master").fetchone()
            source = path
        except sqlite3.OperationalError:
            # SQLite can merge what a crash left beside the recording only where it may write.
            source = folder / "crashed"
            shutil.copyfile(path, source)
            shutil.copyfile(beside, source.with_name(source.name + "-wal"))
        target = sqlite3.connect(copy, isolation_level=None)
        closing_source.callback(target.close)
        connect(source, "?mode=ro", closing_source).backup(target)
        target.execute("PRAGMA journal_mode=DELETE")
    return copy


def _copy_whole(path: Path, copy: Path) -> None:
    """Copy a file as it is at one moment. Raises KernlensError if it is written to each time."""
    for _ in range(COPIES):
        try:
            before = path.stat()
            shutil.copyfile(path, copy)
            after = path.stat()
        except OSError as error:
            raise KernlensError(f"the recording {path} cannot be copied: {error.strerror or error}") from error
        same = (before.st_ino, before.st_size, before.st_mtime_ns) == (after.st_ino, after.st_size, after.st_mtime_ns)
        if same and copy.stat().st_size == before.st_size:
            return
        time.sleep(_COPY_PAUSE)
    raise KernlensError(f"the recording {path} changes while it is read; open it when its writer has finished")


def cut_off(path: Path) -> str:
    """Return how much of a recording is missing at its end, for a sentence; empty if nothing is. Source: SQLite's file
    format, 1.3: the size of a page at offset 16, with 1 for 65,536, and the number of pages at 28."""
    try:
        with path.open("rb") as file:
            head = file.read(HEADER_SIZE)
            size = file.seek(0, 2)
    except OSError:
        return ""
    page = int.from_bytes(head[16:18], "big")
    whole = (65536 if page == 1 else page) * int.from_bytes(head[28:32], "big")
    return f": it was cut off after {size:,} of {whole:,} bytes" if size < whole else ""
