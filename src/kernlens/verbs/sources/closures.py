"""All that the compile of a source may read, in the tree that it is in: itself, and what it may include.

More is named than a preprocessor opens: all branches of conditions count, and of an include that a macro names every file
that it may mean. A compile that sees these files alone depends on nothing else.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from kernlens.dataclass import dataclass
from kernlens.toolchain.sources.directives import inclusions, joined_lines
from kernlens.toolchain.sources.includes import COUNT_LIMIT, TOTAL_LIMIT, split_options
from kernlens.verbs.sources.trees import ENDING, Tree

#: An include whose file a macro names, with all that follows on the line.
_COMPUTED = re.compile(r"^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)[ \t]+([A-Za-z_][^\n]*)$", re.MULTILINE)
_DEFINED = re.compile(r"^[ \t]*(?:#|%:)[ \t]*define[ \t]+([A-Za-z_]\w*)(?:\([^)\n]*\))?[ \t]+([^\n]+)$", re.MULTILINE)
_WORD = re.compile(r"[\w.+-]+")
#: How the names of files end that are there to be included.
_INCLUDED = (".h", ".hpp", ".clh", ".hcl", ".inc", ".def", ENDING)
#: Macros within macros that are followed.
_DEPTH = 8


@dataclass(frozen=True)
class Closure:
    """A source with all that its compile may read: ids of contents by name, the source's first. ``is_whole`` is False if a part
    of it was left out, as it is larger than what a compile reads."""

    source: str
    files: Mapping[str, str]
    is_whole: bool = True
    #: Whether the name of a file takes part in the code.
    has_names: bool = False
    #: The other files that includes name, those that macros may mean left out.
    included: frozenset[str] = frozenset()

    def is_equal(self, other: Closure) -> bool:
        """Return whether both compile to the same: by content, the source's name aside."""
        ours, theirs = self._others, other._others
        is_same = self.source == other.source or not (self.has_names or other.has_names)
        return self.is_whole and is_same and ours == theirs and self.files[self.source] == other.files[other.source]

    @cached_property
    def _others(self) -> dict[str, str]:
        return {name: number for name, number in self.files.items() if name != self.source}


@dataclass(frozen=True, slots=True)
class _Text:
    """The parts of a text that can lead to other files."""

    size: int
    names: tuple[str, ...]
    computed: tuple[str, ...]
    macros: tuple[tuple[str, str], ...]
    has_names: bool


class Closures:
    """The closures of the sources of both sides; a text that is in several is gone through once."""

    def __init__(self) -> None:
        self._texts: dict[str, _Text] = {}

    def of(self, tree: Tree, source: str, folders: Sequence[str], options: str) -> Closure:
        """Return the closure of a source of the tree, which has it. ``folders`` are those in the tree that are searched."""
        files: dict[str, str] = {}
        macros: dict[str, list[str]] = {}
        for word in split_options(options):
            name, _, value = word.removeprefix("-D").partition("=")
            macros.setdefault(name.partition("(")[0], []).append(value)
        computed: set[str] = set()
        sure: set[str] = set()
        waiting, guessed = [source], False
        total, has_names = 0, False
        searched = {*folders, posixpath.dirname(source), ""}
        while waiting or not guessed:
            if not waiting:
                # What a macro names is known best when all other texts are.
                waiting, is_sure = _meant(computed, macros, tree, folders)
                waiting = [name for name in waiting if name not in files]
                guessed = not waiting
                if is_sure:
                    sure.update(waiting)
                continue
            name = waiting.pop()
            number = tree.find(name) if name not in files else None
            if number is None:
                continue
            text = self._text(tree, number)
            total += text.size
            if total > TOTAL_LIMIT or len(files) > COUNT_LIMIT:
                return Closure(source, files, False)
            files[name] = number
            has_names = has_names or text.has_names
            computed.update(text.computed)
            for macro, value in text.macros:
                macros.setdefault(macro, []).append(value)
            around = {posixpath.dirname(name), *searched}
            included = [posixpath.normpath(posixpath.join(folder, each)) for each in text.names for folder in around]
            sure.update(included)
            waiting += included
        return Closure(source, files, True, has_names, frozenset(sure) & files.keys() - {source})

    def _text(self, tree: Tree, number: str) -> _Text:
        if number not in self._texts:
            content = tree.read(number)
            text = joined_lines(content.decode("utf-8", "replace"))
            # Most texts compute none, and most macros name no file.
            computed = tuple(_COMPUTED.findall(text))
            macros = tuple((name, value) for name, value in _DEFINED.findall(text) if "." in value or computed)
            names = tuple(dict.fromkeys(name for name, _ in inclusions(text) if name))
            self._texts[number] = _Text(len(content), names, computed, macros, "__FILE__" in text)
        return self._texts[number]


def _meant(
    operands: Iterable[str], macros: Mapping[str, Sequence[str]], tree: Tree, folders: Sequence[str]
) -> tuple[list[str], bool]:
    """Return the files that includes may mean whose operands are computed: those that a word in them names, or in what its
    macros stand for, and whether each operand has one; else all too that are there to be included."""
    every: list[str] = []
    is_sure = True
    for operand in operands:
        waiting = _WORD.findall(operand)
        known = set(waiting)
        for _ in range(_DEPTH):
            values = (value for word in waiting for value in macros.get(word, ()))
            waiting = [word for value in values for word in _WORD.findall(value) if word not in known]
            known.update(waiting)
        meant = [name for word in known for name in tree.by_base.get(word, ())]
        if not meant:
            is_sure = False
            meant = [
                name for name in tree.names if name.endswith(_INCLUDED) and posixpath.dirname(name) in {"", *folders}
            ]
        every += meant
    return every, is_sure
