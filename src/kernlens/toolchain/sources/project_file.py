"""The ``kernlens.toml`` that counts: where it is looked for, and its content (docs/project_file.md)."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import BinaryIO

from kernlens import log
from kernlens.errors import KernlensError
from kernlens.formats.budget_file import LIMIT, NAME, BudgetFile, read_budget_file
from kernlens.toolchain.sources.source_reading import is_wide, open_beside, open_regular

#: Names the file that counts for everything; ``off``: none does.
VARIABLE = "KERNLENS_PROJECT"
_OFF = "off"


def project_file(path: str | os.PathLike[str], root: str | None = None) -> str | None:
    """Return the ``kernlens.toml`` that counts for a file or folder: ``KERNLENS_PROJECT``, else the nearest one in the folder
    or above it, else that of the working folder; None if there is none.

    Above the folder the search ends at what holds everybody's files (a home folder, ``/tmp``), and in the tree ``root`` at
    that, without the variable and the working folder.
    """
    if root is None and os.environ.get(VARIABLE):
        return own_project_file()
    own = os.fspath(path) if os.path.isdir(path) else os.path.dirname(path)
    folder, top = os.path.abspath(own), root and os.path.abspath(root)
    if top and not is_in(folder, top):
        return None
    beside = os.path.join(own, NAME)
    if os.path.lexists(beside):
        return beside
    passed = []
    while folder not in (top, os.path.dirname(folder)):
        folder = os.path.dirname(folder)
        passed.append(folder)
        file = os.path.join(folder, NAME)
        if os.path.lexists(file):
            # A file that somebody has put into /tmp is none of this project; nor is what a confined command cannot open.
            if top is None and (any(map(is_wide, passed)) or not _opens(file)):
                log.debug("toolchain", "%s is passed over", file)
                break
            return short(file)
    return own_project_file() if top is None else None


def _opens(path: str) -> bool:
    try:
        _opened(path).close()
    except KernlensError:
        return os.path.islink(path)  # Whoever reads it is told why not.
    return True


def own_project_file() -> str | None:
    """Return the ``kernlens.toml`` of the working folder, or the file in its place that ``KERNLENS_PROJECT`` names; None if
    there is none."""
    variable = os.environ.get(VARIABLE)
    if variable:
        return None if variable == _OFF else variable
    return NAME if os.path.lexists(NAME) else None


def read_project(path: str) -> BudgetFile:
    """Read a ``kernlens.toml``. Raises what ``read_budget_file`` raises, and NotFoundError if there is none; UnsupportedError
    for one of that name which is a link out of its folder, as it may have come with that."""
    with _opened(path) as file:
        return _parsed(file.read(LIMIT + 1), path)


def _opened(path: str) -> BinaryIO:
    is_by_rule = os.path.islink(path) and os.path.basename(path) == NAME and path != os.environ.get(VARIABLE)
    return open_beside(path, os.path.dirname(path)) if is_by_rule else open_regular(path, "project file")


#: One file is for all sources of a sweep.
@lru_cache(maxsize=8)
def _parsed(content: bytes, path: str) -> BudgetFile:
    return read_budget_file(content, path)


def is_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder or below it; both are absolute."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def short(path: str) -> str:
    """Return a path as a user would write it: relative to the working folder if it is there."""
    folder = os.getcwd()
    return os.path.relpath(path, folder) if is_in(path, folder) else path
