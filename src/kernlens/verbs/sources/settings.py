"""The build options of the sources of a tree: those that its own ``kernlens.toml`` has, added to what the user says.

A revision is compiled with its own file, as with its own headers: a change of the options is a part of what a commit changes. A
revision without one gets that of the other side, as projects have older commits than files of options.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kernlens.errors import OutputError
from kernlens.formats.budget_file import NAME
from kernlens.toolchain.folders import make_folder
from kernlens.toolchain.sources.project_file import VARIABLE
from kernlens.toolchain.sources.source_settings import SourceSettings, settings_for
from kernlens.verbs.sources.trees import Tree

#: The settings of a source, by its name in its tree.
SettingsOf = Callable[[str], SourceSettings]


def settings_on_disk(tree: Tree) -> SettingsOf:
    """Return what gives the settings of the sources of a folder, as for any source in it."""

    def of(name: str) -> SourceSettings:
        settings = settings_for(os.path.join(tree.root, name))
        return replace(settings, include=tuple(map(os.path.abspath, settings.include)))

    return of


def settings_in_commit(tree: Tree, mirror: str) -> SettingsOf | None:
    """Return what gives the settings of the sources of a commit, by files of its own, which are written into the empty folder
    ``mirror``; None if it has none, or the user has named another. Raises OutputError if nothing can be written."""
    files = [name for name in tree.by_base.get(NAME, ()) if tree.find(name)]
    if not files or os.environ.get(VARIABLE):
        return None
    try:
        for folder in {posixpath.dirname(name) for name in tree.names}:
            make_folder(Path(mirror, folder))
        for name in files:
            number = tree.find(name)
            assert number is not None
            Path(mirror, name).write_bytes(tree.read(number))
    except OSError as error:
        raise OutputError(f"the files of a revision cannot be written below {mirror}: {error.strerror}") from error

    def of(name: str) -> SourceSettings:
        settings = settings_for(os.path.join(mirror, name), mirror)
        # Called as they are where the repository lies, which the folders of other options are, too.
        include = [os.path.join(tree.root, os.path.relpath(os.path.abspath(each), mirror)) for each in settings.include]
        return replace(settings, include=tuple(map(os.path.normpath, include)))

    return of
