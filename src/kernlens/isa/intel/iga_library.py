"""The installed copies of libiga64, and the one that decodes for a device.

Several versions can be installed side by side, and print some instructions differently (the operands of ``math.invm`` on
Xe-HPC). Of those that know the platform, code is decoded by the first that KERNLENS_IGA_PATH names; else by the one that
came with the code's compiler, and reads as that compiler's ``iga64`` prints it; else by the newest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING

from kernlens import log
from kernlens.dataclass import NamedTuple, dataclass
from kernlens.errors import UnsupportedError
from kernlens.isa.intel.device_table import PLATFORM_TITLES
from kernlens.model.compiler import UNKNOWN_COMPILER, Compiler

if TYPE_CHECKING:
    from kernlens import _decoder

#: Files or folders, separated as in PATH, to look in before the system's.
PATH_VARIABLE = "KERNLENS_IGA_PATH"

_FILE_NAMES = ("libiga64.so.2", "libiga64.so.1")
_SYSTEM_NAMES = _FILE_NAMES
#: The toolchain that the system's libraries belong to; one that no toolchain has, of libraries that the user names.
_SYSTEM, _CHOSEN = "system", ""
#: What the libraries of IGC 1 call themselves, whatever its version.
_OWN_VERSION = (1, 0, 1)
_FOLDERS_OF_A_ROOT = ("", "lib", "lib64", "usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib", "usr/local/lib", "bin")
_INSTALL = "kernlens toolchain add newest"

_more_paths: list[Callable[[], Mapping[str, str]]] = []


@dataclass(frozen=True, eq=False)
class IgaLibrary:
    """One opened libiga64. ``path`` is its file, ``native`` the decoder's handle."""

    path: str
    native: _decoder.Library

    @cached_property
    def version(self) -> str:
        """The version in the file's own name (``2.40.14+0``), else that which the library reports, the same in all versions."""
        match = re.search(r"\.so\.([0-9].*)$", os.path.realpath(self.path))
        return match[1] if match else self.native.version

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The version's numbers: (2, 40, 14). Of IGC 2 they are the compiler's, of IGC 1 (1, 0, 1)."""
        return tuple(map(int, re.findall(r"\d+", self.version.partition("+")[0])))

    @cached_property
    def file(self) -> str:
        """The file that its path leads to."""
        return os.path.realpath(self.path)

    @cached_property
    def title(self) -> str:
        """Its name and version: ``libiga64 2.40.14+0``."""
        return f"libiga64 {self.version}"

    @cached_property
    def platforms(self) -> frozenset[int]:
        """The iga_gen_t numbers that it decodes."""
        return frozenset(self.native.platforms)

    @cached_property
    def platform_titles(self) -> tuple[str, ...]:
        """The platforms' names, oldest first; those that no known device has are left out."""
        return tuple(title for number, title in PLATFORM_TITLES.items() if number in self.platforms)

    def __str__(self) -> str:
        return f"{self.title} ({self.path})"


class _Candidate(NamedTuple):
    """An opened library, and the toolchain that it belongs to."""

    library: IgaLibrary
    toolchain: str


def search_also(find_paths: Callable[[], Mapping[str, str]]) -> None:
    """Search for libiga64 in more paths too: of each toolchain, by its name, a library, its folder, or the toolchain's
    root folder. They are asked for when no library before them is the compiler's own."""
    _more_paths.append(find_paths)


def installed() -> tuple[IgaLibrary, ...]:
    """Return every libiga64 that opens, in the order of preference, each file once."""
    return tuple(candidate.library for candidate in _opened(()))


def library_for(platform: int, device_name: str, compiler: Compiler = UNKNOWN_COMPILER) -> IgaLibrary:
    """Return the library that decodes ``platform`` (an iga_gen_t) as ``compiler`` made it. ``device_name`` is for the
    message.

    Raises UnsupportedError, which says what to install, if no library does.
    """
    failures: list[str] = []
    others: list[IgaLibrary] = []
    best: tuple[int, tuple[int, ...]] = (-1, ())
    chosen: IgaLibrary | None = None
    for candidate in _opened(failures):
        library = candidate.library
        if platform not in library.platforms:
            log.debug("isa", "%s is passed over: it does not know %s", library, device_name)
            others.append(library)
            continue
        nearness = _nearness(candidate, compiler)
        if (nearness, library.numbers) > best:
            best, chosen = (nearness, library.numbers), library
        if nearness == _OWN:
            break
    if chosen is not None:
        log.debug("isa", "%s decodes %s: %s", chosen, device_name, _REASONS[best[0]])
        return chosen
    title = PLATFORM_TITLES.get(platform, f"platform {platform:#x}")
    if others:
        ranges = ", ".join(f"{library} supports {_span(library.platform_titles)}" for library in others)
        raise UnsupportedError(
            f"{device_name} is a device of {title}, but {ranges}: install a newer libiga64 ({_INSTALL}) "
            f"or name one in {PATH_VARIABLE}"
        )
    reasons = f" ({'; '.join(failures)})" if failures else ""
    raise UnsupportedError(
        f"no libiga64 to decode {device_name} instructions{reasons}: install it ({_INSTALL}) "
        f"or name it in {PATH_VARIABLE}"
    )


_OTHER, _SAME_MAJOR, _SAME_TOOLCHAIN, _OWN = range(4)
_REASONS = {
    _OWN: "it is the compiler's own, or KERNLENS_IGA_PATH names it",
    _SAME_TOOLCHAIN: "it is that of the compiler's toolchain, whose version is another one by now",
    _SAME_MAJOR: "it is of the compiler's major version",
    _OTHER: "it is the newest, and none is known to be the compiler's own",
}


def _nearness(candidate: _Candidate, compiler: Compiler) -> int:
    """Return how near a library is to the one that came with the compiler."""
    library, toolchain = candidate
    version = compiler.version
    if toolchain == _CHOSEN or (version and library.numbers[: len(version)] == version):
        return _OWN
    if not version or library.numbers[:1] != version[:1]:
        return _OTHER
    if toolchain != compiler.toolchain:
        return _SAME_MAJOR
    return _OWN if library.numbers == _OWN_VERSION else _SAME_TOOLCHAIN


def _span(titles: Sequence[str]) -> str:
    return f"{titles[0]} to {titles[-1]}" if len(titles) > 1 else "".join(titles) or "no known platform"


def _opened(failures: list[str] | tuple[()]) -> Iterator[_Candidate]:
    """Yield the candidates that open, each opened when it is asked for; append why a file that exists did not open."""
    seen: set[str] = set()
    for candidate, toolchain in _candidates():
        library = _open(candidate)
        if isinstance(library, str):
            if os.path.isabs(candidate) and isinstance(failures, list):
                failures.append(library)
            continue
        if library.file not in seen:
            seen.add(library.file)
            yield _Candidate(library, toolchain)


@cache
def _open(candidate: str) -> IgaLibrary | str:
    """Return the library, or why it does not open. Kept for good: a library that code ran in is never unloaded."""
    from kernlens import _decoder

    try:
        native = _decoder.Library(candidate)
    except OSError as error:
        log.debug("isa", "passed over: %s", error)  # It names the file.
        return str(error)
    return IgaLibrary(native.path or candidate, native)


def _candidates() -> Iterator[tuple[str, str]]:
    """Yield what may be a library, and the toolchain that it belongs to."""
    for path in os.environ.get(PATH_VARIABLE, "").split(os.pathsep):
        if path:
            yield from ((file, _CHOSEN) for file in _below(path))
    yield from ((name, _SYSTEM) for name in _SYSTEM_NAMES)  # the system's loader knows its own folders
    for find_paths in _more_paths:
        for toolchain, path in find_paths().items():
            yield from ((file, toolchain) for file in _below(path))


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
