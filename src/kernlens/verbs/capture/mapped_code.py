"""The code that an application's processes have loaded: OpenCL loaders and drivers, and what other interfaces are used by."""

from __future__ import annotations

import mmap
import os
import re
from functools import lru_cache
from pathlib import Path

#: A line of /proc/PID/maps with a file of code, and the most processes that are looked at.
_MAPPED = re.compile(rb"^\S+ r-x\S* .*?(/[^\n]*)$", re.MULTILINE)
_MOST_PROCESSES = 4096
#: Names of OpenCL loaders: Python's packages put a checksum into theirs.
_LOADER_NAME = re.compile(r"libOpenCL(?:-[0-9a-f]+)?\.so(?:\.\d+)*")
#: What the code of every OpenCL loader says, where it looks for drivers; of those that can be led elsewhere; of every driver.
_FOLDER, _VARIABLE, _ENTRY = b"/OpenCL/vendors\0", b"OCL_ICD_VENDORS\0", b"clIcdGetPlatformIDsKHR\0"
#: Larger files are neither.
_MOST_BYTES = 1 << 28
#: The libraries of interfaces of which kernlens records nothing, or nothing of what goes past Intel's driver.
_INTERFACES = {
    "libcuda.so": "CUDA", "libamdhip64.so": "HIP", "libvulkan.so": "Vulkan", "libze_loader.so": "Level Zero"
}  # fmt: skip


def mapped_code(process: int) -> list[frozenset[str]]:
    """Return the files of code that a process and its descendants have mapped now: a set for each process."""
    waiting, mapped = [process], []
    for each in waiting:
        if len(waiting) > _MOST_PROCESSES:
            break
        folder = Path("/proc", str(each))
        try:
            for task in (folder / "task").iterdir():
                waiting += [int(word) for word in (task / "children").read_text().split()]
            maps = (folder / "maps").read_bytes()
        except (OSError, ValueError):
            continue  # It has ended, or is somebody else's.
        mapped.append(frozenset(os.fsdecode(match[1]) for match in _MAPPED.finditer(maps)))
    return mapped


def is_named_loader(path: str) -> bool:
    """Return whether a library has the name of an OpenCL loader."""
    return _LOADER_NAME.fullmatch(os.path.basename(path)) is not None


def is_loader(path: str) -> bool:
    """Return whether a program or library is an OpenCL loader, or has one linked in."""
    return _words(path)[0]


def can_be_led(path: str) -> bool:
    """Return whether a loader reads the variable that leads it to other vendors."""
    return _words(path)[1]


def is_driver(path: str) -> bool:
    """Return whether a library is an OpenCL driver."""
    is_loader, _, has_entry = _words(path)
    return has_entry and not is_loader


def interface_of(path: str) -> str | None:
    """Return the interface to GPUs that a library is the way to, beside OpenCL; None if it is none's."""
    name = os.path.basename(path)
    return next((title for start, title in _INTERFACES.items() if name.startswith(start)), None)


@lru_cache(maxsize=4096)
def _words(path: str) -> tuple[bool, bool, bool]:
    """Return what of ``_FOLDER``, ``_VARIABLE`` and ``_ENTRY`` is in a file."""
    try:
        if not 0 < os.path.getsize(path) < _MOST_BYTES:
            return False, False, False
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            # CUDA's loader has a slash behind the folder.
            folder = content.find(_FOLDER) >= 0 or content.find(_FOLDER.replace(b"\0", b"/\0")) >= 0
            return folder, content.find(_VARIABLE) >= 0, content.find(_ENTRY) >= 0
    except (OSError, ValueError):
        return False, False, False
