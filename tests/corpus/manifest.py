"""The corpus's manifest: which real OpenCL programs of which Debian packages, and how each is compiled.

The sources themselves are not part of this repository: ``packages.py`` fetches them with apt.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

MANIFEST = Path(__file__).with_name("manifest.toml")

#: The products for which every program compiles with Debian 12's ocloc.
DEVICES = ("skl", "icllp", "tgllp", "dg2", "pvc")

#: Products for the newest compiler: two that both compilers know, two of Xe2 and one of Xe3, which only it knows.
#: Not pvc: there it refuses every program that takes images.
NEWEST_DEVICES = ("tgllp", "dg2", "bmg", "lnl", "ptl")


@dataclass(frozen=True)
class Package:
    """A Debian package. ``folder`` holds its kernels, ``prelude`` stands before each of its programs' sources.

    ``empty_headers`` are includes that the package's own host code removes before it compiles.
    """

    name: str
    version: str
    folder: str
    prelude: str = ""
    empty_headers: tuple[str, ...] = ()


@dataclass(frozen=True)
class CorpusProgram:
    """One program. ``sources`` are paths below the folder of all extracted packages, included one after another.

    ``sha256`` is the hash of the sources' bytes, concatenated.
    """

    name: str
    package: Package
    sources: tuple[str, ...]
    options: str
    sha256: str

    @property
    def packages(self) -> tuple[str, ...]:
        """The names of all packages that the sources come from."""
        return tuple(dict.fromkeys(source.split("/", 1)[0] for source in self.sources))


@cache
def packages() -> dict[str, Package]:
    """Return the manifest's packages by name."""
    table = tomllib.loads(MANIFEST.read_text())["packages"]
    return {name: _package(name, fields) for name, fields in table.items()}


@cache
def programs() -> tuple[CorpusProgram, ...]:
    """Return the manifest's programs, darktable's first."""
    return tuple(_program(entry) for entry in tomllib.loads(MANIFEST.read_text())["programs"])


def program(name: str) -> CorpusProgram:
    """Return the program of that name, e.g. ``darktable/nlmeans``."""
    return next(candidate for candidate in programs() if candidate.name == name)


def _package(name: str, fields: dict[str, Any]) -> Package:
    headers = tuple(fields.pop("empty_headers", ()))
    return Package(name=name, empty_headers=headers, **fields)


def _program(entry: dict[str, Any]) -> CorpusProgram:
    home = packages()[entry["package"]]
    return CorpusProgram(
        name=entry["name"],
        package=home,
        sources=tuple(_source_path(source, home) for source in entry["sources"]),
        options=entry.get("options", ""),
        sha256=entry["sha256"],
    )


def _source_path(source: str, home: Package) -> str:
    """Return the path of a source: ``FILE`` is in the program's own package, ``PACKAGE:FILE`` in another one."""
    owner, _, file = source.rpartition(":")
    package = packages()[owner] if owner else home
    return f"{package.name}/{package.folder}/{file}"
