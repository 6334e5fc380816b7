"""The sets of options with which an application built its sources, by a recording of its run, and the part of ``kernlens.toml``
that has them compiled so again (docs/commands/recording.md)."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, NotFoundError
from kernlens.model.build import SOURCE_SUFFIX
from kernlens.model.compiler_options import LINE_OPTIONS
from kernlens.recording.reader import Recording
from kernlens.report.describe import plural
from kernlens.toolchain.folders import paths_below
from kernlens.toolchain.sources.directives import inclusions, joined_lines
from kernlens.toolchain.sources.includes import join_options, options_with_values, split_options
from kernlens.toolchain.sources.project_file import is_in
from kernlens.toolchain.sources.recorded_sources import file_options
from kernlens.toolchain.sources.source_reading import open_regular

#: Files of a folder that are looked at, at most, and bytes of texts that are searched for them.
_FILES_LIMIT, _BYTES_LIMIT = 100_000, 10 << 30
#: How the names of files end that applications join with other text, and bytes that such a file has at least: less may be
#: anywhere.
_JOINED, _LEAST = (SOURCE_SUFFIX, ".ocl", ".clc", ".opencl"), 24
_DEFINE = re.compile(r"\s*#\s*define\s+([A-Za-z_]\w*)(?:\s+([^\s\\\"](?:[^\\\"]*[^\s\\\"])?))?\s*", re.ASCII)
#: What applications add or lose around a file's text.
_SPACE = "\0 \t\r\n"
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})", re.ASCII)


@dataclass(frozen=True, slots=True)
class SourceSets:
    """A source of an application, and how it was built.

    ``path`` is the file with its text, from the folder that was searched; None: no file there has it. ``programs`` are the
    names of its builds, ``sets`` the options with the number of builds that had them, the first build's first; macros that the
    application defines before the file's text are among them. ``include`` are folders to include from, in the folder that was
    searched. ``left_out`` are options which that file may not have. ``added`` is the number of lines that the application has
    beside the file's.
    """

    path: str | None
    programs: tuple[str, ...]
    sets: Mapping[tuple[str, ...], int]
    include: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    added: int = 0

    @property
    def listed(self) -> list[tuple[str, int]]:
        """The sets as a user would write them, each with its number of builds."""
        return [(join_options(words), count) for words, count in self.sets.items()]


@dataclass(frozen=True, slots=True)
class RecordedOptions:
    """The sources of a recording's builds. ``without_source`` are the names of builds whose source is not in the recording,
    ``failed`` those of builds that failed, which are in no set. ``folder`` is the folder that was searched."""

    sources: tuple[SourceSets, ...]
    without_source: tuple[str, ...]
    failed: tuple[str, ...]
    folder: str = "."

    @property
    def notes(self) -> list[str]:
        """Sentences on what is in no table of ``kernlens.toml``."""
        notes = [
            f"{_names(each.programs)}: no file has this source; kernlens extract writes it"
            for each in self.sources
            if each.path is None
        ]
        notes += [
            f"{each.path}: left out {join_options(each.left_out)}, which names a file or folder outside of this one"
            for each in self.sources
            if each.path is not None and each.left_out
        ]
        notes += [
            f"{each.path}: the application compiles {plural(each.added, 'more line')} with it, which the file does not have"
            for each in self.sources
            if each.path is not None and each.added
        ]
        if self.without_source:
            notes.append(f"{_names(self.without_source)}: the recording has no source text")
        if self.failed:
            notes.append(f"{_names(self.failed)}: the build failed")
        return notes

    def document(self) -> dict[str, object]:
        """Return what ``--json`` has of it."""
        sources = [
            {
                "source": each.path,
                "programs": each.programs,
                "sets": [{"options": options, "builds": count} for options, count in each.listed],
                "include": each.include,
                "left_out": each.left_out,
                "added": each.added,
            }
            for each in self.sources
        ]
        return {"sources": sources, "notes": self.notes, "toml": self.toml()}

    def toml(self) -> str:
        """Return the tables of ``kernlens.toml``, with the notes as comments."""
        tables = [line for each in self.sources if each.path is not None for line in _table(each)]
        belongs = (
            f"kernlens.toml of the folder {os.path.basename(os.path.abspath(self.folder))}, from which the paths are"
        )
        return "\n".join([*(f"# {_comment(note)}" for note in (belongs, *self.notes)), *tables, ""]).lstrip("\n")


def recorded_options(recording: str | os.PathLike[str], folder: str | os.PathLike[str] = ".") -> RecordedOptions:
    """Return with which options the sources of a recording were built, each with the file of its text in a ``folder``: that
    of ``kernlens.toml``. Raises FormatError for a damaged recording, and NotFoundError if it has no source text at all."""
    builds: dict[str, list[tuple[str, list[str]]]] = {}
    without, failed = [], []
    with Recording(os.fspath(recording)) as opened:
        for build in opened.builds():
            text = build.sources[0].text.strip(_SPACE) if build.sources else ""
            if build.has_failed:
                failed.append(build.name)
            elif not text or build.options is None:
                without.append(build.name)
            else:
                words = [word for word in split_options(build.options) if word not in LINE_OPTIONS]
                builds.setdefault(text, []).append((build.name, words))
    if not builds:
        raise NotFoundError(f"{recording} has no source text of a program that was built")
    base = os.path.abspath(folder)
    files = _files_in(builds, base)
    of_file: dict[str, list[str]] = {}
    for text in builds:
        of_file.setdefault(files[text][0] if text in files else text, []).append(text)
    sources = [
        _source([(text, files.get(text), own) for text in texts for own in builds[text]], base)
        for texts in of_file.values()
    ]
    return RecordedOptions(tuple(sources), tuple(without), tuple(failed), os.fspath(folder))


def _files_in(texts: Collection[str], base: str) -> dict[str, tuple[str, str]]:
    """Return, for each text, the path from a folder of the largest file that it is or has in it, with that file's text."""
    most, budget = max(len(text.encode("utf-8", "replace")) for text in texts) + _LEAST, _BYTES_LIMIT
    size = sum(map(len, texts))
    files: dict[str, tuple[str, str]] = {}
    for number, path in enumerate(paths_below(base)):
        name = os.path.relpath(path, base).replace(os.sep, "/")
        if number > _FILES_LIMIT or budget < 0:
            break
        if any(part.startswith(".") for part in name.split("/")) or len(name) > 1000 or not name.isprintable():
            continue
        try:
            if os.stat(path).st_size > most:
                continue
            with open_regular(path, "source file") as file:
                own = file.read(most).decode("utf-8", "replace").strip(_SPACE)
        except (OSError, KernlensError):
            continue
        is_joined = name.endswith(_JOINED) and len(own) >= _LEAST
        budget -= size if is_joined else 0
        for text in texts if is_joined else [own] if own in texts else ():
            if own in text and (text not in files or len(own) > len(files[text][1])):
                files[text] = name, own
    return files


def _source(builds: Sequence[tuple[str, tuple[str, str] | None, tuple[str, list[str]]]], base: str) -> SourceSets:
    """Return a source's sets; of each build there is its text, the file in that, its name and its options."""
    counts: Counter[tuple[str, ...]] = Counter()
    include: dict[str, None] = {}
    left_out: dict[str, None] = {}
    added = 0
    for text, file, (_, options) in builds:
        before, _, after = text.partition(file[1] if file else text)
        lines = [line for line in before.splitlines() if line.strip()]
        macros = [match for match in map(_DEFINE.fullmatch, lines) if match]
        others = len(lines) - len(macros) + sum(bool(line.strip()) for line in after.splitlines())
        added = max(added, others)
        words = [f"-D{match[1]}={match[2] or ''}" for match in macros]
        has_includes = any(inclusions(joined_lines(text)))
        for word, value in options_with_values(options):
            inside = os.path.normpath(os.path.join(base, value or "."))
            if word == "-I" and not has_includes:
                continue  # As language bindings add it: it changes nothing.
            if word == "-I" and is_in(os.path.realpath(inside), os.path.realpath(base)) and os.path.isdir(inside):
                include[os.path.relpath(inside, base)] = None
            elif any(file_options(join_options([word, value] if value else [word]))):
                left_out |= dict.fromkeys([] if word in ("-s", "-x") else [word, value] if value else [word])
            else:
                words.append(f"{word}{value}")
        counts[tuple(words)] += 1
    names = tuple(dict.fromkeys(name for _, _, (name, _) in builds))
    path = builds[0][1][0] if builds[0][1] else None
    return SourceSets(path, names, counts, tuple(include), tuple(left_out), added)


def _table(source: SourceSets) -> Iterator[str]:
    """Yield the lines of a source's table: what all sets have as its options, and the rest as values of macros if that is
    every combination of them, else as variants."""
    assert source.path is not None
    sets = list(source.sets)
    common = [word for word in sets[0] if all(word in each for each in sets)]
    rest = [tuple(word for word in each if word not in common) for each in sets]
    if not any((common, source.include, len(sets) > 1)):
        return
    pattern = re.sub(r"([*?[])", r"[\1]", source.path)
    yield from ("", f"[source.{_text(pattern)}]")
    if common:
        yield f"options = {_text(join_options(common))}"
    if source.include:
        yield f"include = [{', '.join(map(_text, source.include))}]"
    if len(sets) == 1:
        return
    if values := _combined(rest):
        lists = (f"{name} = [{', '.join(map(_value, own))}]" for name, own in values.items())
        yield f"define = {{ {', '.join(lists)} }}"
    else:
        yield "variants = ["
        yield from (f"  {_text(join_options(each))}," for each in rest)
        yield "]"


def _combined(sets: Sequence[tuple[str, ...]]) -> dict[str, list[str]]:
    """Return the values of each macro if the sets are all combinations of them; else nothing."""
    values: dict[str, dict[str, None]] = {}
    for own in sets:
        macros = [re.fullmatch(r"-D([A-Za-z_]\w*)=(.+)", word, re.ASCII) for word in own]
        if not all(macros) or (values and {match[1] for match in macros if match} != values.keys()):
            return {}
        for match in macros:
            if match:
                values.setdefault(match[1], {})[match[2]] = None
    is_all = len(set(sets)) == math.prod(map(len, values.values())) and all(len(own) == len(values) for own in sets)
    return {name: list(own) for name, own in values.items()} if is_all else {}


def _value(value: str) -> str:
    return value if _NUMBER.fullmatch(value) else _text(value)


def _text(text: str) -> str:
    """Return a text as TOML has it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _comment(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


def _names(names: Sequence[str]) -> str:
    """Return the names of programs, of many the first."""
    return f"{names[0]} and {plural(len(names) - 1, 'more build')}" if len(names) > 4 else ", ".join(names)
