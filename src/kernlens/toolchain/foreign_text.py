"""The compile of text that somebody else may have written: what compiles it can open nothing that it is not shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kernlens.errors import UnsupportedError
from kernlens.runtime.file_limit import FILE_SIZE_LIMIT
from kernlens.toolchain.confinement import Confinement, Limits, confinement
from kernlens.toolchain.process import OUTPUT_LIMIT, temporary_folder
from kernlens.toolchain.shown_files import parts_of_root
from kernlens.toolchain.sources.source_reading import is_wide
from kernlens.toolchain.toolchains import roots

#: What a compile may take that the user himself has asked for, and can end: no more than keeps a machine alive.
_LIMITS = Limits(seconds=24 * 3600.0, memory=1 << 46, file_size=FILE_SIZE_LIMIT, written=1 << 40, output=OUTPUT_LIMIT)


@contextmanager
def foreign_text(shown: Sequence[str] = (), *, unconfined: bool = False) -> Iterator[None]:
    """Let compilers and drivers within the context open the toolchains, a temporary folder and ``shown``, named by the
    user. ``unconfined`` takes the risk; within a Confinement that decides. Raises UnsupportedError if this machine
    cannot confine, and for a shown folder that is too wide."""
    if unconfined or confinement() is not None:
        yield
        return
    with temporary_folder() as folder, Confinement(folder, _LIMITS, shown_to_compilers(shown)):
        yield


def shown_to_compilers(paths: Sequence[str]) -> list[str]:
    """Return these paths, which the user has named, and the toolchains. Raises UnsupportedError for a folder that holds much
    more than the files that could be meant."""
    for path in paths:
        if is_wide(path):
            raise UnsupportedError(
                f"{path} contains much beside what the text could include, and is not shown to a compiler of text that may be"
                " somebody else's; name a folder below it"
            )
    return [*paths, *(part for root in roots().values() for part in parts_of_root(str(root)))]
