"""What several tests need and nobody changes, made once: for all processes of a run, or until what it is made of changes."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.environment import cache_folder
from tests.tree import ROOT


def once(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], object]) -> Path:
    """Return the folder of this name, which ``fill`` fills once for all processes of a test run: the first that asks does it,
    the others wait. A fixture that modules import is one of each of them, whatever its scope."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, done = base / name, base / f"{name}.done"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # what a failure left
            folder.mkdir()
            fill(folder)
            done.touch()
    return folder


def folder_kept_by_content(name: str, inputs: Iterable[str | Path], fill: Callable[[Path], object]) -> Path:
    """Return the folder that ``fill`` fills, from the tests' cache as long as all inputs are the same: texts, and files, which
    count by their paths in the tree and contents. What fails is not kept."""
    digest = hashlib.sha256()
    for each in inputs:
        text, content = (os.path.relpath(each, ROOT), each.read_bytes()) if isinstance(each, Path) else (each, b"")
        digest.update(f"{text}\0{len(content)}\0".encode() + content)
    folder = cache_folder() / "made" / f"{name}-{digest.hexdigest()[:16]}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            unfinished = Path(scratch) / "made"
            unfinished.mkdir()
            fill(unfinished)
            try:
                unfinished.rename(folder)
            except OSError:  # another process made the same at the same time
                if not folder.is_dir():
                    raise
    return folder
