"""The vendors' drivers that an OpenCL loader lists, by the variables that it reads, and how another loader lists the same.

Sources: ocl-icd's libOpenCL(7), section ENVIRONMENT; README.md of the Khronos OpenCL-ICD-Loader, "Table of Debug Environment
Variables". CUDA's loader is an older one of Khronos's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
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
#: In the Khronos loader since it takes layers. Since then it sorts names, too (compareDirElem of loader/linux/icd_linux.c).
_LAYERS = b"OPENCL_LAYERS"
#: All variables by which loaders choose and order vendors. A loader has the names of those that it reads among its bytes.
_VARIABLES = (VENDORS, FILENAMES, VENDOR_PATH, SORT)
_FOLDER = "/etc/OpenCL/vendors"
#: Bytes of a vendor's file that are read: it has the path of a library.
_MOST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class VendorRules:
    """The way in which a loader finds vendors: the ``variables`` that it reads, and whether it takes names for parts of
    OCL_ICD_VENDORS, without a slash between, as CUDA's does. ``needs_home``: it is that of pyopencl's wheels, which looks for
    vendors in PYOPENCL_HOME, too, and crashes without that variable. ``by_name``: it reads a folder's files in the order of
    their names, others in that in which the folder lists them."""

    variables: frozenset[str] = frozenset()
    joins_names: bool = False
    needs_home: bool = False
    by_name: bool = False

    @classmethod
    def of(cls, content: bytes) -> VendorRules:
        """Return the rules of the loader with this content."""
        variables = frozenset(name for name in _VARIABLES if name.encode() in content)
        is_khronos = SORT not in variables and _LAYERS in content
        return cls(variables, f"{_FOLDER}/\0".encode() in content, HOME.encode() in content, is_khronos)


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
        names = sorted(names) if rules.by_name else names
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
    ``before`` lists in this environment, in the same order; none if it does anyway. Vendors' files are made below ``folder``.

    ocl-icd sorts platforms by their devices. It must not where the other does not: applications take the first. Raises
    OSError if the files cannot be made.
    """
    changed: dict[str, str | None] = {}
    if SORT in after.variables - before.variables and SORT not in environment:
        changed[SORT] = "none"
    vendors = listed_vendors(before, environment)
    if vendors == listed_vendors(after, environment):
        return changed
    place = _vendors_folder(folder, vendors, by_name=after.by_name)
    # The variable that fewest loaders read: an application may load others.
    if VENDOR_PATH in after.variables and not environment.get(VENDORS):
        return changed | {VENDOR_PATH: f"{place}/"}
    changed |= {name: None for name in {FILENAMES, VENDOR_PATH} & after.variables if name in environment}
    return changed | {VENDORS: f"{place}/"}


def lists_the_same(rules: VendorRules, environment: Mapping[str, str], changed: Mapping[str, str | None]) -> bool:
    """Return whether a loader lists the same vendors in the same order with changed variables (None: unset)."""
    after = {**environment, **changed}
    set_after = {name: value for name, value in after.items() if value is not None}
    vendors = listed_vendors(rules, environment)
    if vendors != listed_vendors(rules, set_after):
        return False
    return SORT not in rules.variables or len(vendors) < 2 or environment.get(SORT) == set_after.get(SORT)


def _vendors_folder(folder: Path, vendors: Sequence[str], *, by_name: bool) -> Path:
    """Return a folder with a file for each vendor, which a loader reads in this order: by their names, or as the folder lists
    them, which the file system chooses. Raises OSError if it cannot be made."""
    place = (
        folder / f"vendors-{sha256(os.fsencode(chr(0).join(vendors))).hexdigest()[:16]}{'-named' if by_name else ''}"
    )
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in range(len(vendors)):
        (place / f"{number:03}.icd").touch()
    names = os.listdir(place)
    for name, library in zip(sorted(names) if by_name else names, vendors, strict=True):
        (place / name).write_bytes(os.fsencode(library) + b"\n")
    return place
