"""The files that an OpenCL driver's process opens beside the system's libraries: devices, and what vendors' files name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from glob import glob

from kernlens.toolchain.library_search import LibrarySearch, read_linked
from kernlens.toolchain.opencl_vendors import FILENAMES, VENDOR_PATH, VENDORS, VendorRules, listed_vendors
from kernlens.toolchain.source_reading import is_wide

#: What drivers ask the kernel: which processors and devices there are.
_KERNEL = ("/proc/cpuinfo", "/proc/meminfo", "/proc/devices", "/proc/driver/nvidia", "/sys")
#: The devices of all vendors, and that of WSL.
_DEVICES = ("/dev/dri", "/dev/kfd", "/dev/nvidia*", "/dev/dxg")
#: Every variable that some loader reads.
_RULES = VendorRules(frozenset({VENDORS, FILENAMES, VENDOR_PATH}))


def driver_files(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the files and folders of drivers for a process with these variables, those alone that are there."""
    yield from filter(os.path.exists, _KERNEL)
    for pattern in _DEVICES:
        yield from sorted(glob(pattern))
    names = (*_RULES.variables, "LD_LIBRARY_PATH")
    yield from _vendors_folders(tuple((name, variables[name]) for name in names if name in variables))


@cache
def _vendors_folders(variables: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return the folders of the libraries that vendors' files name, and of those that these need."""
    environment = dict(variables)
    search = LibrarySearch(environment)
    folders: dict[str, None] = {}
    for name in listed_vendors(_RULES, environment):
        place = search.find(name, None)
        library = read_linked(place[0]) if place is not None else None
        if library is None:
            continue
        needed = [there[0] for _, _, there in search.libraries(library) if there is not None]
        for path in (library.path, *needed):
            # The name that the loader asks for, and the file that it leads to.
            folders |= dict.fromkeys(map(os.path.dirname, (_absolute(path), os.path.realpath(path))))
    return tuple(folder for folder in folders if not is_wide(folder))


def _absolute(path: str) -> str:
    """Return the path without links in its folders."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
