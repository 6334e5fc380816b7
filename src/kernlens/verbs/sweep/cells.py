"""The cells of the matrix: what is compiled in each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.toolchain.includes import existing_source, split_options, with_lines
from kernlens.toolchain.ocloc import TIMEOUT
from kernlens.toolchain.parallel_compiles import CompileJob
from kernlens.verbs.compile import targets_of

#: More compiles than this are a slip, such as a device too many in a product.
CELLS_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Cell:
    """One compile, with its place in the order of the answer, and its source and options as the caller named them."""

    number: int
    source: str
    options: str
    job: CompileJob


@dataclass(frozen=True, slots=True)
class Matrix:
    """The cells, in the order of the answer, and the (device, toolchain) left out, as a ``Plan`` does."""

    cells: Sequence[Cell]
    left_out: Sequence[tuple[str, str]]

    def largest_first(self) -> list[Cell]:
        """Return the cells in the order in which to do them: at the end none is left that takes long."""
        sizes = {source: _size(source) for source in {cell.job.source for cell in self.cells}}
        return sorted(self.cells, key=lambda cell: -sizes[cell.job.source])


def _size(source: Path) -> int:
    """Return a source's size in bytes; 0 if it is gone, as its cells will say."""
    try:
        return source.stat().st_size
    except OSError:
        return 0


def matrix(
    sources: Sequence[str | os.PathLike[str]],
    devices: Sequence[str],
    toolchains: Sequence[str],
    options: Sequence[str],
    *,
    lines: bool = True,
    timeout: float = TIMEOUT,
) -> Matrix:
    """Return every source for every device with every toolchain and set of options, each once.

    With ``lines`` the option for line tables is added. Raises NotFoundError for a source or toolchain that does not exist,
    and for a device that no toolchain compiles for; KernlensError if there is nothing to do, or too much.
    """
    named: dict[str, tuple[str, Path]] = {}
    for source in sources:
        named.setdefault(os.path.realpath(existing_source(source)), (os.fspath(source), Path(source)))
    sets: dict[tuple[str, ...], tuple[str, str]] = {}
    for stated in options:
        full = with_lines(stated) if lines else stated
        sets.setdefault(tuple(split_options(full)), (stated, full))
    targets, left_out = targets_of(devices, toolchains)
    count = len(named) * len(targets) * len(sets)
    if not count:
        raise KernlensError("there is nothing to sweep: name sources, devices and toolchains")
    if count > CELLS_LIMIT:
        raise KernlensError(f"the sweep has {count:,} compiles; the limit is {CELLS_LIMIT:,}")
    jobs = [
        (source, stated, CompileJob(path, device, chosen, full, timeout))
        for source, path in named.values()
        for device, chosen in targets
        for stated, full in sets.values()
    ]
    return Matrix([Cell(number, *each) for number, each in enumerate(jobs)], left_out)
