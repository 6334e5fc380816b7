"""The device that a source is compiled for: the one that is named, or else this machine's GPU."""

from __future__ import annotations

import os
from collections.abc import Callable

from kernlens.errors import NoDeviceError

#: Devices that an error names, of the generations that are used most.
_SOME = ("dg2", "pvc", "tgllp")
#: The endings of names of sources.
_ENDINGS = (".cl", ".spv")


def target_of(source: str, device: str | None, tell: Callable[[str], None]) -> str:
    """Return the device to compile a source for. If it is this machine's GPU, ``tell`` gets a sentence on that. Raises
    NoDeviceError, with some names, if there is none, or several."""
    if device is not None:
        return device
    from kernlens.toolchain.gpus import devices_here

    here = devices_here()
    if len(here) == 1:
        tell(f"{source} is compiled for {here[0]}, the GPU of this machine; --device D names another")
        return here[0]
    what = "" if source.endswith(_ENDINGS) or os.path.isdir(source) else ", a text that is taken for OpenCL C"
    several = f"this machine has {len(here)} GPUs; " if here else ""
    *some, last = names = here or _SOME
    raise NoDeviceError(
        f"no target device for {source}{what}: {several}add --device D, such as {', '.join(some)} or {last}"
        " (kernlens devices lists all)",
        names,
    )
