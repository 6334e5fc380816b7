"""The commands that bring what is missing to this machine: apt is asked which packages it has, as releases name them
differently."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable
from functools import cache
from typing import Any

from kernlens import log

#: A program or library -> patterns of the names of Debian packages that hold it, the best first.
_HOLDERS = {
    "chroot": "coreutils", "clinfo": "clinfo", "debootstrap": "debootstrap", "dpkg-deb": "dpkg", "gcc": "gcc",
    "iga64": r"libigc\d*-tools", "libLLVM": r"libllvm\d+", "libOpenCL.so.1": "ocl-icd-libopencl1", "libiga64": r"libigc\d+",
    "llvm-dis": r"llvm-\d+",
    "libze_intel_gpu.so.1": "libze-intel-gpu1 intel-opencl-icd", "libze_loader.so.1": "libze1", "objdump": "binutils",
    "ocloc": "intel-ocloc intel-opencl-icd", "pocl": "pocl-opencl-icd", "spirv-dis": "spirv-tools",
    "spirv-link": "spirv-tools", "spirv-val": "spirv-tools", "unshare": "util-linux",
}  # fmt: skip
#: What the toolchain that kernlens fetches brings too.
_OF_NEWEST = ("iga64", "libiga64", "libze_intel_gpu.so.1", "ocloc")
#: Debian's programs that have LLVM's version in their names are in packages of the same name, but for these.
_VERSIONED = re.compile(r"(clang|llvm-spirv|llvm)(?:-(?:dis|extract|mca))?-(\d+)")
#: Seconds that apt may take: it reads its lists in one.
_TIMEOUT = 60.0


def how_to_get(*missing: str) -> str:
    """Return the command that brings these programs or libraries to this machine, for the end of a sentence."""
    packages = [_package(name) for name in missing]
    of_newest = "kernlens toolchain add newest"
    is_of_newest = any(name in _OF_NEWEST for name in missing)
    if all(packages):
        alternative = f", or without root: {of_newest}" if is_of_newest else ""
        return f"apt install {' '.join(dict.fromkeys(package for package in packages if package))}{alternative}"
    if is_of_newest:
        return of_newest
    if shutil.which("apt-cache") is not None and not _packages():
        return f"apt update, which lists packages; then the one that holds {' and '.join(missing)}"
    return f"this system's package that holds {' and '.join(missing)}"


def is_packaged(name: str) -> bool:
    """Return whether a package is known that holds the program, of whatever name on this machine."""
    return name in _HOLDERS or _VERSIONED.fullmatch(name) is not None


def first_known(choices: Iterable[tuple[str, ...]]) -> tuple[str, ...] | None:
    """Return the first of these sets of programs whose packages apt has; None if there is none."""
    return next((names for names in choices if all(map(_package, names))), None)


def reinstall() -> str:
    """Return the command that builds and installs kernlens again, from where it was installed. Source: PEP 610."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution("kernlens").read_text("direct_url.json")
    except PackageNotFoundError:
        text = None
    origin: dict[str, Any] = (
        json.loads(text) if text else {"url": "kernlens"}
    )  # Without that file it came from an index.
    place = str(origin["url"]).removeprefix("file://")
    if place.startswith("/") and not os.path.exists(place):
        return "pip install --force-reinstall --no-deps FOLDER, the one of kernlens's sources"
    editable = "--editable " if origin.get("dir_info", {}).get("editable") else ""
    return f"pip install --force-reinstall --no-deps {editable}{place}"


def _package(name: str) -> str | None:
    versioned = _VERSIONED.fullmatch(name)
    patterns = f"{versioned[1]}-{versioned[2]}" if versioned else _HOLDERS.get(name, "")
    for pattern in patterns.split():
        packages = [package for package in _packages() if re.fullmatch(pattern, package)]
        if packages:  # Of several versions the newest.
            return max(packages, key=lambda package: [int(number) for number in re.findall(r"\d+", package)])
    return None


def _packages() -> tuple[str, ...]:
    """Return the names of the packages that apt has; none on a system without apt, or whose apt has no lists."""
    program = shutil.which("apt-cache")
    return _packages_of(program) if program is not None else ()


@cache
def _packages_of(program: str) -> tuple[str, ...]:
    import subprocess

    try:
        # Not by ``process.run``: what is missing may be missed within a confinement, which would show apt no lists.
        answer = subprocess.run(
            [program, "pkgnames"], capture_output=True, text=True, errors="replace", timeout=_TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        log.debug("toolchain", "apt does not say which packages it has: %s", error)
        return ()
    return tuple(answer.stdout.split())
