"""A source with every file that a compile of it could read, as bytes: another machine compiles from copies of them.

The copies lie below a temporary folder as the originals lie below ``/``, and the compiler works in the copy of the working
folder, with folders to include from that are relative to it. So it finds what it would find here. Names do not depend on
where the copies are: ``-s`` names the source, and a ``#line`` each header, in line tables, messages and ``__FILE__``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.model.build import LINE_OPTIONS, Source
from kernlens.model.source_path import why_unfit
from kernlens.toolchain.compile_keys import SETTINGS, SYSTEM_INCLUDES, files_read
from kernlens.toolchain.sources.includes import (
    COUNT_LIMIT,
    TOTAL_LIMIT,
    include_folders,
    join_options,
    options_with_values,
    source_options,
    split_options,
)
from kernlens.toolchain.sources.source_reading import SourceFolders, open_regular

#: The compiler's settings that no copy can stand for.
FIXED_SETTINGS = tuple(path for path in SETTINGS if os.path.isabs(path))
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SourceCopy:
    """The copy of a source that a compiler reads in place of it: the ``folder`` in which the compiler works, the copy's
    ``name`` from there, and the compiler's ``options``, which name the source as it is called."""

    folder: str
    name: str
    options: str

    @property
    def path(self) -> Path:
        """The copy itself."""
        return Path(self.folder, self.name)


@dataclass(frozen=True, slots=True)
class Parcel:
    """The files of a compile: their contents by path, ``links`` from a path to another of the same file, the headers among
    them, and those whose text may be shown. ``missing`` are names of headers that lead nowhere. ``folder`` is the working
    folder, and ``folders`` are those to include from."""

    folder: str
    source: str
    files: dict[str, bytes]
    links: dict[str, str]
    headers: frozenset[str]
    shown: tuple[str, ...]
    missing: tuple[str, ...]
    folders: tuple[str, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """The texts that may be shown, the source first."""
        contents = ((path, self.files[self.links.get(path, path)]) for path in self.shown)
        return tuple(Source(path, content.decode("utf-8", "replace")) for path, content in contents)

    def unpack(self, below: str, options: str) -> SourceCopy:
        """Write the files below an empty folder; return the source's copy, with what ``copied_options`` returned."""
        for path in (self.folder, *self.folders):
            os.makedirs(below + path, exist_ok=True)
        for path, content in self.files.items():
            os.makedirs(os.path.dirname(below + path), exist_ok=True)
            with open(below + path, "xb") as file:
                file.write(_named(path, content) if path in self.headers else content)
        for path, other in self.links.items():
            os.makedirs(os.path.dirname(below + path), exist_ok=True)
            os.link(below + other, below + path)  # What is to be included once is known by the file, not by its name.
        system = [each for each in SYSTEM_INCLUDES if any(path.startswith(f"{each}/") for path in self.headers)]
        words = [word for each in system for word in ("-I", os.path.relpath(each, self.folder))]
        return SourceCopy(
            below + self.folder,
            os.path.relpath(self.source, self.folder),
            " ".join(filter(None, (options, join_options(words)))),
        )

    def foreign_header(self) -> str:
        """Return the path of a header of this machine that the compiler would find, and is no part of the parcel; "" if there
        is none."""
        candidates = (os.path.join(folder, name) for name in self.missing for folder in SYSTEM_INCLUDES)
        return next(filter(os.path.exists, candidates), "")


def parcel_for(source: Path, options: str) -> bytes:
    """Return the files of a compile as bytes for ``read_parcel``. Raises ValueError, OSError or KernlensError, with the
    reason, for a compile that can be done only here."""
    read = files_read(source, options)
    if read.reason:
        raise ValueError(read.reason)
    if absolute := next(filter(os.path.isabs, sorted(read.names)), ""):
        raise ValueError(f"it includes {absolute} by its full path")
    there = {os.path.abspath(path): content for path, content in read.contents.items() if content is not None}
    if settings := next(filter(there.__contains__, FIXED_SETTINGS), ""):
        raise ValueError(f"the compiler reads its settings from {settings}")
    start, folder = os.path.abspath(source), os.getcwd()
    folders = [os.path.abspath(each) for each in include_folders(options)]
    relative = [each for each in (*include_folders(options), "") if not os.path.isabs(each)]
    for path in sorted(read.included):
        # clang calls a header that it comes to from a relative folder by a relative name.
        near = any(os.path.dirname(path).startswith(os.path.abspath(each)) for each in relative)
        if near and b"__FILE__" in there[path]:
            raise ValueError(f"{path} uses __FILE__, and is included by a relative name")
    readable = SourceFolders([os.path.dirname(start), folder], folders, "-I")
    shown = [start, *(path for path in sorted(read.included - {start}) if _may_be_shown(readable, path))]
    links, originals = {}, {os.path.realpath(start): start}
    # Equal compiles have equal parcels; a file is under the name that is no link.
    for path in sorted(there, key=lambda path: (os.path.realpath(path) != path, path)):
        original = originals.setdefault(os.path.realpath(path), path)
        if original != path:
            links[path] = original
    files = {path: there[path] for path in sorted(there) if path not in links}
    head = {
        "folder": folder,
        "source": start,
        "files": [[path, len(content)] for path, content in files.items()],
        "links": links,
        "headers": sorted(read.included - {start}),
        "shown": [] if is_spirv(files[start][:4]) else shown,
        "missing": sorted(read.missing),
        "folders": folders,
    }
    import zstandard

    body = b"\n".join((json.dumps(head).encode(), b"".join(files.values())))
    return zstandard.ZstdCompressor(level=3).compress(body)


def _may_be_shown(readable: SourceFolders, path: str) -> bool:
    source = readable.read(path)
    return source is not None and not source.unread


def read_parcel(content: bytes) -> Parcel:
    """Return what ``parcel_for`` packed. Raises KernlensError for anything else."""
    import zstandard

    try:
        if not 0 <= zstandard.frame_content_size(content) <= 2 * TOTAL_LIMIT:
            raise ValueError("it is too large")
        text, _, body = zstandard.ZstdDecompressor().decompress(content).partition(b"\n")
        head: dict[str, Any] = json.loads(text)
        files, at = {}, 0
        for path, size in head["files"]:
            files[_checked(path)] = body[at : at + size]
            at += size
        links = {_checked(path): _checked(other) for path, other in head["links"].items()}
        if len(files) + len(links) > 10 * COUNT_LIMIT or at != len(body) or not files.keys() >= set(links.values()):
            raise ValueError("its files are not those that it names")
        return Parcel(
            _checked(head["folder"]),
            _checked(head["source"]),
            files,
            links,
            frozenset(map(_checked, head["headers"])),
            tuple(map(_checked, head["shown"])),
            tuple(map(str, head["missing"])),
            tuple(map(_checked, head["folders"])),
        )
    except (zstandard.ZstdError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise KernlensError(f"the files of a compile cannot be read: {error}; install the same kernlens") from error


def _checked(path: str) -> str:
    """Return a path that stays below a folder to which it is appended. Raises ValueError for any other."""
    if not os.path.isabs(path) or os.path.normpath(path) != path or path.startswith("//") or "\0" in path:
        raise ValueError(f"{path!a} is no full path")
    if why := why_unfit(path):
        raise ValueError(f"a path {why}")
    return path


def _named(path: str, content: bytes) -> bytes:
    name = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return b'#line 1 "%b"\n%b' % (name, content.removeprefix(_BOM))


def copied_options(source: Path, options: str) -> str:
    """Return the compiler's options for a copy of a source: its folders to include from are relative to the working folder.
    Raises KernlensError for a source that cannot be read."""
    with open_regular(source, "source file") as file:
        if is_spirv(file.read(4)):
            return options
    words: list[str] = []
    for word, value in options_with_values(split_options(source_options(source, options, naming=LINE_OPTIONS[:1]))):
        words += [word, os.path.relpath(value) if word == "-I" else value] if value else [word]
    return join_options(words)
