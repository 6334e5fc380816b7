"""The roots that are registered as toolchains: their names and folders, which is all that finding a disassembler needs."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING

from kernlens import log
from kernlens.errors import NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

#: The name that ``toolchain add newest`` registers, and that the root KERNLENS_NEWEST_ROOT gets.
NEWEST = "newest"
#: A toolchain's name is that of a folder that is not hidden.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


def toolchains_folder() -> Path:
    """Return the folder of registered roots: KERNLENS_TOOLCHAINS, else ``kernlens/toolchains`` in the user's data folder."""
    from pathlib import Path

    chosen = os.environ.get("KERNLENS_TOOLCHAINS")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_DATA_HOME")
    if not base or not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(base) / "kernlens" / "toolchains"


def roots() -> dict[str, Path]:
    """Return registered roots by name, without broken links and half-built folders."""
    from pathlib import Path

    folders: dict[str, Path] = {}
    folder = toolchains_folder()
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        log.debug("toolchain", "no toolchain is registered in %s: %s", folder, error.strerror)
        entries = []
    for entry in entries:
        if NAME.fullmatch(entry.name) and entry.is_dir():
            folders[entry.name] = entry.resolve()
        else:
            log.debug("toolchain", "%s is no toolchain: no folder, or hidden", entry)
    named = os.environ.get("KERNLENS_NEWEST_ROOT")
    if named and NEWEST in folders:
        log.debug("toolchain", "KERNLENS_NEWEST_ROOT is passed over: %s is registered as %s", NEWEST, folders[NEWEST])
    elif named:
        root = Path(named)
        if not root.is_dir():
            raise NotFoundError(f"KERNLENS_NEWEST_ROOT names {named}, which is not a folder; correct or unset it")
        folders[NEWEST] = root.resolve()
    return folders


@cache
def register_roots() -> None:
    """Let instructions be decoded by the libiga64 of every root too: the compiler's own may be there."""
    from kernlens.isa.intel.iga_library import search_also

    search_also(_paths)


@cache
def register_llvm_roots() -> None:
    """Let instructions of other families be decoded by the libLLVM of every root too."""
    from kernlens.isa.llvm.llvm_libraries import search_llvm_also

    search_llvm_also(_paths)


def _paths() -> dict[str, str]:
    return {name: str(root) for name, root in roots().items()}
