"""The process that opens a driver: its Python and its environment variables."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from kernlens.dataclass import dataclass, field

#: The parts of the package that a worker needs. They import nothing but the standard library and each other.
WORKER_PARTS = ("errors.py", "dataclass.py", "model", "formats", "runtime")
#: The variables that each worker gets anew.
WORKER_VARIABLES = ("PYTHONPATH", "NEO_CACHE_PERSISTENT")


@dataclass(frozen=True, slots=True)
class DriverEnvironment:
    """The way to start a worker.

    ``device`` is what errors call the device. ``variables`` are added to this process's environment variables; a value
    of None removes one. ``python`` is the command that starts Python beside the driver: by default this interpreter;
    for another toolchain's driver, this interpreter through that toolchain's loader, or the toolchain's Python.
    ``root`` is the folder that ``python`` sees as the whole file system, if it is confined to one: the worker's modules
    are then copied into it for as long as the worker runs. ``folder`` is the worker's working folder (None: a temporary
    one).
    """

    device: str
    variables: Mapping[str, str | None] = field(default_factory=dict)
    python: tuple[str, ...] = (sys.executable,)
    root: Path | None = None
    folder: Path | None = None

    def full_environment(self, modules: str) -> dict[str, str]:
        """Return the worker's environment variables; ``modules`` is the folder of the package as the worker sees it."""
        # A binary that the driver takes from its cache comes without a build log.
        base = {**os.environ, "PYTHONPATH": modules, "NEO_CACHE_PERSISTENT": "0"}
        merged: dict[str, str | None] = {**base, **self.variables}
        return {name: value for name, value in merged.items() if value is not None}


def package_folder() -> Path:
    """Return the folder that holds the running ``kernlens`` package."""
    return Path(__file__).resolve().parent.parent.parent


def copy_worker(folder: Path) -> None:
    """Copy what a worker needs below ``folder``, without the package's ``__init__``, which names all the rest."""
    package = package_folder() / "kernlens"
    for part in WORKER_PARTS:
        source, target = package / part, folder / "kernlens" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
