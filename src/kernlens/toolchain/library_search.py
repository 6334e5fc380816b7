"""The dynamic loader's search for a library, followed on paper: nothing is loaded or executed, as ldd would.

Source: ld.so(8), "DESCRIPTION": DT_RPATH of the requesting library and of those that led to it, unless it has DT_RUNPATH;
LD_LIBRARY_PATH; DT_RUNPATH of the requesting library; the cache of libraries; the default folders.
"""

from __future__ import annotations

import mmap
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.errors import FormatError
from kernlens.formats.elf.dynamic import DynamicLinking, read_dynamic
from kernlens.formats.library_cache import read_library_cache

#: The kinds of places that a library is found in.
RPATH, VARIABLE, RUNPATH, DEFAULT = "DT_RPATH", "LD_LIBRARY_PATH", "DT_RUNPATH", "the system's libraries"
_CACHE = Path("/etc/ld.so.cache")
_DEFAULT_FOLDERS = (
    *(f"{base}/{name}-linux-gnu" for base in ("/lib", "/usr/lib") for name in ("x86_64", "aarch64")),
    *("/lib64", "/usr/lib64", "/lib", "/usr/lib"),
)
#: A program has no more libraries than this.
_MOST_LIBRARIES = 1024


@dataclass(frozen=True, slots=True)
class Linked:
    """A program or library, and the one that led to it."""

    path: str
    linking: DynamicLinking
    parent: Linked | None = None

    @property
    def chain(self) -> Iterator[Linked]:
        """The library, and all that led to it."""
        each: Linked | None = self
        while each is not None:
            yield each
            each = each.parent


def read_linked(path: str, parent: Linked | None = None) -> Linked | None:
    """Return a program or library; None if it is no 64-bit ELF file, or cannot be read."""
    content = file_content(path)
    if content is None:
        return None
    try:
        return Linked(path, read_dynamic(content), parent)
    except FormatError as error:
        log.debug("toolchain", "%s: %s", path, error)
        return None


def file_content(path: str) -> memoryview | None:
    """Return a file's content without reading all of it; None if that cannot be read, or is empty."""
    try:
        with open(path, "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        log.debug("toolchain", "%s cannot be read: %s", path, error)
        return None


@dataclass(frozen=True, slots=True)
class LibrarySearch:
    """The search in an environment."""

    environment: Mapping[str, str]

    @property
    def folders(self) -> list[str]:
        """The folders of LD_LIBRARY_PATH."""
        listed = self.environment.get("LD_LIBRARY_PATH")
        return [folder or "." for folder in re.split("[:;]", listed)] if listed else []

    def find(self, name: str, requester: Linked | None) -> tuple[str, str] | None:
        """Return the file that ``name`` means to a program or library, and in what kind of place it is; None if there is
        none. With None as requester it is what any program gets by default."""
        if "/" in name:
            return (name, "its path") if os.path.isfile(name) else None
        places: list[tuple[str, list[str]]] = []
        if requester is not None and not requester.linking.runpath:
            ancestors = [each for each in requester.chain if not each.linking.runpath]
            places += [(RPATH, expanded(each.linking.rpath, each.path)) for each in ancestors]
        places.append((VARIABLE, self.folders))
        if requester is not None:
            places.append((RUNPATH, expanded(requester.linking.runpath, requester.path)))
        for kind, folders in places:
            for folder in folders:
                if os.path.isfile(path := os.path.join(folder, name)):
                    return path, kind
        path = next(iter(default_libraries(name)), "")
        return (path, DEFAULT) if path else None

    def libraries(self, program: Linked) -> Iterator[tuple[str, Linked, tuple[str, str] | None]]:
        """Yield each library that a program needs, directly or not: its name, who needs it, and what ``find`` returns."""
        waiting, seen = deque([program]), set[str]()
        while waiting and len(seen) < _MOST_LIBRARIES:
            requester = waiting.popleft()
            for name in requester.linking.needed:
                if name in seen:
                    continue
                seen.add(name)
                place = self.find(name, requester)
                yield name, requester, place
                library = read_linked(place[0], requester) if place is not None else None
                if library is not None:
                    waiting.append(library)


def expanded(folders: tuple[str, ...], path: str) -> list[str]:
    """Return the folders of a run path of the file ``path``, with what $ORIGIN means in them. $LIB is tried as both forms."""
    origin = os.path.dirname(os.path.realpath(path))
    results = []
    for folder in folders:
        folder = re.sub(r"\$(?:ORIGIN\b|\{ORIGIN\})", lambda _: origin, folder)
        libs = ("lib/x86_64-linux-gnu", "lib64", "lib") if re.search(r"\$(?:LIB\b|\{LIB\})", folder) else ("",)
        results += [re.sub(r"\$(?:LIB\b|\{LIB\})", lib, folder) for lib in libs]
    return results


def default_libraries(name: str) -> list[str]:
    """Return the files that ``name`` may mean in the system's folders, first that which a program gets."""
    try:
        listed = read_library_cache(memoryview(_CACHE.read_bytes()), name)
    except (OSError, FormatError) as error:
        log.debug("toolchain", "%s is not read: %s", _CACHE, error)
        listed = []
    listed += [path for folder in _DEFAULT_FOLDERS if os.path.isfile(path := os.path.join(folder, name))]
    different: dict[str, str] = {}
    for path in listed:
        if os.path.isfile(path):
            different.setdefault(os.path.realpath(path), path)
    return list(different.values())
