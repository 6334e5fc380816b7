"""Trees of files, in which sources and what they include have names: a folder, a commit, the working tree of a repository."""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from kernlens import log
from kernlens.dataclass import dataclass, field
from kernlens.errors import KernlensError
from kernlens.toolchain.folders import paths_below
from kernlens.toolchain.sources.source_reading import SIZE_LIMIT, read_beside
from kernlens.verbs.sources.git_repository import LINK, Entry, Repository

#: How the names of OpenCL C's sources end.
ENDING = ".cl"
#: Files that a folder may hold, at most.
_MOST_FILES = 1_000_000
_MOST_LINKS = 20


@dataclass(frozen=True)
class Tree:
    """The files of one side. ``title`` says what it is, ``root`` is where its working tree or folder lies, "" if nowhere.
    ``names`` are those of its files, from its root; ``find`` returns the id of a name's content, None if there is no such file,
    and ``read`` the content of an id. Equal ids are equal contents, also in another tree."""

    title: str
    root: str
    names: frozenset[str] = field(repr=False)
    find: Callable[[str], str | None] = field(repr=False)
    read: Callable[[str], bytes] = field(repr=False)
    #: The ids of all files, where they are known without reading these.
    ids: Mapping[str, str] | None = field(default=None, repr=False)

    @cached_property
    def by_base(self) -> Mapping[str, list[str]]:
        """The names of files by their last part."""
        known: dict[str, list[str]] = {}
        for name in sorted(self.names):
            known.setdefault(posixpath.basename(name), []).append(name)
        return known


def folder_tree(folder: str, title: str = "") -> Tree:
    """Return the tree of a folder on disk. Links are followed to files within it, hidden files and folders left out."""
    return _tree_on_disk(title or folder, folder, _names_below(folder), _Contents(folder))


def commit_tree(repository: Repository, entries: Mapping[str, Entry], title: str, root: str) -> Tree:
    """Return the tree of a commit."""

    ids = {name: entry.id for name, entry in entries.items()}

    def find(name: str) -> str | None:
        place = _followed(name, entries, repository)
        return ids[place] if place is not None else None

    has_links = any(entry.kind == LINK for entry in entries.values())
    return Tree(title, root, frozenset(entries), find if has_links else ids.get, repository.content, ids)


def work_tree(repository: Repository, title: str) -> Tree:
    """Return the working tree of a repository: files that git tracks or would, and ignored ones that they include."""
    return _tree_on_disk(
        title, repository.root, repository.files_at_work(), _Contents(repository.root, repository.digest)
    )


def _tree_on_disk(title: str, root: str, names: Iterable[str], contents: _Contents) -> Tree:
    real = os.path.realpath(root)

    def find(name: str) -> str | None:
        place = os.path.realpath(os.path.join(real, name))
        # What a link leads to outside of the tree is none of its files.
        if not place.startswith(f"{real.rstrip('/')}/") or "/.git/" in place[len(real) :] or not os.path.isfile(place):
            return None
        return contents.id_of(place)

    return Tree(title, real, frozenset(names), find, contents.read)


class _Contents:
    """The contents of files on disk, each read once, so that all answers are about the same."""

    def __init__(self, root: str, digest: str = "sha1") -> None:
        self._root = root
        self._digest = digest
        self._ids: dict[str, str | None] = {}
        self._contents: dict[str, bytes] = {}

    def id_of(self, place: str) -> str | None:
        if place not in self._ids:
            self._ids[place] = self._read(place)
        return self._ids[place]

    def read(self, number: str) -> bytes:
        return self._contents[number]

    def _read(self, place: str) -> str | None:
        try:
            content = read_beside(place, self._root, SIZE_LIMIT)
        except KernlensError as error:
            log.debug("verbs", "%s is passed over: %s", place, error)
            return None
        # The id that git gives a content.
        number = hashlib.new(self._digest, b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()
        self._contents[number] = content
        return number


def _names_below(folder: str) -> Iterator[str]:
    for count, path in enumerate(paths_below(folder)):
        if count > _MOST_FILES:
            raise KernlensError(f"{folder} has more than {_MOST_FILES:,} files; name a folder of sources in it")
        name = os.path.relpath(path, folder)
        if not any(piece.startswith(".") for piece in name.split("/")):
            yield name


def _followed(name: str, entries: Mapping[str, Entry], repository: Repository) -> str | None:
    """Return the file that a name leads to through links within the tree; None if there is none."""
    for _ in range(_MOST_LINKS):
        entry = entries.get(name)
        if entry is not None and entry.kind != LINK:
            return name
        # The name itself, or a folder on its way.
        pieces = name.split("/")
        starts = ("/".join(pieces[:count]) for count in range(1, len(pieces) + 1))
        link = next((start for start in starts if start in entries and entries[start].kind == LINK), None)
        if link is None:
            return None
        target = repository.content(entries[link].id).decode("utf-8", "replace")
        name = posixpath.normpath(posixpath.join(posixpath.dirname(link), target) + name[len(link) :])
        if name.startswith(("/", "..")):
            log.debug("verbs", "the link %s leads out of the tree, and is not followed", link)
            return None
    return None
