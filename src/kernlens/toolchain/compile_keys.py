"""The keys of compiles, made of all that determines what comes out of them, so that equal ones need to be done only once.

A key is a digest of the source's content and that of every file that it could include, of options, device and folders, of
the compiler (its command, and its program and libraries as files), and of the environment variables that steer it. Where
something could take part that is not known here there is no key, and the compile is done.

Which files clang reads for AMD's GPUs was traced (15.0.6 and 21.1): the source, what it includes from there, from the folders
of ``-I``, the working folder, and ``/usr/local/include`` and ``/usr/include``, its own headers, and the device libraries.
Which files ocloc reads was traced (22.43 and 26.27): the source, what it includes from its own folder, those of ``-I``, the
working folder with ``include`` in it, ``/usr/local/include`` and ``/usr/include``, files of options beside the source, and
settings in ``/tmp/IntelIGC`` and, in the working folder, of NEO.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.isa.amd.gpu_devices import is_of_amd
from kernlens.toolchain.amd_compiler import amd_compiler
from kernlens.toolchain.sources.directives import inclusions, joined_lines, macros_defined
from kernlens.toolchain.sources.includes import (
    COUNT_LIMIT,
    TOTAL_LIMIT,
    include_folders,
    options_with_values,
    split_options,
)
from kernlens.toolchain.sources.recorded_sources import PLAIN_OPTION
from kernlens.toolchain.sources.source_reading import open_regular
from kernlens.toolchain.toolchains import SYSTEM_LIBRARY_FOLDERS, Toolchain, library_folders, loader

#: Changes when keys are made of something else, or entries are written otherwise.
FORMAT = 2

#: Where compilers look for headers last.
SYSTEM_INCLUDES = ("/usr/local/include", "/usr/include")
#: Read by the compilers, if they are there: in the working folder, or wherever they are called from.
SETTINGS = ("igdrcl.config", "neo.config", "/tmp/IntelIGC/debugFlags/Options.txt")
#: A compiler's parts, by the starts of their files' names. What they stand on (C and C++ library, zlib) writes no code.
_LIBRARIES = ("libocloc", "libigc", "libigdfcl", "libopencl-clang", "libLLVM", "libclang", "libiga", "libz3")
#: Variables that steer compilers, the loader of their libraries, or where headers are looked for.
_STEERING = re.compile(
    r"(?:IGC|VISA|VC|NEO|OCL|CL|LD|LLVM|CLANG|CCC)_|NEO[A-Z]|CPATH$|\w*_INCLUDE_PATH$|SOURCE_DATE_EPOCH$"
)
#: Variables that have a compiler do more than compile, such as write dumps, or read what is not known here.
_WITH_EFFECTS = re.compile(r"NEOReadDebugKeys$|IGC_\w*(?:Dump|Override|Custom|File|Dir|Path|Print)|LD_DEBUG|LD_AUDIT")
#: What clang includes in every program, from the first folder that has it.
_OWN_HEADERS = frozenset({"opencl-c.h", "opencl-c-base.h"})
#: What makes a result depend on the time, or on whether a file is there.
_UNSTEADY = re.compile(r"__(?:DATE|TIME|TIMESTAMP)__|__has_(?:include|embed)")


def compile_key(source: Path, device: str, options: str, chosen: Toolchain) -> str | None:
    """Return the key of a compile; None, with the reason in the log, if something may take part that is not known."""
    try:
        files = files_read(source, options)
        if is_of_amd(device):
            _refuse_own_headers(source, options)
        if files.reason or files.missing:
            raise ValueError(files.reason or f"the include file {files.missing[0]} was not found")
        digests = sorted(((path, _content_digest(content)) for path, content in files.contents.items()), key=str)
        parts = [os.fspath(source), os.path.abspath(source), os.getcwd(), device, options, *digests]
        return key_of(parts, chosen, device)
    except (OSError, ValueError, KernlensError) as error:
        log.debug("toolchain", "the compile of %s for %s is not looked up in the cache: %s", source, device, error)
        return None


def key_of(parts: Sequence[object], chosen: Toolchain, device: str) -> str:
    """Return the key of a compile that these parts tell from others with the same compiler and variables; the compiler is the
    toolchain's for ``device``. Raises ValueError or OSError where something may take part that is not known."""
    return _digest([FORMAT, *parts, _identity(chosen, device), steering_variables()])


def folder_key(folder: str, source: Path, device: str, options: str, chosen: Toolchain) -> str | None:
    """Return the key of a compile that sees nothing but the toolchain and ``folder``, in which it works, wherever that is: made
    of all files there by their names. None, with the reason in the log, if something else may take part."""
    try:
        _refuse_file_options(split_options(options))
        if any(map(os.path.isabs, include_folders(options))):
            raise ValueError("it may include files from outside")
        files: dict[str, str | None] = {}
        for path, _, names in os.walk(folder):
            if is_of_amd(device) and not _OWN_HEADERS.isdisjoint(names):
                raise ValueError(f"{path} has headers of the compiler's own")
            for place in (os.path.join(path, name) for name in names):
                content = _content(place) or b""
                if unsteady := _directives(content).unsteady:
                    raise ValueError(f"{place} contains {unsteady}")
                files[os.path.relpath(place, folder)] = _content_digest(content)
        return key_of([os.fspath(source), device, options, *sorted(files.items())], chosen, device)
    except (OSError, ValueError, KernlensError) as error:
        log.debug("toolchain", "the compile of %s for %s is not looked up in the cache: %s", source, device, error)
        return None


def _refuse_own_headers(source: Path, options: str) -> None:
    """Raise ValueError if a folder that clang looks into first has the header that it includes in every program."""
    named = [os.path.abspath(source.parent), *include_folders(options), os.getcwd(), *SYSTEM_INCLUDES]
    for folder in named:
        if any(os.path.exists(os.path.join(folder, name)) for name in _OWN_HEADERS):
            raise ValueError(f"{folder} has headers of the compiler's own")


def steering_variables() -> dict[str, str]:
    """Return the environment variables that steer compilers. Raises ValueError if one has an effect beside the result."""
    for name in os.environ:
        if _WITH_EFFECTS.match(name):
            raise ValueError(f"{name} is set")
    return {name: value for name, value in sorted(os.environ.items()) if _STEERING.match(name)}


def _digest(parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _identity(chosen: Toolchain, device: str) -> list[object]:
    """Return the compiler's command, and its program and libraries as files, whose state changes when they are replaced."""
    if is_of_amd(device):
        compiler = amd_compiler(chosen)
        if compiler is None:
            raise ValueError("there is no compiler for AMD's GPUs")
        programs, title = compiler.files, compiler.title
    elif chosen.ocloc is not None:
        programs, title = [chosen.ocloc], chosen.title
    else:
        raise ValueError("there is no compiler")
    folders = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    folders += library_folders(chosen.root) if chosen.root else [Path(folder) for folder in SYSTEM_LIBRARY_FOLDERS]
    libraries = [
        path for folder in folders if folder.is_dir() for path in _libraries(folder, folder.stat().st_mtime_ns)
    ]
    start = loader(chosen.root) if chosen.root else None
    files = [*programs, *([start] if start else []), *(path for path in libraries if path.exists())]
    return [chosen.command(programs[0]), title, *map(_state, files)]


@lru_cache(maxsize=64)
def _libraries(folder: Path, modified: int) -> list[Path]:
    # ``modified``, which changes when a file comes, goes or is replaced, is part of the cache's key.
    return sorted(Path(entry.path) for entry in os.scandir(folder) if entry.name.startswith(_LIBRARIES))


def _state(path: Path) -> tuple[str, int, int, int, int, int]:
    state = path.stat()
    return os.fspath(path), state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


@dataclass(frozen=True, slots=True)
class FilesRead:
    """The files that a compile could read.

    ``contents`` has each path with what is there, None where no file is. ``missing`` are the names in directives that lead
    nowhere: such a file may be known to the compiler itself. ``reason`` says why yet other files could take part;
    "" if none could.
    """

    contents: Mapping[str, bytes | None]
    missing: tuple[str, ...]
    reason: str


def files_read(source: Path, options: str) -> FilesRead:
    """Return every file that a compile of ``source`` could read. Raises ValueError for an option that may name a file and for
    too many files, and KernlensError or OSError for one that cannot be read."""
    words = split_options(options)
    _refuse_file_options(words)
    start = os.path.abspath(source)
    beside = os.path.splitext(start)[0]
    others = [*SETTINGS, f"{beside}_options.txt", f"{beside}_internal_options.txt"]
    contents = {path: _content(path) for path in others}
    content = contents[start] = _content(start)
    if content is None:
        raise ValueError("the source is not there")
    if is_spirv(content[:4]):
        return FilesRead(contents, (), "")
    folders = [os.path.dirname(start), *map(os.path.abspath, include_folders(options))]
    folders += [os.getcwd(), os.path.abspath("include"), *SYSTEM_INCLUDES]
    computed: set[str] = set()
    defined = {match[1] for word in words if (match := re.match(r"(?:-D)?\s*([A-Za-z_]\w*)", word))}
    missing: dict[str, None] = {}
    reason = ""
    total, waiting = 0, [(start, content)]
    while waiting:
        path, content = waiting.pop()
        total += len(content)
        if total > TOTAL_LIMIT or len(contents) > 10 * COUNT_LIMIT:
            raise ValueError("it includes too much")
        directives = _directives(content)
        if directives.unsteady:
            reason = reason or f"{path} contains {directives.unsteady}"
        defined |= directives.defined
        computed |= directives.computed
        for name in directives.included:
            candidates = [os.path.normpath(os.path.join(each, name)) for each in (os.path.dirname(path), *folders)]
            for candidate in candidates:
                if candidate not in contents:
                    contents[candidate] = text = _content(candidate)
                    if text is not None:
                        waiting.append((candidate, text))
            if all(contents[candidate] is None for candidate in candidates):
                missing[name] = None
    if not computed.isdisjoint(defined):
        reason = f"a macro names a file that is included: {', '.join(sorted(computed & defined))}"
    return FilesRead(contents, tuple(missing), reason)


@dataclass(frozen=True, slots=True)
class _Directives:
    """The directives of a text: includes by name and by macro, the macros defined, and what makes a result unsteady."""

    included: frozenset[str]
    computed: frozenset[str]
    defined: frozenset[str]
    unsteady: str


#: Headers are read by every compile, and gone through once.
@lru_cache(maxsize=256)
def _directives(content: bytes) -> _Directives:
    text = joined_lines(content.decode("latin-1"))
    included = list(inclusions(text))
    unsteady = _UNSTEADY.search(text)
    return _Directives(
        frozenset(name for name, macro in included if not macro),
        frozenset(macro for _, macro in included if macro),
        frozenset(macros_defined(text)),
        unsteady[0] if unsteady else "",
    )


def _refuse_file_options(words: Sequence[str]) -> None:
    """Raise for an option that may name a file, or that nobody here knows."""
    for word, _ in options_with_values(words):
        if word not in ("-D", "-U", "-I", "-s", "-x") and not PLAIN_OPTION.fullmatch(word):
            raise ValueError(f"the option {word} may refer to a file")


def _content(path: str) -> bytes | None:
    """Return a file's content; None if there is none. Raises for what is no regular file, and for what is too large."""
    if os.path.isdir(path) or not os.path.exists(path):
        return None
    with open_regular(path) as file:
        content = file.read(TOTAL_LIMIT + 1)
    if len(content) > TOTAL_LIMIT:
        raise ValueError(f"{path} is too large")
    return content


def _content_digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
