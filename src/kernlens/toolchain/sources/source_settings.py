"""The build options that a project's ``kernlens.toml`` has for each source (docs/project_file.md).

The nearest file counts: the one in the source's folder, or in the next folder above it that has one, else the one in the
working folder. It may come with a stranger's repository. So none of its options may name a file, and the folders that it has
the compiler include from lie below its own, unless the user has named it himself (``KERNLENS_PROJECT``, ``--budget``).
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from kernlens import log
from kernlens.dataclass import dataclass, replace
from kernlens.errors import KernlensError, NotFoundError, UnsupportedError, likeliest
from kernlens.formats.budget_file import NAME
from kernlens.model.compiler_options import LINE_OPTIONS
from kernlens.model.source_table import SourceTable
from kernlens.toolchain.sources.includes import join_options, options_with_values, split_options
from kernlens.toolchain.sources.project_file import VARIABLE, is_in, project_file, read_project, short
from kernlens.toolchain.sources.recorded_sources import file_options
from kernlens.toolchain.sources.source_reading import is_wide

#: Sets of options of one source, at most.
SETS_LIMIT = 100_000
#: Files of a project that are looked at for patterns, at most.
_FILES_LIMIT = 100_000
#: And for names that are like a pattern.
_NAMES_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """The build options that the tables of a ``kernlens.toml`` have for one source.

    ``file`` is the file, and ``patterns`` are those of its tables that fit the source; None and empty if there are none.
    ``words`` are build options, ``macros`` the names of macros with the values of each ("": without value), ``include`` the
    folders to include from, relative to the working folder if they are below it. ``option_sets`` are words too, of which each
    compile has those of one set, in the place of words and macros with their names.
    """

    file: str | None = None
    patterns: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    macros: tuple[tuple[str, tuple[str, ...]], ...] = ()
    include: tuple[str, ...] = ()
    option_sets: tuple[tuple[str, ...], ...] = ()

    def options(self, stated: str = "") -> str:
        """Return the build options of a compile that is asked for with the ``stated`` ones, which go first: what has the same
        name (``-cl-std=``, ``-D NAME``) is left out of the file's. Of a macro's values, and of sets, it has the first."""
        return next(iter(self._choices(stated)))[0]

    def sets(self, stated: str = "") -> list[tuple[str, str]]:
        """Return what ``options`` does for each choice of a set and of the macros' values, each with the part of it that is not
        the same in all: the ``stated`` options, a set, and macros with several values. Raises KernlensError for too many."""
        self._check_count([each.macros for each, _ in self._of_each_set(stated)])
        return list(self._choices(stated))

    def variants(self, stated: str = "") -> list[SourceSettings]:
        """Return the settings of each choice of a set and of the macros' values that the ``stated`` options leave open. Raises
        KernlensError for too many."""
        taken = {name for name, _ in _named(stated)}
        sets = [
            (each, [(name, values[:1] if f"-D {name}" in taken else values) for name, values in each.macros])
            for each, _ in self._of_each_set(stated)
        ]
        self._check_count([macros for _, macros in sets])
        return list(
            dict.fromkeys(
                replace(each, macros=chosen)
                for each, macros in sets
                for chosen in itertools.product(*([(name, (value,)) for value in values] for name, values in macros))
            )
        )

    def _check_count(self, sets: Iterable[Sequence[tuple[str, tuple[str, ...]]]]) -> None:
        count = sum(math.prod(len(values) for _, values in macros) for macros in sets)
        if count > SETS_LIMIT:
            raise KernlensError(
                f"{self.file}: the values of define have {count:,} combinations; the limit is {SETS_LIMIT:,}"
            )

    def _of_each_set(self, stated: str) -> Iterator[tuple[SourceSettings, tuple[str, ...]]]:
        """Yield the settings with each set among their words, and what that set adds to the ``stated`` options."""
        taken = {name for name, _ in _named(stated)}
        for own in self.option_sets or ((),):
            of_set = {name: words for name, words in _named(join_options(own)) if name not in taken}
            words = [word for name, each in _named(join_options(self.words)) if name not in of_set for word in each]
            added = tuple(word for each in of_set.values() for word in each)
            macros = tuple(macro for macro in self.macros if f"-D {macro[0]}" not in of_set)
            yield replace(self, words=(*words, *added), macros=macros, option_sets=()), added

    def _choices(self, stated: str) -> Iterator[tuple[str, str]]:
        if not self.patterns:
            yield stated, stated
            return
        taken = {name for name, _ in _named(stated)}
        folders = join_options([word for folder in self.include for word in ("-I", folder)])
        for settings, added in self._of_each_set(stated):
            own_words = _named(join_options(settings.words))
            words = [word for name, own in own_words if name not in taken for word in own]
            values = [
                [f"-D{name}={value}" if value else f"-D{name}" for value in values]
                for name, values in settings.macros
                if f"-D {name}" not in taken
            ]
            for chosen in itertools.product(*values):
                varied = [*added, *(word for word, own in zip(chosen, values, strict=True) if len(own) > 1)]
                options = " ".join(filter(None, (join_options([*words, *chosen]), stated, folders)))
                yield options, f"{stated} {join_options(varied)}".strip()


#: Of a source that no table is for.
NO_SETTINGS = SourceSettings()


def settings_for(source: str | os.PathLike[str], root: str | None = None, *, file: str | None = None) -> SourceSettings:
    """Return what the nearest ``kernlens.toml`` says on a source, which need not exist. ``root`` is the folder of a tree that
    the source is in, such as a revision of a repository: then only files in that tree count. ``file`` is one that the user
    has named, which counts in place of the nearest.

    Raises FormatError, NotFoundError or KernlensError for a file that cannot be read, UnsupportedError for options and folders
    that such a file may not have.
    """
    path = file or project_file(source, root)
    if path is None:
        return NO_SETTINGS
    is_named = file is not None or (root is None and path == os.environ.get(VARIABLE))
    if root is not None and not is_in(os.path.realpath(path), os.path.realpath(root)):
        raise UnsupportedError(f"{path} is a link that leads out of {root}; it is not read")
    base = os.path.dirname(os.path.abspath(path))
    name = os.path.relpath(os.path.abspath(source), base).replace(os.sep, "/")
    tables = [table for table in read_project(path).sources if fnmatchcase(name, table.pattern)]
    words: dict[str, tuple[str, ...]] = {}
    macros: dict[str, tuple[str, ...]] = {}
    sets: list[dict[str, tuple[str, ...]]] = []
    for table in tables:
        macros |= table.macros
        words = {key: own for key, own in words.items() if key.removeprefix("-D ") not in table.macros}
        stated = dict(_named(_checked(table, join_options(table.options), is_named=is_named)))
        for key, own in stated.items():
            macros.pop(key.removeprefix("-D "), None)
            words[key] = own
        sets = [dict(_named(_checked(table, each, is_named=is_named))) for each in table.variants] or [
            {key: own for key, own in each.items() if key not in stated and key.removeprefix("-D ") not in table.macros}
            for each in sets
        ]
    include = [_include(each, base, table, is_named) for table in reversed(tables) for each in table.include]
    settings = SourceSettings(
        path,
        tuple(table.pattern for table in tables),
        tuple(word for own in words.values() for word in own),
        tuple((macro, values) for macro, values in macros.items() if values),
        tuple(dict.fromkeys(include)),
        tuple(dict.fromkeys(tuple(word for own in each.values() for word in own) for each in sets)),
    )
    if tables and log.is_on("toolchain"):
        names = ", ".join(f'[source."{pattern}"]' for pattern in settings.patterns)
        log.debug("toolchain", "%s: %s of %s: %s", os.fspath(source), names, path, settings.options() or "no options")
    return settings if tables else NO_SETTINGS


def unused_tables(path: str) -> list[str]:
    """Return a sentence on each table of sources in a ``kernlens.toml`` whose pattern fits no file below the file's folder;
    none if there are too many files to tell."""
    tables = [table for table in read_project(path).sources if not table.pattern.startswith("../")]
    base = os.path.dirname(os.path.abspath(path))
    names: list[str] = []
    for folder, inside, files in os.walk(base) if tables else ():
        inside[:] = [name for name in inside if not name.startswith(".")]
        own = [os.path.relpath(os.path.join(folder, name), base).replace(os.sep, "/") for name in files]
        names += own
        tables = [table for table in tables if not any(fnmatchcase(name, table.pattern) for name in own)]
        if not tables or len(names) > _FILES_LIMIT:
            return []
    sentences = []
    for table in tables:
        near = likeliest(table.pattern, names[:_NAMES_LIMIT])
        sentences.append(f"{table.origin}: no file fits" + (f"; did you mean {', '.join(near)}?" if near else ""))
    return sentences


def _checked(table: SourceTable, options: str, *, is_named: bool) -> str:
    """Return options of a table. Raises UnsupportedError for one that may name a file."""
    for word, value in () if is_named else file_options(options):
        advice = "; the key include names folders" if word == "-I" else f"; {VARIABLE}={NAME} allows it"
        raise UnsupportedError(
            f"{table.origin}: the option {word}{' ' if value else ''}{value} may name a file{advice}"
        )
    return options


def _include(folder: str, base: str, table: SourceTable, is_named: bool) -> str:
    """Return a folder of a table as the compiler gets it. Raises UnsupportedError for one that the file may not name."""
    path = os.path.normpath(os.path.join(base, folder))
    if not is_named and (is_wide(path) or not is_in(os.path.realpath(path), os.path.realpath(base))):
        raise UnsupportedError(
            f"{table.origin}: the include folder {folder} is outside of {base}; add it with -I on the command line, or name"
            f" the file yourself: {VARIABLE}={NAME}"
        )
    if not os.path.isdir(path):
        raise NotFoundError(f"{table.origin}: there is no folder {path} to include from")
    return short(path)


def _named(options: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the words of each option under the name that it shares with those which take its place."""
    for word, value in options_with_values(split_options(options)):
        words = (word, value) if value else (word,)
        if word[:2] in ("-D", "-U"):
            yield f"-D {(word[2:] or value).partition('=')[0]}", words
        elif word in LINE_OPTIONS:
            yield LINE_OPTIONS[-1], words
        elif word in ("-I", "-s", "-x"):
            yield " ".join(words), words
        else:
            yield word.partition("=")[0], words
