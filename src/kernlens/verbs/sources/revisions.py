"""The sides of ``diff --git``: two commits of a repository, or one and the working tree, with the sources of each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, NotFoundError
from kernlens.toolchain.process import temporary_folder
from kernlens.verbs.sources.git_repository import Commit, Repository
from kernlens.verbs.sources.settings import SettingsOf, settings_in_commit, settings_on_disk
from kernlens.verbs.sources.trees import Tree, commit_tree, work_tree

WORKING_TREE = "the working tree"
_RANGE = re.compile(r"(.*?)(\.{2,3})(.*)", re.DOTALL)


@dataclass(frozen=True)
class Revisions:
    """The trees of the two sides, with the settings of the sources of each. ``paths`` are the user's, from the top of the
    repository, and ``base`` is the folder of the repository that the user is in."""

    trees: tuple[Tree, Tree]
    settings: tuple[SettingsOf, SettingsOf]
    paths: tuple[str, ...]
    base: str


@contextmanager
def opened_revisions(words: str, paths: Sequence[str] = (), folder: str = ".") -> Iterator[Revisions]:
    """Give the sides that ``words`` name while the context lasts: ``OLD..NEW``, ``OLD...NEW`` (what NEW has changed since it
    left OLD), or ``OLD`` alone, which is compared with the working tree. ``folder`` is one of the repository, and ``paths`` are
    relative to it.

    Raises NotFoundError for a folder without repository and an unknown revision, KernlensError for a path outside of it.
    """
    with Repository(folder) as repository, temporary_folder() as mirrors:
        names = _sides(words)
        commits = [None if name is None else repository.commit(name) for name in names]
        if words.count("...") == 1 and commits[0] and commits[1]:
            commits[0] = repository.commit(repository.merge_base(commits[0].id, commits[1].id))
        own_mirrors = [os.path.join(mirrors, side) for side in ("old", "new")]
        for mirror in own_mirrors:
            os.mkdir(mirror)
        old, new = (_tree(repository, commit, mirror) for commit, mirror in zip(commits, own_mirrors, strict=True))
        settings = [
            settings_on_disk(tree) if commit is None else settings_in_commit(tree, mirror)
            for tree, commit, mirror in zip((old, new), commits, own_mirrors, strict=True)
        ]
        # The tables of an unborn file are those of the other side, or what lies in the working tree.
        fallback = settings[1] or settings[0] or settings_on_disk(old)
        relative = tuple(_in_repository(path, repository, folder) for path in paths)
        yield Revisions(
            (old, new), (settings[0] or fallback, settings[1] or fallback), relative, repository.prefix.rstrip("/")
        )


def _sides(words: str) -> tuple[str, str | None]:
    """Return the revisions of both sides, None for the working tree."""
    match = _RANGE.fullmatch(words)
    if match is None:
        return words, None
    return match[1] or "HEAD", match[3] or "HEAD"


def _tree(repository: Repository, commit: Commit | None, mirror: str) -> Tree:
    if commit is not None:
        root = repository.root or mirror
        return commit_tree(repository, repository.entries(commit), commit.title, os.path.realpath(root))
    if not repository.root:
        raise NotFoundError("this repository has no working tree to compare with; name both revisions: OLD..NEW")
    return work_tree(repository, WORKING_TREE)


def _in_repository(path: str, repository: Repository, folder: str) -> str:
    """Return a path by its name from the top of the repository."""
    if os.path.isabs(path) and repository.root:
        name = os.path.relpath(os.path.realpath(path), os.path.realpath(repository.root))
    else:
        name = os.path.normpath(os.path.join(repository.prefix, path))
    if name.startswith(("/", "..")):
        raise KernlensError(f"{path} is outside of the repository at {repository.root or folder}; name paths in it")
    return "" if name == "." else name
