"""The files that a compile reads, and the options that name them: the source and what it includes, found as the
preprocessor would.

Conditions are not evaluated, so a header that is included under an ``#if`` that is false here counts as well: a
recording holds too much rather than too little.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernlens.errors import KernlensError, NotFoundError

INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
#: A source larger than this many bytes, or files beyond these numbers, are left out.
FILE_LIMIT = 16 << 20
TOTAL_LIMIT = 64 << 20
COUNT_LIMIT = 1000


def existing_source(source: str | os.PathLike[str]) -> Path:
    """The path of a source file. Raises NotFoundError if there is no file of that name."""
    path = Path(source)
    if not path.is_file():
        raise NotFoundError(f"there is no source file {path}")
    return path


def split_options(options: str) -> list[str]:
    """The words of an OpenCL option string. Double quotes group words; nothing else is special.

    Sources: clBuildProgram's description, and what the offline compilers of NEO 22.43 and 26.27 accept.
    """
    lexer = shlex.shlex(options, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.quotes = '"'
    lexer.escape = ""
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        # A quote without its partner: the compiler will say so; here the words are what counts.
        return options.split()


def source_options(source: Path, options: str, *, naming: Sequence[str]) -> str:
    """The options as Intel's compilers get them: with the source's folder for includes, and with its name for the line
    table if ``options`` hold one of ``naming``.

    ``-s FILE`` is their option for debuggers; without it a line table calls the source ``1``.
    """
    path = os.path.abspath(source)
    if '"' in path:
        raise KernlensError(
            f"the path {path} contains a double quote, which build options cannot hold; rename the file"
        )
    words = split_options(options)
    added = [options] if options.strip() else []
    if not set(naming).isdisjoint(words) and "-s" not in words:
        added.append(f"-s {_quoted(path)}")
    if os.path.dirname(path) != os.getcwd():
        added.append(f"-I {_quoted(os.path.dirname(path))}")
    return " ".join(added)


def _quoted(path: str) -> str:
    return f'"{path}"' if re.search(r"\s", path) else path


def include_folders(options: str) -> list[str]:
    """The folders of ``-I`` in an option string, in order, as they were written."""
    found = []
    words = iter(split_options(options))
    for word in words:
        if word == "-I":
            found.append(next(words, ""))
        elif word.startswith("-I"):
            found.append(word[2:])
    return [folder for folder in found if folder]


def source_files(source: Path, options: str = "") -> tuple[tuple[str, str], ...]:
    """(absolute path, text) of ``source`` and of all that it includes, the source first.

    The text is decoded as UTF-8 with undecodable bytes replaced. Files that cannot be read are left out: the compiler
    is the one to complain.
    """
    folders = [os.path.abspath(folder) for folder in [*include_folders(options), os.getcwd()]]
    start = os.path.abspath(source)
    waiting, seen, total = [start], {start}, 0
    found: list[tuple[str, str]] = []
    while waiting and len(found) < COUNT_LIMIT:
        path = waiting.pop(0)
        content = _read(path)
        if content is None or total + len(content) > TOTAL_LIMIT:
            continue
        total += len(content)
        found.append((path, content.decode("utf-8", "replace")))
        for included in _included(content, [os.path.dirname(path), *folders]):
            if included not in seen:
                seen.add(included)
                waiting.append(included)
    return tuple(found)


def _read(path: str) -> bytes | None:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > FILE_LIMIT:
            return None
        with open(path, "rb") as file:
            return file.read(FILE_LIMIT)
    except OSError:
        return None


def _included(content: bytes, folders: list[str]) -> Iterator[str]:
    for match in INCLUDE.finditer(content):
        name = os.fsdecode(match[1])
        for folder in folders:
            path = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(path):
                yield path
                break
