"""The files that an OpenCL driver's process opens beside the system's libraries: devices, and what vendors' files name."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from glob import escape, glob

from kernlens import log
from kernlens.toolchain.loaders.vendor_file import FILENAMES, HELD, VENDORS, leads_to_layer
from kernlens.toolchain.sources.source_reading import is_wide

#: What drivers ask the kernel: which processors and devices there are.
_KERNEL = ("/proc/cpuinfo", "/proc/meminfo", "/proc/devices", "/proc/driver/nvidia", "/sys")
#: The devices of all vendors, and that of WSL.
_DEVICES = ("/dev/dri", "/dev/kfd", "/dev/nvidia*", "/dev/dxg")
#: The variable of ocl-icd that names the folder of vendors' files, and that folder without it.
_VENDOR_PATH, _FOLDER = "OPENCL_VENDOR_PATH", "/etc/OpenCL/vendors"
#: Bytes of a vendor's file that are read: it has the path of a library.
_MOST_BYTES = 4096
#: A library's path, in what the dynamic loader prints of a program or of its cache.
_PATH = re.compile(r"(?:=> |^[ \t]+)(/.+?)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)
_SECONDS = 20


def driver_files(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the files and folders of drivers for a process with these variables, those alone that are there."""
    yield from filter(os.path.exists, _KERNEL)
    for pattern in _DEVICES:
        yield from sorted(glob(pattern))
    names = HELD if leads_to_layer(variables) else {name: name for name in HELD}
    vendors = variables.get(names[VENDORS]) or variables.get(_VENDOR_PATH) or _FOLDER
    yield from _folders(vendors, variables.get(names[FILENAMES], ""), variables.get("LD_LIBRARY_PATH", ""))


@cache
def _folders(vendors: str, filenames: str, library_path: str) -> tuple[str, ...]:
    """Return the folders of the libraries that vendors' files name, and of those that these need."""
    libraries = [name for name in filenames.split(":") if name]
    for file in sorted(glob(os.path.join(escape(vendors), "*.icd"))) if os.path.isdir(vendors) else [vendors]:
        libraries.append(_library(file) if file.endswith(".icd") else file)
    folders: dict[str, None] = {}
    for name in filter(None, libraries):
        path = name if "/" in name else _in_cache(name)
        for each in (path, *_needed(path, library_path)) if os.path.isfile(path) else ():
            # The name that the loader asks for, and the file that it leads to.
            folders |= dict.fromkeys(map(os.path.dirname, (_absolute(each), os.path.realpath(each))))
    return tuple(folder for folder in folders if not is_wide(folder))


def _library(path: str) -> str:
    with suppress(OSError), open(path, "rb") as file:
        return os.fsdecode(file.read(_MOST_BYTES).split(b"\n")[0].strip())
    return ""


def _needed(path: str, library_path: str) -> list[str]:
    """Return the libraries that a library needs, as the dynamic loader finds them; it runs nothing of them."""
    return _PATH.findall(_printed(["ldd", path], library_path))


def _in_cache(name: str) -> str:
    """Return the file of this name that the dynamic loader's cache has, "" if it has none."""
    lines = _printed(["/sbin/ldconfig", "-p"], "").splitlines()
    return next((line.partition(" => ")[2] for line in lines if line.split(" ")[0].strip() == name), "")


def _printed(words: list[str], library_path: str) -> str:
    environment = {"LC_ALL": "C", "PATH": os.defpath} | ({"LD_LIBRARY_PATH": library_path} if library_path else {})
    try:
        return subprocess.run(
            words, env=environment, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        log.debug("toolchain", "%s: %s", words[0], error)
        return ""


def _absolute(path: str) -> str:
    """Return the path without links in its folders."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
