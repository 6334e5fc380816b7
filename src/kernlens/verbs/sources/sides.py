"""The trees of the two sides: folders of sources, or revisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kernlens.errors import KernlensError
from kernlens.verbs.sources.revisions import Revisions, opened_revisions
from kernlens.verbs.sources.settings import settings_on_disk
from kernlens.verbs.sources.spread import is_source_folder
from kernlens.verbs.sources.trees import folder_tree


@contextmanager
def opened_trees(git: str | None, folders: Sequence[str], paths: Sequence[str], repository: str) -> Iterator[Revisions]:
    """Give the trees of two revisions, or of folders, one for both sides if there is one, while the context lasts. Raises
    KernlensError for a side that is none, and what ``opened_revisions`` raises."""
    if git is not None:
        with opened_revisions(git, paths, repository) as revisions:
            yield revisions
        return
    for folder in folders:
        if not is_source_folder(folder):
            other = next(each for each in folders if each != folder)
            raise KernlensError(
                f"{other} is a folder of sources and {folder} is not: compare two such folders, or compile the sources first"
                " (kernlens compile SOURCES -o FILE.klens)"
            )
    trees = [folder_tree(folder) for folder in folders]
    settings = list(map(settings_on_disk, trees))
    yield Revisions((trees[0], trees[-1]), (settings[0], settings[-1]), tuple(paths), "")
