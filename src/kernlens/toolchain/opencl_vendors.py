"""The vendors' drivers that an OpenCL loader lists, by the variables that it reads, and how another loader lists the same.

Sources: ocl-icd's libOpenCL(7), section ENVIRONMENT; README.md of the Khronos OpenCL-ICD-Loader, "Table of Debug Environment
Variables". CUDA's loader is an older one of Khronos's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Set
from hashlib import sha256
from pathlib import Path

VENDORS, FILENAMES, VENDOR_PATH, SORT = (
    "OCL_ICD_VENDORS",
    "OCL_ICD_FILENAMES",
    "OPENCL_VENDOR_PATH",
    "OCL_ICD_PLATFORM_SORT",
)
#: All variables by which loaders choose and order vendors. A loader has the names of those that it reads among its bytes.
VARIABLES = (VENDORS, FILENAMES, VENDOR_PATH, SORT)
_FOLDER = "/etc/OpenCL/vendors"
#: Bytes of a vendor's file that are read: it has the path of a library.
_MOST_BYTES = 4096


def listed_vendors(reads: Set[str], environment: Mapping[str, str]) -> list[str]:
    """Return the vendors' libraries, as a loader that reads these variables finds them named, each once."""
    vendors = environment.get(VENDORS, "") if VENDORS in reads else ""
    libraries = []
    if FILENAMES in reads:
        libraries += [name for name in environment.get(FILENAMES, "").split(":") if name]
    elif vendors and not os.path.isdir(vendors):  # ocl-icd takes a vendor's file or library there, too.
        return [_library(vendors)] if vendors.endswith(".icd") else [vendors]
    folder = vendors or (environment.get(VENDOR_PATH, "") if VENDOR_PATH in reads else "") or _FOLDER
    with contextlib.suppress(OSError):
        libraries += [_library(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".icd")]
    return list(dict.fromkeys(filter(None, libraries)))


def _library(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(_MOST_BYTES).split(b"\n")[0].strip())
    except OSError:
        return ""


def same_vendors(
    before: Set[str], after: Set[str], environment: Mapping[str, str], folder: Path
) -> dict[str, str | None]:
    """Return the variables (None: to be unset) with which a loader that reads ``after`` lists the vendors that one that
    reads ``before`` lists in this environment; none if it does anyway. Vendors' files are made below ``folder``.

    ocl-icd sorts platforms by their devices. It must not where the other does not: applications take the first. Raises
    OSError if the files cannot be made.
    """
    changed: dict[str, str | None] = {}
    if SORT in after and SORT not in before and SORT not in environment:
        changed[SORT] = "none"
    vendors = listed_vendors(before, environment)
    if set(vendors) == set(listed_vendors(after, environment)):
        return changed
    place = folder / f"vendors-{sha256(os.fsencode(chr(0).join(vendors))).hexdigest()[:16]}"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number, library in enumerate(vendors):
        (place / f"{number:03}.icd").write_bytes(os.fsencode(library) + b"\n")
    changed |= {name: None for name in (FILENAMES, VENDOR_PATH) if name in environment}
    return changed | {VENDORS: str(place)}
