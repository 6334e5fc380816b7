"""The files of a folder that the user has named, as far as they are anything that kernlens reads."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kernlens.errors import KernlensError
from kernlens.loading.identify import LEAST, PTX, START, identify
from kernlens.loading.triton_cache import is_stage
from kernlens.toolchain.folders import paths_below
from kernlens.toolchain.sources.source_reading import PATH_LIMIT, open_beside


def known_files(path: str) -> Iterator[tuple[str, int]]:
    """Yield the path and the size of each file below a folder that begins like something known, or cannot be opened."""
    for inside in paths_below(path):
        try:
            if not os.path.isfile(inside) and len(os.fsencode(inside)) < PATH_LIMIT:
                continue
            with open_beside(inside, path) as file:
                start = memoryview(file.read(START))
                size = os.fstat(file.fileno()).st_size
        except (KernlensError, OSError):
            if not _is_host_file_elsewhere(inside):
                yield inside, 0  # Whoever opens it is told why.
            continue
        kind = identify(start, size) if len(start) >= LEAST else None
        if kind in (PTX, "spirv") and is_stage(inside):
            continue
        if kind not in (None, "host-elf"):
            yield inside, size


def _is_host_file_elsewhere(path: str) -> bool:
    """Return whether a link leads to a program or library, as far as that is known without opening it: in a folder these are
    passed over, and a virtual environment has links to the system's."""
    if not os.path.islink(path):
        return False
    try:
        return bool(os.stat(path).st_mode & 0o111) or ".so" in os.path.basename(path)
    except OSError:
        return False
