"""The native layers of this installation: libraries that a loader puts in front of drivers (``native/``)."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.errors import UnsupportedError
from kernlens.toolchain.packages import reinstall


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
