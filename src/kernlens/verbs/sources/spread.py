"""Folders of sources, where a command takes sources: each stands for the sources in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from kernlens.model.build import SOURCE_SUFFIX
from kernlens.toolchain.folders import paths_below


def is_source_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder that has sources to compile, and nothing that is compiled already."""
    if not has_sources(path):
        return False
    from kernlens.loading.folder_files import known_files

    return next(known_files(os.fspath(path)), None) is None


def has_sources(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder that has sources to compile."""
    return os.path.isdir(path) and any(name.endswith(SOURCE_SUFFIX) for name in paths_below(os.fspath(path)))


def spread(paths: Iterable[str | os.PathLike[str]], *, even_mixed: bool = False) -> list[str]:
    """Return the paths with the sources of each folder in place of the folder: all below it but those that others include,
    by name. A folder that has binaries too stays as it is, unless it is spread ``even_mixed``, where only sources count."""
    is_folder = has_sources if even_mixed else is_source_folder
    return [name for path in paths for name in (_sources_below(path) if is_folder(path) else [os.fspath(path)])]


def _sources_below(folder: str | os.PathLike[str]) -> Iterator[str]:
    from kernlens.verbs.sources.closures import Closures
    from kernlens.verbs.sources.scope import sources_of
    from kernlens.verbs.sources.settings import settings_on_disk
    from kernlens.verbs.sources.trees import folder_tree

    tree = folder_tree(os.fspath(folder))
    settings = settings_on_disk(tree)
    for name in sources_of(tree, (), lambda name: settings(name).options(""), "", Closures()):
        yield os.path.join(folder, name)
