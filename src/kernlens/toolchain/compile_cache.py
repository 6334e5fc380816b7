"""The results of compiles, by their keys, so that an equal compile is done once: on disk, for all processes of a user.

An entry is written under another name and renamed, so none is ever seen half; it begins with a digest, so one that was
damaged is dropped and compiled again. The 256 folders of a cache are bounded each: whoever writes into one removes what was
not asked for longest, and no process ever looks through the whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernlens import log
from kernlens.errors import KernlensError
from kernlens.model.build import Build, HeldParts

#: Names the folder of the cache, or says with OFF that there is none.
VARIABLE = "KERNLENS_CACHE"
OFF = "off"
#: States how many bytes a whole cache may hold: a number with a unit.
SIZE_VARIABLE = "KERNLENS_CACHE_SIZE"
_LIMIT = 2_000_000_000
_UNITS = {"MB": 10**6, "GB": 10**9, "TB": 10**12}
#: The least limit: each folder holds its share of it, and no entry that is larger.
_LEAST = 100_000_000
#: The folders of a cache are named by the first two digits of keys.
_FOLDERS = 256

_MAGIC = b"klcache1"
_DIGEST_SIZE = hashlib.sha256().digest_size
#: Bytes that a file takes at least, however small it is.
_BLOCK = 4096
_PARTIAL = ".partial-"


def cache_folder() -> Path | None:
    """Return the folder of compiles that were done: KERNLENS_CACHE, else ``kernlens/compiles`` in the user's cache folder;
    None if that variable says ``off``."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return None if chosen == OFF else Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    if not base or not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "kernlens" / "compiles"


def cache_limit() -> int:
    """Return how many bytes a whole cache may hold: KERNLENS_CACHE_SIZE, else 2 GB. Raises KernlensError if that variable
    is no size, or one in which no compile would have room."""
    stated = os.environ.get(SIZE_VARIABLE)
    if not stated:
        return _LIMIT
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?([MGT]B)", stated.strip(), re.ASCII | re.IGNORECASE)
    limit = int(float(match[1]) * _UNITS[match[2].upper()]) if match is not None else 0
    if limit < _LEAST:
        what = "too small for a cache of compiles" if match is not None else "not a size"
        raise KernlensError(f"{SIZE_VARIABLE}={stated} is {what}: set at least 100 MB, such as {SIZE_VARIABLE}=10GB")
    return limit


def open_cache() -> CompileCache | None:
    """Return this user's cache; None if it is switched off, or its folder cannot be made. Raises KernlensError for a
    folder that somebody else could have filled, and what ``cache_limit`` raises."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        return CompileCache(folder)
    except OSError as error:
        log.debug("toolchain", "compiles are not kept: %s cannot be used: %s", folder, error.strerror)
        return None


class CompileCache:
    """A folder of entries, which hold ``limit`` bytes at most (None: what the user allows). What cannot be written, as on a
    full disk, is not kept, and costs nothing else."""

    def __init__(self, folder: Path, limit: int | None = None) -> None:
        self._folder = folder
        self._limit = (cache_limit() if limit is None else limit) // _FOLDERS
        folder.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        _refuse_others(folder)

    def get(self, key: str) -> bytes | None:
        """Return what was put under ``key``; None if there is nothing, or it was damaged, and is removed then."""
        path = self.path(key)
        # O_NONBLOCK, as opening a pipe would wait.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            with os.fdopen(os.open(path, flags), "rb") as file:
                state = os.fstat(file.fileno())
                # An entry of ours is a file, and fits into its folder; anything else is damaged.
                is_sound = stat.S_ISREG(state.st_mode) and state.st_size <= self._limit
                content = file.read(self._limit) if is_sound else b""
            os.utime(path)  # What was asked for last is removed last.
        except OSError:
            return None
        start = len(_MAGIC) + _DIGEST_SIZE
        body = content[start:]
        if content[:start] != _head(key, body):
            log.debug("toolchain", "the cache's entry %s is damaged, and removed", path)
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return body

    def put(self, key: str, body: bytes) -> None:
        """Keep ``body`` under ``key``, in place of what was there."""
        content = _head(key, body) + body
        if _space(len(content)) > self._limit:
            log.debug("toolchain", "%d bytes are too many for an entry of the cache", len(content))
            return
        path = self.path(key)
        try:
            with contextlib.suppress(FileExistsError):
                path.parent.mkdir(mode=0o700)
            self._make_room(path.parent, _space(len(content)))
            descriptor, partial = tempfile.mkstemp(prefix=_PARTIAL, dir=path.parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                os.replace(partial, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(partial)
                raise
        except OSError as error:
            log.debug("toolchain", "%s is not kept: %s", path, error.strerror)

    def entries(self) -> Iterator[tuple[int, float]]:
        """Yield of each entry the bytes that it takes, and the time when it was last asked for, in seconds since 1970."""
        for folder in os.scandir(self._folder):
            with contextlib.suppress(OSError):
                for entry in os.scandir(folder):
                    if not entry.name.startswith("."):
                        state = entry.stat()
                        yield _space(state.st_size), state.st_mtime

    def path(self, key: str) -> Path:
        """Return the file of what is, or would be, under ``key``."""
        return self._folder / key[:2] / key[2:]

    def _make_room(self, folder: Path, needed: int) -> None:
        files = []
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):  # Another process may remove it at the same time.
                state = entry.stat(follow_symlinks=False)
                files.append((state.st_mtime_ns, _space(state.st_size), entry.path))
        taken = needed + sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if taken <= self._limit:
                return
            with contextlib.suppress(OSError):
                os.unlink(path)
            taken -= size


def packed(build: Build, limit: float | None = None) -> bytes:
    """Return what a compile yielded, but for what the caller knows, as bytes. One that a compiler did not end holds for
    compiles that may take ``limit`` seconds at most."""
    import zstandard

    parts = (build.binary, build.debug, build.spirv)
    head = {
        "ok": build.ok,
        "reason": build.reason,
        "command": build.command,
        "seconds": build.seconds,
        "folder": build.folder,
        "log": build.log,
        "sizes": [len(part) for part in parts],
        **({} if limit is None else {"limit": limit}),
    }
    return zstandard.ZstdCompressor(level=1).compress(b"\n".join((json.dumps(head).encode(), b"".join(parts))))


def unpacked(entry: bytes) -> dict[str, Any]:
    """Return the fields of a Build that ``packed`` keeps, and its ``limit`` if it has one; ``parts`` has no sources."""
    import zstandard

    head, _, parts = zstandard.ZstdDecompressor().decompress(entry).partition(b"\n")
    fields: dict[str, Any] = json.loads(head)
    binary, debug, _ = fields.pop("sizes")
    held = HeldParts(fields.pop("log"), parts[:binary], parts[binary : binary + debug], parts[binary + debug :])
    return fields | {"parts": held}


def _head(key: str, body: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(key.encode() + body).digest()


def _space(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _refuse_others(folder: Path) -> None:
    """Raise for a folder that another user owns or may write into: what lies there would be taken for a compiler's work."""
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode):
        what = "a link" if stat.S_ISLNK(state.st_mode) else "no folder"
    elif state.st_uid != os.geteuid():
        what = "another user's"
    elif stat.S_IMODE(state.st_mode) & 0o022:
        what = "open for others to write into (chmod 700 it)"
    else:
        return
    raise KernlensError(
        f"the folder of kept compiles, {folder}, is {what}: name another with {VARIABLE}=FOLDER, or go without"
        f" ({VARIABLE}={OFF})"
    )
