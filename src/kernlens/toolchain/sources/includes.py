"""The files that a compile reads, source and includes, as the preprocessor finds them; the options that name files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kernlens.errors import UnsupportedError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.model.build import LINE_OPTIONS, Source
from kernlens.toolchain.sources.preprocessing import Macros, included_names
from kernlens.toolchain.sources.source_reading import SourceFolders, open_regular

#: Files beyond this total size in bytes, or beyond this number, are left out.
TOTAL_LIMIT = 64 << 20
COUNT_LIMIT = 1000
#: Bytes by which a source is told from other files.
_START = 4096

_WORDS = re.compile(r'(?:[^ \t\r\n"]+|"[^"]*")+')
#: Control characters, and what else ends a line anywhere.
_CONTROL = re.compile(r"[\0-\x1f\x7f-\x9f\u2028\u2029]")


def existing_source(source: str | os.PathLike[str]) -> Path:
    """Return the path of a source file, which can be read. Raises NotFoundError if there is no file of that name, and
    UnsupportedError if it is no regular file, cannot be read, or is neither text nor SPIR-V."""
    with open_regular(source, "source file") as file:
        start = file.read(_START)
    if b"\0" in start and not is_spirv(start[:4]):
        raise UnsupportedError(
            f"{source} is neither OpenCL C nor SPIR-V: it contains NUL bytes; if it is text, save it as UTF-8"
        )
    if start.startswith(b"%PDF"):
        raise UnsupportedError(f"{source} is a PDF document, not OpenCL C or SPIR-V; save the source as plain text")
    return Path(source)


def split_options(options: str) -> list[str]:
    """Split an OpenCL option string into words. Double quotes group words; nothing else is special. Sources:
    clBuildProgram's description, and what the offline compilers of NEO 22.43 and 26.27 accept. Raises UnsupportedError
    for a word that holds a control character: a line break in ``-D`` begins a line of the program."""
    if options.count('"') % 2:
        # A quote is not closed. The compiler will complain; here only the words count.
        words = re.split(r"[ \t\r\n]+", options.strip(" \t\r\n"))
    else:
        words = [word.replace('"', "") for word in _WORDS.findall(options)]
    for word in words:
        if _CONTROL.search(word):
            raise UnsupportedError(f"the build option {word!a} contains a control character; leave it out")
    return words


def join_options(options: str | Sequence[str]) -> str:
    """Return an option string unchanged, or make one of words, with double quotes around those that have spaces. The
    quotes start behind an option's letter (``-I"a b"``): Intel's compilers take ``"-Ia b"`` for no option at all.
    Raises UnsupportedError for a word with a double quote, which an option string has no way to write."""
    if isinstance(options, str):
        return options
    for word in options:
        if '"' in word:
            raise UnsupportedError(f"the option {word} contains a double quote, which build options cannot contain")
    return " ".join(map(_quoted, options))


def _quoted(word: str) -> str:
    if word and not any(map(str.isspace, word)):
        return word
    start = 2 if re.match(r"-\S", word) else 0
    return f'{word[:start]}"{word[start:]}"'


def with_lines(options: str) -> str:
    """Return build options with the one that has the compiler write line tables, unless they hold one that does."""
    if not set(LINE_OPTIONS).isdisjoint(split_options(options)):
        return options
    return f"{LINE_OPTIONS[0]} {options}".strip()


def operand(path: str | os.PathLike[str]) -> str:
    """Return the path of a file as a word of a command line: clang takes one that begins with ``-`` for an option, and what
    follows ``@`` for a file of options."""
    name = os.fspath(path)
    return os.path.join(os.curdir, name) if name.startswith(("-", "@")) else name


def source_options(source: Path, options: str, *, naming: Sequence[str], folder: str = "") -> str:
    """Return the options for Intel's compilers, with the source's folder added for includes, and its name for the line
    table if ``options`` hold one of ``naming``. All of Intel's OpenCL compilers have ``-s FILE``; without it a line
    table calls the source ``1``. ``folder`` is where the compiler works, if that is not the caller's folder: ``source`` is
    its name there."""
    path = operand(source) if folder else os.path.abspath(source)
    if '"' in path:
        raise UnsupportedError(
            f"the path {path} contains a double quote, which build options cannot hold; rename the file"
        )
    words = split_options(options)
    added = [options] if options.strip() else []
    if not set(naming).isdisjoint(words) and "-s" not in words:
        added.append(f"-s {_quoted(path)}")
    if os.path.dirname(path) not in (("", os.curdir) if folder else (os.getcwd(),)):
        added.append(f"-I {_quoted(os.path.dirname(path))}")
    return " ".join(added)


def options_with_values(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each option of a list of words and the word that belongs to it, "" if none does; ``-IFOLDER`` is two."""
    rest = iter(words)
    for word in rest:
        if word.startswith("-I"):
            yield "-I", word[2:] or next(rest, "")
        else:
            yield word, next(rest, "") if word in ("-D", "-U", "-x", "-s") else ""


def include_folders(options: str) -> list[str]:
    """Return the folders of ``-I`` in an option string, in order, as they were written."""
    return [folder for word, folder in options_with_values(split_options(options)) if word == "-I" and folder]


def source_files(source: Path, options: str = "") -> tuple[Source, ...]:
    """Read ``source`` and all that it includes, the source first; each gets its absolute path. The texts are decoded as
    UTF-8, with undecodable bytes replaced. Only files below the source's folder, the working folder and those of ``-I``
    are read; any other included file gives a Source without text, which says why. Files that cannot be read are left
    out, and the compiler will complain."""
    start = os.path.abspath(source)
    named = [os.path.abspath(folder) for folder in include_folders(options)]
    readable = SourceFolders([os.path.dirname(start), os.getcwd()], named, "-I")
    macros = Macros(split_options(options))
    sources: list[Source] = []
    seen, total = {start}, 0

    def names_in(path: str, source: Source | None) -> Iterator[tuple[str, str]]:
        """Keep the file's text, and yield (its folder, name) for each file that it includes."""
        nonlocal total
        if source is not None:
            total += len(source.text)
            if total <= TOTAL_LIMIT and len(sources) < COUNT_LIMIT:
                sources.append(source)
                if not source.unread:
                    return ((os.path.dirname(path), name) for name in included_names(source.text, macros))
        macros.are_open = True
        return iter(())

    files = [names_in(start, readable.named(start))]
    while files:
        folder, name = next(files[-1], ("", ""))
        if not name:
            files.pop()
            continue
        candidates = [os.path.normpath(os.path.join(each, name)) for each in (folder, *named, os.getcwd())]
        path = next((path for path in candidates if os.path.isfile(path)), None)
        if path is None:
            macros.are_open = True
        elif path not in seen:
            seen.add(path)
            files.append(names_in(path, readable.read(path)))
    return tuple(sources)
