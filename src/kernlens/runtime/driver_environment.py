"""Where a driver runs: which Python process opens it, with which environment."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: The parts of the package that a worker needs; they import nothing but the standard library and each other.
WORKER_PARTS = ("errors.py", "model", "formats", "runtime")


@dataclass(frozen=True, slots=True)
class DriverEnvironment:
    """A way to start a worker.

    ``python`` is the command that starts Python where the driver is: by default this interpreter; for another
    toolchain's driver, this interpreter through that toolchain's loader, or the toolchain's own Python. ``environment``
    is added to the current one (a value of None takes a variable away). ``device`` is what errors call the device.
    ``root`` is the folder that ``python`` sees as the whole file system, if it is confined to one: the worker's modules
    are then copied into it for as long as the worker runs. ``folder`` is the worker's working folder (None: one of its
    own, removed after it).
    """

    device: str
    environment: Mapping[str, str | None] = field(default_factory=dict)
    python: tuple[str, ...] = (sys.executable,)
    root: Path | None = None
    folder: Path | None = None

    def full_environment(self, modules: str) -> dict[str, str]:
        """The worker's environment; ``modules`` is the folder of the package as the worker sees it."""
        # From its cache the driver takes binaries without their build logs.
        base = {**os.environ, "PYTHONPATH": modules, "NEO_CACHE_PERSISTENT": "0"}
        merged: dict[str, str | None] = {**base, **self.environment}
        return {name: value for name, value in merged.items() if value is not None}


def package_folder() -> Path:
    """The folder that holds the ``kernlens`` package that is running."""
    return Path(__file__).resolve().parent.parent.parent


def copy_worker(folder: Path) -> None:
    """Copy what a worker needs below ``folder``. The package's own ``__init__`` stays out: it names all the rest."""
    package = package_folder() / "kernlens"
    for part in WORKER_PARTS:
        source, target = package / part, folder / "kernlens" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
