"""The sources of two trees that are compared: chosen by paths, with the options of each, paired by name and content."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType

from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError
from kernlens.model.build import SOURCE_SUFFIX
from kernlens.toolchain.sources.includes import include_folders, join_options, options_with_values, split_options
from kernlens.verbs.sources.closures import Closure, Closures
from kernlens.verbs.sources.trees import Tree

#: The part of their lines that two sources need to have in common to be one that was renamed.
_ALIKE = 0.5
#: Sources without a partner that are compared by their lines.
_MOST_RENAMED = 200


@dataclass(frozen=True)
class SourceText:
    """A source of a side: all that it may include, and its build options, with folders of ``-I`` as the tree has them."""

    tree: Tree
    closure: Closure
    options: str

    @property
    def name(self) -> str:
        return self.closure.source


@dataclass(frozen=True, slots=True)
class SourcePair:
    """A source of both sides, or of one."""

    old: SourceText | None
    new: SourceText | None

    @property
    def is_equal(self) -> bool:
        """True if both sides compile to the same with one compiler for one device."""
        old, new = self.old, self.new
        return bool(old and new and old.options == new.options and old.closure.is_equal(new.closure))


#: The build options of a source, by its name in the tree.
OptionsOf = Callable[[str], str]


def sources_of(
    tree: Tree,
    paths: Sequence[str],
    options_of: OptionsOf,
    base: str,
    closures: Closures,
    other: Mapping[str, SourceText] = MappingProxyType({}),
) -> dict[str, SourceText]:
    """Return the sources of a tree by name: those that ``paths`` name or that lie in them, else all. One that another
    includes is left out, unless it is named itself: it is compiled with that. ``base`` is the folder of the tree that
    relative folders of ``-I`` start from. ``other`` are the sources of another tree: what is equal there is not gone
    through again."""
    changed = _changed(tree, next(iter(other.values())).tree) if other else None
    named = {path for path in paths if path in tree.names}
    # A link that leads out of the tree is none of its files.
    sources = (name for name in tree.names if name.endswith(SOURCE_SUFFIX))
    chosen = named | {name for name in sources if _is_in(name, paths) and tree.find(name)}
    texts = {}
    for name in sorted(chosen):
        options, folders = in_tree(options_of(name), tree, base)
        known = other.get(name) if changed is not None else None
        if known and known.options == options and changed is not None and changed.isdisjoint(known.closure.files):
            texts[name] = SourceText(tree, known.closure, options)
        else:
            texts[name] = SourceText(tree, closures.of(tree, name, folders, options), options)
    included: set[str] = set()
    for text in sorted(texts.values(), key=lambda text: -len(text.closure.files)):
        if text.name not in included or text.name in named:
            included |= text.closure.included
    return {name: text for name, text in texts.items() if name in named or name not in included}


def with_options(text: SourceText, options: str, base: str, closures: Closures) -> SourceText:
    """Return a source with other build options; ``base`` and ``closures`` are those of ``sources_of``."""
    words, folders = in_tree(options, text.tree, base)
    return SourceText(text.tree, closures.of(text.tree, text.name, folders, words), words)


def _changed(tree: Tree, other: Tree) -> set[str] | None:
    """Return the names of the other tree's files that are not the same in this one; None if that is not known, or this one has
    files that the other has not, which may be included in place of others."""
    if tree.ids is None or other.ids is None or tree.ids.keys() - other.ids.keys():
        return None
    return {name for name, number in other.ids.items() if tree.ids.get(name) != number}


def in_tree(options: str, tree: Tree, base: str = "") -> tuple[str, list[str]]:
    """Return build options with the folders of ``-I`` that lie in the tree by their names there, and these folders; a folder
    elsewhere is named by its path."""
    if not include_folders(options):
        return options, []
    words: list[str] = []
    folders: list[str] = []
    for word, value in options_with_values(split_options(options)):
        if word != "-I":
            words += [word, value] if value else [word]
            continue
        place = _place(value, tree, base)
        if not place.startswith("/"):
            folders.append(place)
        words += ["-I", place or "."]
    return join_options(words), folders


def _place(folder: str, tree: Tree, base: str) -> str:
    """Return the name in the tree of a folder, or its path if it lies elsewhere."""
    if os.path.isabs(folder):
        real = os.path.realpath(folder)
        if not tree.root or not f"{real}/".startswith(f"{tree.root}/"):
            return folder
        return real[len(tree.root) + 1 :]
    name = posixpath.normpath(posixpath.join(base, folder))
    if name == ".." or name.startswith("../"):
        return os.path.abspath(os.path.join(tree.root or ".", name))
    if base == "" and not _has_folder(tree, name) and os.path.isdir(folder):
        return os.path.abspath(folder)
    return "" if name == "." else name


def _has_folder(tree: Tree, name: str) -> bool:
    return name == "." or any(each.startswith(f"{name}/") for each in tree.names)


def _is_in(name: str, paths: Sequence[str]) -> bool:
    return not paths or any(
        path in ("", ".") or name.startswith(f"{path.rstrip('/')}/") or fnmatchcase(name, path) for path in paths
    )


def check_paths(paths: Sequence[str], trees: Iterable[Tree]) -> None:
    """Raise NotFoundError for a path that leads to no source in any of the trees."""
    sides = list(trees)
    for path in paths:
        names = (name for tree in sides for name in tree.names if name == path or name.endswith(SOURCE_SUFFIX))
        if not any(name == path or _is_in(name, [path]) for name in names):
            raise NotFoundError(
                f"{path} is no source, and no folder with sources (*{SOURCE_SUFFIX}), on either side; correct the path"
            )


def paired(old: Mapping[str, SourceText], new: Mapping[str, SourceText]) -> list[SourcePair]:
    """Return the sources of two sides that belong together, in the order of their names: by name, else by content."""
    renamed = dict(
        _renamed([old[name] for name in old.keys() - new.keys()], [new[name] for name in new.keys() - old.keys()])
    )
    gone = set(renamed.values())
    pairs = [(name, SourcePair(old.get(renamed.get(name, name)), text)) for name, text in new.items()]
    pairs += [(name, SourcePair(text, None)) for name, text in old.items() if name not in new and name not in gone]
    return [pair for _, pair in sorted(pairs, key=lambda named: named[0])]


def _renamed(old: Sequence[SourceText], new: Sequence[SourceText]) -> Iterator[tuple[str, str]]:
    """Yield the new and the old name of sources that were renamed: equal ones, then those with most lines in common."""
    left = {text.name: text for text in old}
    waiting = []
    for text in sorted(new, key=lambda text: text.name):
        same = [name for name, each in left.items() if _number(each) == _number(text)]
        if same:
            best = min(same, key=lambda name: (posixpath.basename(name) != posixpath.basename(text.name), name))
            del left[best]
            yield text.name, best
        else:
            waiting.append(text)
    if len(waiting) > _MOST_RENAMED or len(left) > _MOST_RENAMED:
        return
    lines = {id(text): _lines(text) for text in (*waiting, *left.values())}
    shares = sorted(
        (-_share(lines[id(text)], lines[id(each)]), text.name, name) for text in waiting for name, each in left.items()
    )
    taken: set[str] = set()
    for share, name, before in shares:
        if -share >= _ALIKE and name not in taken and before in left:
            taken.add(name)
            del left[before]
            yield name, before


def _number(text: SourceText) -> str:
    return text.closure.files[text.name]


def _lines(text: SourceText) -> set[bytes]:
    return {line.strip() for line in text.tree.read(_number(text)).split(b"\n")} - {b"", b"{", b"}"}


def _share(first: set[bytes], second: set[bytes]) -> float:
    return len(first & second) / max(len(first), len(second), 1)
