"""Finds libiga64, and the copy of it that decodes for a device.

Several versions can be installed side by side. A device is decoded by the first in this order that knows its platform:
those that KERNLENS_IGA_PATH names, the system's, newest first, then those of added search paths (toolchains in folders
of their own). So a device that the system's library knows reads exactly as the system's ``iga64`` prints it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.errors import UnsupportedError
from kernlens.isa.device_table import PLATFORM_TITLES

if TYPE_CHECKING:
    from kernlens import _decoder

#: Files or folders, separated as in PATH, to look in before the system's.
PATH_VARIABLE = "KERNLENS_IGA_PATH"

# Windows and macOS names are from IGC's build files; nobody has run this there yet.
_FILE_NAMES = {"win32": ("iga64.dll",), "darwin": ("libiga64.dylib",)}.get(
    sys.platform, ("libiga64.so.2", "libiga64.so.1")
)
_SYSTEM_NAMES = _FILE_NAMES
_FOLDERS_OF_A_ROOT = ("", "lib", "lib64", "usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib", "usr/local/lib", "bin")
_INSTALL = "kernlens toolchain add newest brings one; Debian has it in libigc1, up to Xe-HPC, and in libigc2"

_more_paths: list[Callable[[], Iterable[str]]] = []


@dataclass(frozen=True, eq=False)
class IgaLibrary:
    """One opened libiga64. ``path`` is its file, ``native`` the decoder's handle."""

    path: str
    native: _decoder.Library

    @cached_property
    def version(self) -> str:
        """Returns the version in the file's own name (``2.40.14+0``), else the one that the library reports, which is the same
        in all versions."""
        match = re.search(r"\.so\.([0-9].*)$", os.path.realpath(self.path))
        return match[1] if match else self.native.version

    @cached_property
    def platforms(self) -> frozenset[int]:
        """Returns the iga_gen_t numbers that it decodes."""
        return frozenset(self.native.platforms)

    @cached_property
    def platform_titles(self) -> tuple[str, ...]:
        """Returns the platforms' names, oldest first; those that no known device has are left out."""
        return tuple(title for number, title in PLATFORM_TITLES.items() if number in self.platforms)

    def __str__(self) -> str:
        return f"libiga64 {self.version} ({self.path})"


def search_also(find_paths: Callable[[], Iterable[str]]) -> None:
    """Looks for libiga64 in these paths too, each a library, its folder, or the root folder of a toolchain; they are asked
    for when a device is met that no library before them decodes."""
    _more_paths.append(find_paths)


def installed() -> tuple[IgaLibrary, ...]:
    """Returns every libiga64 that opens, in the order of preference, each file once."""
    return tuple(_opened(()))


def library_for(platform: int, device_name: str) -> IgaLibrary:
    """Returns the library that decodes ``platform`` (an iga_gen_t). ``device_name`` is for the message.

    Raises UnsupportedError, which says what to install, if no library does.
    """
    failures: list[str] = []
    others: list[IgaLibrary] = []
    for library in _opened(failures):
        if platform in library.platforms:
            log.debug("isa", "%s decodes %s", library, device_name)
            return library
        log.debug("isa", "%s is passed over: it does not know %s", library, device_name)
        others.append(library)
    title = PLATFORM_TITLES.get(platform, f"platform {platform:#x}")
    if others:
        ranges = ", ".join(f"{library} knows {_span(library.platform_titles)}" for library in others)
        raise UnsupportedError(
            f"{device_name} is of {title} and {ranges}: install a newer libiga64 ({_INSTALL}) "
            f"or name one in {PATH_VARIABLE}"
        )
    reasons = f" ({'; '.join(failures)})" if failures else ""
    raise UnsupportedError(
        f"no libiga64 to decode {device_name} instructions{reasons}: install it ({_INSTALL}) "
        f"or name it in {PATH_VARIABLE}"
    )


def _span(titles: Sequence[str]) -> str:
    return f"{titles[0]} to {titles[-1]}" if len(titles) > 1 else "".join(titles) or "no known platform"


def _opened(failures: list[str] | tuple[()]) -> Iterator[IgaLibrary]:
    """Opens the candidates one by one, as they are asked for; appends why a file that exists did not open."""
    seen: set[str] = set()
    for candidate in _candidates():
        library = _open(candidate)
        if isinstance(library, str):
            if os.path.isabs(candidate) and isinstance(failures, list):
                failures.append(library)
            continue
        if os.path.realpath(library.path) not in seen:
            seen.add(os.path.realpath(library.path))
            yield library


@cache
def _open(candidate: str) -> IgaLibrary | str:
    """Returns the library, or why it does not open. Kept for good: a library that code ran in is never unloaded."""
    from kernlens import _decoder

    try:
        native = _decoder.Library(candidate)
    except OSError as error:
        log.debug("isa", "passed over: %s", error)  # It names the file.
        return str(error)
    return IgaLibrary(native.path or candidate, native)


def _candidates() -> Iterator[str]:
    for path in os.environ.get(PATH_VARIABLE, "").split(os.pathsep):
        if path:
            yield from _below(path)
    yield from _SYSTEM_NAMES  # the system's loader knows its own folders
    for find_paths in _more_paths:
        for path in find_paths():
            yield from _below(path)


def _below(path: str) -> Iterator[str]:
    path = os.path.abspath(path)
    if os.path.isfile(path):
        yield path
        return
    for name in _FILE_NAMES:
        for folder in _FOLDERS_OF_A_ROOT:
            file = os.path.join(path, folder, name)
            if os.path.isfile(file):
                yield file
