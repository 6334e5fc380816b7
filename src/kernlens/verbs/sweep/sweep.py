"""``kernlens.sweep`` and the verb of that name: the matrix on this machine, or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from kernlens.errors import ToolError
from kernlens.model.launch_items import LaunchItems
from kernlens.model.sweep_row import Sweep, SweepRow
from kernlens.model.trips import Trips
from kernlens.toolchain.compile_cache import CompileCache, open_cache
from kernlens.toolchain.ocloc import TIMEOUT
from kernlens.toolchain.parallel_compiles import do_many
from kernlens.toolchain.sources.includes import join_options
from kernlens.toolchain.toolchains import DEFAULT
from kernlens.verbs.sweep.cells import Matrix, matrix
from kernlens.verbs.sweep.measuring import Measured, Wanted, measured
from kernlens.verbs.sweep.option_sets import option_sets


class SweepStoppedError(ToolError):
    """The end of a cluster before a sweep's: ``rows`` are those of the compiles that were done."""

    def __init__(self, message: str, rows: list[SweepRow]) -> None:
        super().__init__(message)
        self.rows = rows


#: Called with the number of finished compiles, and that of all.
Progress = Callable[[int, int], None]


def sweep(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    devices: str | Sequence[str],
    *,
    toolchains: str | Sequence[str] = DEFAULT,
    options: str | Sequence[str | Sequence[str]] = "",
    lines: bool = True,
    jobs: int | None = None,
    timeout: float = TIMEOUT,
    scheduler: str | None = None,
    wait_workers: float = 60.0,
    cache: bool = True,
    pressure: bool = False,
    waits: bool = False,
    trips: Sequence[str] = (),
    items_per_launch: str = "1",
    on_progress: Progress | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Sweep:
    """Compile every source for every device with every toolchain and set of options; return a row for each kernel.

    ``options`` are one option string, or several sets, each a string or words. ``lines`` adds -gline-tables-only, as
    ``compile`` does. ``jobs`` compiles run at a time (None: one per processor), each for ``timeout`` seconds at most, or as
    many as the workers of the Dask ``scheduler`` (its address, or a scheduler file) have threads. ``wait_workers`` is for how
    many seconds there may be no worker; ``on_notice`` gets a sentence on that. What was measured before is taken from the
    user's ``cache``, unless that is False. With ``pressure`` the rows' figures have ``peak_registers`` and ``named_registers``
    too, which take an analysis of each kernel, and with ``waits`` ``issue_cycles``, ``wait_cycles`` and ``wait_share``.
    ``trips`` are the rounds of loops, ``FILE:LINE=N`` or ``depth=N``, which add weighed figures. ``items_per_launch`` are the
    work-items of a launch, ``4096`` or ``4096/MACRO``, which is assumed to make the same results with every set: ``best_sets``
    compares launches then. A device is called by any name that ``kernlens devices`` shows; "all": all of a toolchain.

    The rows are in the order of the arguments. A compile that fails, crashes or hangs has a row without kernel, whose
    ``reason`` says so. Raises NotFoundError for a source, device or toolchain that does not exist, ToolError if the scheduler
    does not answer, and SweepStoppedError, which is one with the rows so far, if it stops or its workers do.
    """
    listed = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    names = [devices] if isinstance(devices, str) else list(devices)
    chosen = [toolchains] if isinstance(toolchains, str) else list(toolchains)
    sets = option_sets([options] if isinstance(options, str) else list(map(join_options, options)))
    planned = matrix(listed, names, chosen, sets, lines=lines, timeout=timeout, items=LaunchItems.of(items_per_launch))
    results = measure(
        planned,
        workers=jobs,
        scheduler=scheduler,
        wait_workers=wait_workers,
        on_notice=on_notice,
        cache=open_cache() if cache else None,
        pressure=pressure,
        waits=waits,
        trips=trips,
    )
    return Sweep(in_order(planned, results, on_progress))


def measure(
    planned: Matrix,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    wait_workers: float = 60.0,
    on_notice: Callable[[str], None] | None = None,
    cache: CompileCache | None = None,
    keep_builds: bool = False,
    pressure: bool = False,
    waits: bool = False,
    trips: Sequence[str] = (),
) -> Generator[Measured]:
    """Do the cells of a matrix, and yield what came of each as it finishes.

    With ``keep_builds`` each result has its Build, with ``pressure`` each row the figures of registers needed, with ``waits``
    those of cycles, with ``trips`` those that these weigh. The ``cache`` keeps the results of a cluster's workers too.
    """
    request = Wanted(os.getcwd(), keep_builds, pressure, waits, Trips.of(trips).words)
    cells = planned.largest_first()
    if scheduler is not None:
        from kernlens.verbs.sweep.cluster import measure_on_cluster

        return measure_on_cluster(scheduler, cells, request, cache=cache, wait=wait_workers, on_notice=on_notice)
    return do_many(cells, lambda cell, on_start: measured(cell, request, cache, on_start), workers)


def in_order(
    planned: Matrix,
    results: Generator[Measured],
    on_progress: Progress | None = None,
    on_result: Callable[[Measured], None] | None = None,
) -> list[SweepRow]:
    """Return the rows of all results in the order of the matrix; ``on_result`` gets each result first, as it comes. Raises
    SweepStoppedError, with the rows so far, for a ToolError after the first result."""
    rows: list[tuple[SweepRow, ...]] = [()] * len(planned.cells)
    count = 0
    with closing(results):
        try:
            for count, result in enumerate(results, start=1):
                if on_result is not None:
                    on_result(result)
                rows[result.number] = result.rows
                if on_progress is not None:
                    on_progress(count, len(rows))
        except ToolError as error:
            if not count:
                raise
            done = [row for group in rows for row in group]
            raise SweepStoppedError(f"{error} ({count:,} of {len(rows):,} compiles are done)", done) from error
    return [row for group in rows for row in group]
