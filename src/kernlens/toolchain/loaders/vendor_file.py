"""The OpenCL layer in front of drivers: loaders are led to a vendor's file that names it, and it opens the drivers that they
would have opened (``native/opencl_layer/vendor``).

Every loader takes it so, also one that knows no layers or is linked into a program. What the variables held before stands in
others, which the layer reads.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

#: The variables by which loaders choose vendors (Khronos's and ocl-icd), and those that have what these held.
VENDORS, FILENAMES = "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"
HELD = {VENDORS: "KERNLENS_OCL_ICD_VENDORS", FILENAMES: "KERNLENS_OCL_ICD_FILENAMES"}
_FILE = "kernlens.icd"


def leads_to_layer(environment: Mapping[str, str]) -> bool:
    """Return whether loaders are led to the layer of a kernlens, this or another, already."""
    folder = environment.get(VENDORS, "")
    return bool(folder) and os.path.isfile(os.path.join(folder, _FILE))


def led_to_layer(environment: Mapping[str, str], layer: Path, place: Path) -> dict[str, str | None]:
    """Return the variables (None: to be unset) with which an application's loaders come to the layer.

    The vendor's file stays in the user's cache folder, as programs may run on for long; where that cannot be written it is
    below ``place``. Raises OSError if it cannot be made.
    """
    try:
        folder = _folder(_cache_folder(), layer)
    except OSError:
        folder = _folder(place, layer)
    led: dict[str, str | None] = {VENDORS: f"{folder}/"}  # CUDA's loader puts no slash behind it.
    if leads_to_layer(environment):
        return led
    led |= {held: environment.get(name) for name, held in HELD.items()} | {FILENAMES: None}
    return {name: value for name, value in led.items() if value is not None or name in environment}


def led_elsewhere(environment: Mapping[str, str]) -> dict[str, str | None]:
    """Return the variables with which loaders are led where they were before; none if they were never led to the layer."""
    if not leads_to_layer(environment):
        return {}
    return {name: environment.get(held) for name, held in HELD.items()} | dict.fromkeys(HELD.values())


def behind_layer(environment: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """Return variables that lead loaders to drivers as those of an environment whose loaders may be led to the layer."""
    held = HELD if leads_to_layer(environment) else {}
    return {held.get(name, name): value for name, value in variables.items()}


def change(environment: dict[str, str], changes: Mapping[str, str | None]) -> None:
    """Set variables, and unset those that are to be None."""
    for name, value in changes.items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    if not base or not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "kernlens" / "opencl-vendors"


def _folder(base: Path, layer: Path) -> Path:
    """Make a folder that holds nothing but the vendor's file, and return it. Raises OSError if it cannot be made, or is
    somebody else's."""
    content = os.fsencode(layer) + b"\n"
    folder = base / sha256(content).hexdigest()[:16]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise PermissionError(f"{folder} could be written by somebody else")
    file = folder / _FILE
    if not file.is_file() or file.read_bytes() != content:
        temporary = folder / f"{_FILE}.{os.getpid()}"
        temporary.write_bytes(content)
        temporary.replace(file)
    return folder
