"""The cells of the matrix: what is compiled in each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.model.launch_items import ONE_ITEM, LaunchItems
from kernlens.toolchain.ocloc import TIMEOUT
from kernlens.toolchain.parallel_compiles import CompileJob
from kernlens.toolchain.sources.includes import existing_source, split_options, with_lines
from kernlens.toolchain.sources.source_settings import settings_for
from kernlens.verbs.compile import targets_of
from kernlens.verbs.sources.spread import spread

#: More compiles than this are a slip, such as a device too many in a product.
CELLS_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Cell:
    """One compile, with its place in the order of the answer, its source and options as the caller named them, and the
    work-items of a launch: 1 if nobody states them."""

    number: int
    source: str
    options: str
    job: CompileJob
    items: int | None = 1


@dataclass(frozen=True, slots=True)
class Matrix:
    """The cells, in the order of the answer, and the (device, toolchain) left out, as a ``Plan`` does. ``titles`` are, by
    source and options, the sets of options without what ``kernlens.toml`` has for the source."""

    cells: Sequence[Cell]
    left_out: Sequence[tuple[str, str]]
    titles: Mapping[tuple[str, str], str]

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


def _sets(source: Path, options: Sequence[str], *, lines: bool) -> list[tuple[str, str, str]]:
    """Return a source's sets of options with what its ``kernlens.toml`` adds: each in short, as a user would write it, and as
    the compiler gets it. Of those that have the same words there is one."""
    settings = settings_for(source)
    sets: dict[tuple[str, ...], tuple[str, str, str]] = {}
    for stated in options:
        compiled = settings.sets(with_lines(stated) if lines else stated)
        for (words, short), (full, _) in zip(settings.sets(stated), compiled, strict=True):
            sets.setdefault(tuple(split_options(full)), (short, words, full))
    return list(sets.values())


def matrix(
    sources: Sequence[str | os.PathLike[str]],
    devices: Sequence[str],
    toolchains: Sequence[str],
    options: Sequence[str],
    *,
    lines: bool = True,
    timeout: float = TIMEOUT,
    items: LaunchItems = ONE_ITEM,
) -> Matrix:
    """Return every source for every device with every toolchain and set of options, each once.

    A set has what ``kernlens.toml`` says on the source too, and with ``lines`` the option for line tables. ``items`` are the
    work-items of a launch. Raises
    NotFoundError for a source or toolchain that does not exist, and for a device that no toolchain compiles for; KernlensError
    if there is nothing to do, or too much.
    """
    named: dict[str, tuple[str, Path]] = {}
    for source in spread(sources, even_mixed=True):
        named.setdefault(os.path.realpath(existing_source(source)), (source, Path(source)))
    targets, left_out = targets_of(devices, toolchains)
    sets = {path: _sets(path, options, lines=lines) for _, path in named.values()}
    count = sum(map(len, sets.values())) * len(targets)
    if not count:
        raise KernlensError("there is nothing to sweep: name sources, devices and toolchains")
    if count > CELLS_LIMIT:
        raise KernlensError(f"the sweep has {count:,} compiles; the limit is {CELLS_LIMIT:,}")
    jobs = [
        (source, stated, CompileJob(path, device, chosen, full, timeout))
        for source, path in named.values()
        for device, chosen in targets
        for _, stated, full in sets[path]
    ]
    titles = {(source, words): short for source, path in named.values() for short, words, _ in sets[path]}
    cells = [
        Cell(number, *each, items.with_options(split_options(each[2].options))) for number, each in enumerate(jobs)
    ]
    return Matrix(cells, left_out, titles)
