"""The temporary folder of a process that runs for long: what is left of it after a kill is removed by the next one."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from kernlens import log
from kernlens.runtime.temporary import remove_folder
from kernlens.toolchain.process import temporary_folder

PREFIX = "kernlens-serve-"
#: A file in the folder that its process holds locked: the kernel lets go of it when that ends, however it does.
LOCK = "in-use"


@contextmanager
def swept_folder() -> Iterator[str]:
    """Make a temporary folder that is removed after use, and remove those that killed processes of this user left.
    Within the context all temporary folders of this process are made in it. Raises OutputError if none can be made."""
    _sweep(tempfile.gettempdir())
    with temporary_folder(prefix=PREFIX) as folder, open(os.path.join(folder, LOCK), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            yield folder
        finally:
            tempfile.tempdir = before


def _sweep(below: str) -> None:
    try:
        with os.scandir(below) as entries:
            left = [entry for entry in entries if entry.name.startswith(PREFIX)]
    except OSError as error:
        log.debug("toolchain", "%s is not swept: %s", below, error.strerror)
        return
    for entry in left:
        try:
            if entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                _remove_unused(entry.path)
        except OSError as error:
            log.debug("toolchain", "%s stays: %s", entry.path, error.strerror)


def _remove_unused(folder: str) -> None:
    """Remove the folder if no process holds its lock; one that has none yet is being made."""
    lock = os.open(os.path.join(folder, LOCK), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: its process lives.
        remove_folder(folder)
        log.debug("toolchain", "removed %s, which a process left that was killed", folder)
    finally:
        os.close(lock)
