"""The machine code that NVIDIA's driver made of a program, out of its compute cache.

The driver gives PTX as a program's binary, and keeps what it compiles that to. An entry is only taken whose key holds exactly
the program's PTX; where several have it and their code differs (of another driver, or for another GPU), none is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from hashlib import sha256

from kernlens import log
from kernlens.errors import KernlensError
from kernlens.formats.compute_cache import HEADER_SIZE, CacheEntry, is_cache_entry, read_cache_entry
from kernlens.formats.ptx.ptx_text import is_ptx
from kernlens.model.stage import BINARY, TEXT, Snapshot
from kernlens.model.stages import NVIDIA, held

#: Entries are looked at up to these bounds.
_MOST_ENTRIES, _LARGEST_ENTRY, _MOST_BYTES = 1 << 16, 1 << 28, 1 << 34
_DEPTH = 2


class CachedCode:
    """The code in a cache, by the PTX that it was made from. The cache is read when something is asked for that is not known
    yet: a driver adds entries as it compiles."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.folder = cache_folder(environment)
        #: The paths of the entries that were read.
        self._read: set[str] = set()
        #: SHA-256 of PTX -> that of each code that was made of it, and the path of one entry with it.
        self._known: dict[bytes, dict[bytes, str]] = {}

    def code_of(self, ptx: bytes) -> bytes | None:
        """Return the cubin that the driver made of a program's PTX; None if the cache has none, or several that differ."""
        key = sha256(ptx.rstrip(b"\0")).digest()
        if key not in self._known:
            self._update()
        codes = self._known.get(key, {})
        if len(codes) != 1:
            log.debug("toolchain", "the compute cache %s has %d codes of a program", self.folder, len(codes))
            return None
        (path,) = codes.values()
        entry = _entry(path, self.folder)
        return bytes(entry.result) if entry is not None else None

    def _update(self) -> None:
        room = _MOST_BYTES
        for path in _files(self.folder) if self.folder else ():
            if path in self._read or len(self._read) >= _MOST_ENTRIES:
                continue
            self._read.add(path)
            entry = _entry(path, self.folder)
            if entry is None:
                continue
            room -= len(entry.key) + len(entry.result)
            if room < 0:
                return
            if entry.holds_code:
                codes = self._known.setdefault(sha256(entry.ptx).digest(), {})
                codes.setdefault(sha256(entry.result).digest(), path)


def cached_snapshots(binary: bytes, cached: CachedCode) -> tuple[Snapshot, ...]:
    """Return PTX, where that is a program's binary, and the machine code that the driver keeps of it in its cache."""
    if not is_ptx(binary):
        return ()
    text = held(NVIDIA.stage("ptx"), binary.rstrip(b"\0"), TEXT)
    code = cached.code_of(binary)
    return (text,) if code is None else (text, held(NVIDIA.stage("sass"), code, BINARY))


def cache_folder(environment: Mapping[str, str]) -> str | None:
    """Return the folder of the driver's cache for a process with these variables; None if it keeps none."""
    if environment.get("CUDA_CACHE_DISABLE") == "1":
        return None
    chosen, home = environment.get("CUDA_CACHE_PATH"), environment.get("HOME")
    return chosen or (os.path.join(home, ".nv", "ComputeCache") if home else None)


def _files(folder: str) -> Iterator[str]:
    """Yield the entries of a cache: files two folders deep."""
    depth = folder.rstrip("/").count("/") + _DEPTH
    for path, folders, names in os.walk(folder):
        if path.count("/") >= depth:
            folders.clear()
            yield from (os.path.join(path, name) for name in sorted(names))


def _entry(path: str, folder: str | None) -> CacheEntry | None:
    """Return an entry; None if the file is none, or cannot be read: the driver may just be writing it."""
    from kernlens.toolchain.sources.source_reading import open_beside

    try:
        with open_beside(path, folder or "", _LARGEST_ENTRY) as file:
            size = os.fstat(file.fileno()).st_size
            if not is_cache_entry(file.read(HEADER_SIZE), size):
                return None
            file.seek(0)
            return read_cache_entry(memoryview(file.read(size)))
    except (KernlensError, OSError) as error:
        log.debug("toolchain", "%s is passed over: %s", path, error)
        return None
