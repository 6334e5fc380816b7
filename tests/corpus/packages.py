"""Debian packages, fetched and their kernels unpacked, without root: ``apt-get download`` and ``dpkg-deb``."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.corpus.manifest import CorpusProgram, Package, packages
from tests.environment import cache_folder


class CorpusError(Exception):
    """The corpus cannot be had on this machine; the message says what failed."""


def packages_folder() -> Path:
    """Return the folder below which each package is unpacked in a folder of its own name."""
    return cache_folder() / "packages"


def fetch(names: Iterable[str]) -> Path:
    """Unpack the named packages of the manifest, those that are not there yet; return ``packages_folder()``."""
    folder = packages_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        if not (folder / name).is_dir():
            _fetch(packages()[name], folder)
    return folder


def digest(program: CorpusProgram) -> str:
    """Return the SHA-256 of the program's sources as unpacked here; equals ``program.sha256`` if they are the manifest's."""
    folder = packages_folder()
    total = hashlib.sha256()
    for source in program.sources:
        total.update((folder / source).read_bytes())
    return total.hexdigest()


def _fetch(package: Package, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        archive = _download(package, Path(scratch))
        unpacked = Path(scratch) / "unpacked"
        unpacked.mkdir()
        # Only the kernels: all of piglit would take 2 GB.
        show = shlex.join(["dpkg-deb", "--fsys-tarfile", str(archive)])
        take = shlex.join(["tar", "-x", "-C", str(unpacked), "-f", "-", f"./{package.folder}"])
        _run(["sh", "-c", f"{show} | {take}"], Path(scratch))
        try:
            unpacked.rename(folder / package.name)
        except OSError:  # another process unpacked it at the same time: either copy will do
            if not (folder / package.name).is_dir():
                raise


def _download(package: Package, folder: Path) -> Path:
    """Download the manifest's version if the machine's apt has it, else the one it has: the sources' hash then tells."""
    if shutil.which("apt-get") is None:
        raise CorpusError("apt-get is not installed: the corpus comes from Debian packages")
    try:
        _download_as(f"{package.name}={package.version}", folder)
    except CorpusError:
        _download_as(package.name, folder)
    return next(folder.glob("*.deb"))


def _download_as(specification: str, folder: Path) -> None:
    # Without a sandbox user: apt's own cannot write into this folder, and warns of it.
    _run(["apt-get", "-qq", "-o", "APT::Sandbox::User=", "download", specification], folder)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise CorpusError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
