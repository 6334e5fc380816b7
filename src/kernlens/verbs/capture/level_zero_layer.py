"""The layer that records Level Zero, and answers on simulated devices what the driver's simulation refuses: the loader takes
it for the driver (``native/level_zero_layer``).

The loader (``source/loader/linux/driver_discovery_lin.cpp`` of oneapi-src/level-zero) opens the drivers that it knows, or
those that ``ZE_ENABLE_ALT_DRIVERS`` names in their place. So that names all that it would open, the layer for Intel's.
"""

from __future__ import annotations

import os
from pathlib import Path

from kernlens import log
from kernlens.toolchain.loaders.native_layers import LEVEL_ZERO_LAYER, find_layer
from kernlens.toolchain.toolchains import SYSTEM_LIBRARY_FOLDERS, Toolchain, library_folders

#: The driver in whose place the layer stands: it depends on this one.
DRIVER = "libze_intel_gpu.so.1"
_DRIVERS = "ZE_ENABLE_ALT_DRIVERS"
_LIBRARY_CACHE = Path("/etc/ld.so.cache")
#: What the loader knows (1.32), in its order.
_KNOWN = (DRIVER, "libze_intel_gpu_legacy1.so.1", "libze_intel_vpu.so.1", "libze_intel_npu.so.1")
#: With several drivers newer loaders take functions from a driver's handles, not from its tables; not so with 0.
_FROM_HANDLES, _SEVERAL = "ZE_ENABLE_LOADER_DRIVER_DDI_PATH", "ZE_ENABLE_LOADER_INTERCEPT"


def why_not_recorded() -> str:
    """Return why this installation records no Level Zero, with what to do, as the end of a sentence; empty if it does."""
    if find_layer(LEVEL_ZERO_LAYER) is not None:
        return ""
    return (
        "; Level Zero is not recorded, as this installation was built without the layer for it: kernlens doctor says how"
        " to get it"
    )


def turn_on_level_zero(environment: dict[str, str], chosen: Toolchain) -> None:
    """Have the Level Zero loader put the layer in front of Intel's driver, if that is there. Other drivers stay, and so
    do those that the application's environment names."""
    layer = find_layer(LEVEL_ZERO_LAYER)
    named = environment.get(_DRIVERS)
    folders = [folder for folder in environment.get("LD_LIBRARY_PATH", "").split(":") if folder]
    folders += [str(folder) for folder in (library_folders(chosen.root) if chosen.root is not None else ())]
    folders += SYSTEM_LIBRARY_FOLDERS
    drivers = named.split(",") if named is not None else [name for name in _KNOWN if _is_installed(name, folders)]
    if layer is None or DRIVER not in drivers:
        log.debug("verbs", "Level Zero is not recorded: the layer is %s, the drivers are %s", layer, drivers)
        return
    environment[_DRIVERS] = ",".join(str(layer) if name == DRIVER else name for name in drivers)
    if len(drivers) > 1 or environment.get(_SEVERAL, "0") != "0":
        environment.setdefault(_FROM_HANDLES, "0")


def _is_installed(name: str, folders: list[str]) -> bool:
    if any(os.path.exists(os.path.join(folder, name)) for folder in folders):
        return True
    try:
        # The dynamic loader's list of all libraries: names that end with a zero byte, among others.
        return os.fsencode(name) + b"\0" in _LIBRARY_CACHE.read_bytes()
    except OSError:
        return False
