"""Recorded source texts, written into a folder so that they can be compiled again.

Each file gets its absolute path below the folder, so that includes relative to a file or to a folder of ``-I`` lead to
the same texts as when they were recorded. A recording may come from anybody: its texts are only compiled if everything
that they could include is in the recording, as a compiler would read any other file and show it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from kernlens.errors import OutputError, UnsupportedError
from kernlens.model.build import Source
from kernlens.model.source_path import why_unfit
from kernlens.toolchain.folders import make_folder
from kernlens.toolchain.sources.directives import inclusions, joined_lines, macros_defined
from kernlens.toolchain.sources.includes import join_options, options_with_values, split_options

#: Options that name no file: of OpenCL, of the debug data, of macros and of warnings.
PLAIN_OPTION = re.compile(
    r"-cl-[\w.=+-]+|-(?:ze|intel|igc)[-_][\w.=+-]+|-g(?:line-tables-only|dwarf-\d|\d)?|-[DU].+|-O\w*|-w"
    r"|-W[a-z][\w-]*(?:=[\w-]*)?|-f(?:no-)?(?:fast-math|inline-functions|unroll-loops)|-m(?:64|32)"
)

#: The file that a recorded source without a name is written to.
STAND_IN = "program.cl"


def written_sources(
    sources: Sequence[Source], options: str, folder: Path, roots: Sequence[str] = ()
) -> tuple[Path, str]:
    """Write ``sources`` below ``folder``; returns the path of the first there, and ``options`` with the folders of
    ``-I`` turned into those below it. What lies below ``roots``, which the user has named, may be included too, where
    it is. Raises UnsupportedError if a text includes a file that is not in the recording but on this machine, and for
    an option that names a file; OutputError if nothing can be written."""
    folder = Path(os.path.realpath(folder))
    places = [_file_below(folder, source.path) for source in sources]
    words, folders = _own_options(split_options(options), folder)
    words += [word for root in roots for word in ("-I", root)]
    texts = {place: joined_lines(source.text) for place, source in zip(places, sources, strict=True)}
    computed = {name for text in texts.values() for name in macros_defined(text)}
    computed |= {match[1] for word in words if (match := re.match(r"-D\s*([A-Za-z_]\w*)", word))}
    for (place, text), source in zip(texts.items(), sources, strict=True):
        for name, macro in inclusions(text):
            if macro in computed:
                raise UnsupportedError(
                    f"{source.path} includes a file that the macro {macro} names: that is only known when the source"
                    " itself is compiled"
                )
            for outside in _outside(name, (place.parent, *folders, *map(Path, roots), Path.cwd()), texts, roots):
                raise UnsupportedError(
                    f"{source.path} includes {outside}, which is on this machine but not in the recording: compile the"
                    " source itself"
                )
    try:
        for needed in {*(place.parent for place in places), *folders}:
            make_folder(needed)
        for place, source in zip(places, sources, strict=True):
            place.write_text(source.text, encoding="utf-8", errors="replace", newline="")
    except OSError as error:
        raise OutputError(f"the recorded sources cannot be written below {folder}: {error.strerror}") from error
    return places[0], join_options(words)


def check_options(options: str, recorded: str, folders: Collection[str]) -> None:
    """Raise UnsupportedError for an option that names a file, unless it is among the ``recorded`` ones too or names one of
    these ``folders`` to include from."""
    known = set(file_options(recorded))
    for word, value in file_options(options):
        if (word, value) in known or (word == "-I" and os.path.abspath(value) in folders):
            continue
        raise UnsupportedError(f"the build option {word}{' ' if value else ''}{value} may name a file of this machine")


def file_options(options: str) -> Iterator[tuple[str, str]]:
    """Yield each option that may name a file, with the word that belongs to it."""
    for word, value in options_with_values(split_options(options)):
        if word in ("-I", "-x", "-s"):
            yield word, value or ("." if word == "-I" else "")
        elif word not in ("-D", "-U") and not PLAIN_OPTION.fullmatch(word):
            yield word, ""


def _file_below(folder: Path, path: str) -> Path:
    """Return the place of a recorded file; the source of a program that an application built has no path."""
    place = _below(folder, path)
    return place if place != folder else folder / STAND_IN


def _below(folder: Path, path: str) -> Path:
    """Return the place below ``folder`` of a recorded path, Windows's too; it stays inside whatever the path is. Raises
    UnsupportedError for one that is too long or too deep."""
    if why := why_unfit(path):
        raise UnsupportedError(f"a path of the recording {why}: {path[:60]}...")
    absolute = os.path.normpath("/" + path.replace("\\", "/").replace("\0", "").lstrip("/"))
    return folder / absolute.lstrip("/").replace(":", "_")


def _own_options(words: Sequence[str], folder: Path) -> tuple[list[str], list[Path]]:
    """Return the options with their include folders below ``folder``, and these folders."""
    changed: list[str] = []
    folders: list[Path] = []
    for word, value in options_with_values(words):
        if word == "-I":
            folders.append(_below(folder, os.path.abspath(value or ".")))
            changed += ["-I", str(folders[-1])]
        elif word in ("-D", "-U"):
            changed += [word, value]
        elif word in ("-x", "-s"):
            continue  # The language is known, and the source is named by its recorded path.
        elif PLAIN_OPTION.fullmatch(word):
            changed.append(word)
        else:
            raise UnsupportedError(
                f"the recording's build option {word} may name a file of this machine; give the options with --build-options"
            )
    return changed, folders


def _outside(name: str, folders: Iterable[Path], texts: Iterable[Path], roots: Sequence[str]) -> Iterator[str]:
    """Yield the file that an include of ``name`` may lead to although the recording has it not, and no root either."""
    known = set(texts)
    for folder in folders:
        path = Path(os.path.normpath(folder / name))
        if path in known:
            return
        if os.path.lexists(path):
            real = os.path.realpath(path)
            if not any(real.startswith(os.path.realpath(root).rstrip("/") + "/") for root in roots):
                yield str(path)
            return
