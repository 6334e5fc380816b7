"""The OpenCL loaders of a machine: which of them know layers, and which of those can be put in front of one that does not.

A loader that knows layers reads the variable OPENCL_LAYERS, so it has that name among its bytes (ocl-icd from 2.3.0 on, the
Khronos loader from 2020.12 on). CUDA's does not.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.errors import FormatError
from kernlens.formats.elf.dynamic import read_dynamic
from kernlens.toolchain.library_search import default_libraries, file_content
from kernlens.toolchain.opencl_vendors import VendorRules
from kernlens.toolchain.registered import roots

#: The loader's name to the dynamic loader, and the variable by which loaders take layers.
LOADER, LAYERS = "libOpenCL.so.1", "OPENCL_LAYERS"
#: Names of loaders: Python's packages put a checksum into theirs.
LOADER_NAME = re.compile(r"libOpenCL(?:-[0-9a-f]+)?\.so(?:\.\d+)*")
#: Where Python packages keep the libraries that they bring along, below a folder of packages.
_BUNDLED = ("*.libs/libOpenCL*.so*", "*/.libs/libOpenCL*.so*")
_GLIBC = re.compile(rb"\0GLIBC_2\.(\d+)(?=\0)")


@dataclass(frozen=True, slots=True)
class Loader:
    """An OpenCL loader: whether it takes layers, what it is called, and how it finds ``vendors``.
    ``machine`` is the header's number, None of a file that is no 64-bit library; ``glibc`` the least 2.x that it needs."""

    path: str
    takes_layers: bool
    vendors: VendorRules
    soname: str
    machine: int | None
    glibc: int


def read_loader(path: str) -> Loader | None:
    """Return the loader in a file; None if that cannot be read."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return _read_loader(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _read_loader(path: str, modified: int, size: int) -> Loader | None:
    # ``modified`` and ``size`` are parts of the cache's key, so a replaced loader is read again.
    content = file_content(path)
    if content is None:
        return None
    whole = bytes(content)
    try:
        linking = read_dynamic(content)
        soname, machine = linking.soname, linking.machine
    except FormatError:
        soname, machine = "", None
    return Loader(
        path,
        takes_layers=LAYERS.encode() in whole,
        vendors=VendorRules.of(whole),
        soname=soname,
        machine=machine,
        glibc=max((int(number) for number in _GLIBC.findall(whole)), default=0),
    )


def loaders_of_python(program: str, environment: Mapping[str, str]) -> list[str]:
    """Return the loaders that packages brought into the Python that ``program`` is the interpreter of: into its own folder,
    the user's and those of PYTHONPATH."""
    prefixes = (Path(program).absolute().parent.parent, Path(environment.get("HOME", "/"), ".local"))
    own = (folder for prefix in prefixes for folder in prefix.glob("lib/python3*/*-packages"))
    named = (Path(folder) for folder in environment.get("PYTHONPATH", "").split(":") if os.path.isabs(folder))
    return list(dict.fromkeys(_bundled((*own, *named))))


def _bundled(folders: Iterable[Path]) -> list[str]:
    paths = [str(path) for folder in folders for pattern in _BUNDLED for path in sorted(folder.glob(pattern))]
    return [path for path in paths if LOADER_NAME.fullmatch(os.path.basename(path))]


def fronts(machine: int, python: str | None, environment: Mapping[str, str]) -> Iterator[Loader]:
    """Yield the loaders of this machine that take layers and that a program for ``machine`` can load, the best first: the
    system's, those of the Python packages beside kernlens and beside the interpreter ``python``, those of toolchains."""
    for path in _candidates(python, environment):
        loader = read_loader(path)
        if loader is not None and loader.takes_layers and loader.machine == machine and loader.glibc <= _own_glibc():
            yield loader


def _candidates(python: str | None, environment: Mapping[str, str]) -> Iterator[str]:
    yield from default_libraries(LOADER)
    # Packages like intel-opencl-rt put theirs among the environment's libraries.
    yield os.path.join(sys.prefix, "lib", LOADER)
    yield from _bundled(Path(folder) for folder in sys.path if folder and os.path.isdir(folder))
    if python is not None:
        yield str(Path(python).absolute().parent.parent / "lib" / LOADER)
        yield from loaders_of_python(python, environment)
    for root in roots().values():
        yield from map(str, sorted(root.glob(f"usr/lib/*-linux-gnu/{LOADER}")))


def _own_glibc() -> int:
    """Return x of the machine's glibc 2.x; 0 if it has none."""
    with contextlib.suppress(ValueError, OSError, AttributeError):
        match = re.fullmatch(r"glibc 2\.(\d+).*", os.confstr("CS_GNU_LIBC_VERSION") or "")
        return int(match[1]) if match else 0
    return 0
