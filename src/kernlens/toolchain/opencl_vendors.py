"""The vendors' drivers that an OpenCL loader lists, by the variables that it reads, and how another loader lists the same.

Sources: ocl-icd's libOpenCL(7), section ENVIRONMENT; README.md of the Khronos OpenCL-ICD-Loader, "Table of Debug Environment
Variables". CUDA's loader is an older one of Khronos's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from kernlens.dataclass import dataclass

VENDORS, FILENAMES, VENDOR_PATH, SORT = (
    "OCL_ICD_VENDORS",
    "OCL_ICD_FILENAMES",
    "OPENCL_VENDOR_PATH",
    "OCL_ICD_PLATFORM_SORT",
)
#: Names pyopencl's folder to the loader in its wheels. pyopencl sets it where nobody did.
HOME = "PYOPENCL_HOME"
#: All variables by which loaders choose and order vendors. A loader has the names of those that it reads among its bytes.
_VARIABLES = (VENDORS, FILENAMES, VENDOR_PATH, SORT)
_FOLDER = "/etc/OpenCL/vendors"
#: Bytes of a vendor's file that are read: it has the path of a library.
_MOST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class VendorRules:
    """The way in which a loader finds vendors: the ``variables`` that it reads, and whether it takes names for parts of
    OCL_ICD_VENDORS, without a slash between, as CUDA's does. ``needs_home``: it is that of pyopencl's wheels, which looks for
    vendors in PYOPENCL_HOME, too, and crashes without that variable."""

    variables: frozenset[str] = frozenset()
    joins_names: bool = False
    needs_home: bool = False

    @classmethod
    def of(cls, content: bytes) -> VendorRules:
        """Return the rules of the loader with this content."""
        variables = frozenset(name for name in _VARIABLES if name.encode() in content)
        return cls(variables, f"{_FOLDER}/\0".encode() in content, HOME.encode() in content)


def listed_vendors(rules: VendorRules, environment: Mapping[str, str]) -> list[str]:
    """Return the vendors' libraries, as a loader finds them named, each once."""
    reads = rules.variables
    vendors = environment.get(VENDORS, "") if VENDORS in reads else ""
    libraries = []
    if FILENAMES in reads:
        libraries += [name for name in environment.get(FILENAMES, "").split(":") if name]
    elif vendors and not os.path.isdir(vendors):  # ocl-icd takes a vendor's file or library there, too.
        return [_library(vendors)] if vendors.endswith(".icd") else [vendors]
    folder = vendors or (environment.get(VENDOR_PATH, "") if VENDOR_PATH in reads else "") or _FOLDER
    with contextlib.suppress(OSError):
        names = [name for name in os.listdir(folder) if name.endswith(".icd")]
        between = "" if rules.joins_names and folder != _FOLDER else "/"
        libraries += [_library(f"{folder}{between}{name}") for name in names]
    return list(dict.fromkeys(filter(None, libraries)))


def _library(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(_MOST_BYTES).split(b"\n")[0].strip())
    except OSError:
        return ""


def same_vendors(
    before: VendorRules, after: VendorRules, environment: Mapping[str, str], folder: Path
) -> dict[str, str | None]:
    """Return the variables (None: to be unset) with which the loader of the rules ``after`` lists the vendors that that of
    ``before`` lists in this environment; none if it does anyway. Vendors' files are made below ``folder``.

    ocl-icd sorts platforms by their devices. It must not where the other does not: applications take the first. Raises
    OSError if the files cannot be made.
    """
    changed: dict[str, str | None] = {}
    if SORT in after.variables - before.variables and SORT not in environment:
        changed[SORT] = "none"
    vendors = listed_vendors(before, environment)
    if set(vendors) == set(listed_vendors(after, environment)):
        return changed
    place = folder / f"vendors-{sha256(os.fsencode(chr(0).join(vendors))).hexdigest()[:16]}"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number, library in enumerate(vendors):
        (place / f"{number:03}.icd").write_bytes(os.fsencode(library) + b"\n")
    changed |= {name: None for name in (FILENAMES, VENDOR_PATH) if name in environment}
    return changed | {VENDORS: f"{place}/"}
