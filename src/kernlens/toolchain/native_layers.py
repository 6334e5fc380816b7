"""The native layers of this installation: libraries that a loader puts in front of drivers (``native/``)."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.errors import UnsupportedError
from kernlens.toolchain.packages import reinstall
from kernlens.toolchain.toolchains import SYSTEM_LIBRARY_FOLDERS


@dataclass(frozen=True, slots=True)
class NativeLayer:
    """A layer: the interface that it is for, its library's file name, and the Debian package of the headers that build it."""

    interface: str
    file: str
    headers: str

    @property
    def fix(self) -> str:
        """The command that brings the layer to an installation that was built without it."""
        return f"apt install gcc {self.headers} && {reinstall()}"


OPENCL_LAYER = NativeLayer("OpenCL", "libkernlens_opencl_layer.so", "opencl-headers")
LEVEL_ZERO_LAYER = NativeLayer("Level Zero", "libkernlens_level_zero_layer.so", "libc6-dev")

#: What the OpenCL layer of every kernlens answers when a loader asks for its name (CL_LAYER_NAME).
_OPENCL_LAYER_NAME = b"kernlens program snapshots\0"


def find_layer(layer: NativeLayer) -> Path | None:
    """Return the layer's library; None if it was not built: it is on Linux alone, where its interface's headers are."""
    library = Path(str(files("kernlens").joinpath("native", layer.file)))
    return library if library.is_file() else None


def needed_layer(layer: NativeLayer) -> Path:
    """Return the layer's library. Raises UnsupportedError, which says how to get it, if it was not built."""
    library = find_layer(layer)
    if library is None:
        raise UnsupportedError(
            f"this installation has no {layer.interface} layer: it is built on Linux, where the {layer.interface} headers"
            f" are; then {layer.fix}"
        )
    return library


def is_opencl_layer(entry: str, environment: Mapping[str, str]) -> bool:
    """Return whether an entry of OPENCL_LAYERS leads to the OpenCL layer of a kernlens: this installation's or
    another's, under any name. Like the dynamic loader's, a name without a slash is one in a folder of libraries."""
    folders = [""]
    if "/" not in entry:
        folders = [*filter(None, environment.get("LD_LIBRARY_PATH", "").split(":")), *SYSTEM_LIBRARY_FOLDERS]
    path = next((path for folder in folders if os.path.isfile(path := os.path.join(folder, entry))), None)
    try:
        if path is None or os.path.getsize(path) == 0:
            return False
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(_OPENCL_LAYER_NAME) >= 0
    except OSError:
        return False
