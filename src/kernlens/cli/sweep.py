"""``kernlens sweep``: the matrix of sources, devices, toolchains and options."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

from kernlens.cli import option
from kernlens.cli.option_rules import Rule
from kernlens.cli.output import Progress, print_json, print_lines, print_message, refuse_input, written
from kernlens.errors import KernlensError, OutputError
from kernlens.report.style import style

if TYPE_CHECKING:
    from kernlens.model.best_sets import BestSet, Weighing
    from kernlens.model.figure import Figure
    from kernlens.model.sweep_row import SweepRow
    from kernlens.recording.writer import RecordingWriter
    from kernlens.toolchain.compile_cache import CompileCache
    from kernlens.verbs.sweep.cells import Matrix
    from kernlens.verbs.sweep.measuring import Measured

#: By the start of a figure's key, what a heat map's costliest lines are ordered by.
_ORDERS = {
    "spill": "spill",
    "fill": "spill",
    "scratch": "spill",
    "math": "math",
    "global": "memory",
    "image": "memory",
    "wait": "wait",
}


_RULES = (
    Rule("--scheduler", excludes=("--jobs",), why="has each Dask worker use its own threads"),
    Rule("--weigh", needs=("--best",)),
)


@option.verb("kernlens sweep *.cl --device all --toolchain system,newest -D TILE=8,16,32 --csv tiles.csv", rules=_RULES)
@option.paths("sources")
@option.devices("Target devices, separated by commas; all: every device of each toolchain.", required=True)
@option.toolchain("Toolchains to use, separated by commas (kernlens toolchain list shows them).", several=True)
@option.build_options("A set of build options. Repeat the option for more sets.", several=True)
@option.value(
    "Read more sets of build options from this file, one per line.", "--build-options-file", "options_file",
    cls=option.RenamedOption, former=("--options-file",), metavar="FILE", type=click.Path(),
)  # fmt: skip
@option.several(
    "Values of a macro: compile each set of options with each value. Repeat the option for all combinations.",
    "-D",
    "macros",
    metavar="NAME=V,...",
)
@option.no_lines()
@option.sort("Sort kernels by this metric, worst first", "figure", "spill-stores", ("--figure",))
@option.value(
    "Number of rows to print (0: all).", "--top", metavar="N", type=click.IntRange(0), default=40, show_default=True
)
@option.flag("Print the best set of options for each kernel, and those that nothing beats.", "--best", "is_best")
@option.joined(
    "What is best, with --best: metrics, the first one counts most. Those with weights (NAME=0.5) count together."
    "  [default: spills,cycles,size]",
    "--weigh", metavar="METRIC,...",
)  # fmt: skip
@option.file("Write all rows as CSV.", "--csv", "csv_file")
@option.file("Write all rows as Parquet.", "--parquet", "parquet_file")
@option.file("Write a heat map, a page of HTML.", "--heat-map", "heat_map_file")
@option.file("Add all rows, with commit and date, to this Parquet file.", "--append", "history_file")
@option.file("Save all programs in a recording.", "-o", "--output")
@option.parallel
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Compile on the workers of this Dask scheduler, or of that of a scheduler file.",
)
@option.value(
    "How long --scheduler waits for a worker that can do what is left.", "--wait-workers", metavar="SECONDS",
    type=click.FloatRange(0), default=60.0, show_default=True,
)  # fmt: skip
@option.cache
@option.full()
@option.json()
def command(
    sources: tuple[str, ...],
    devices: list[str],
    toolchains: list[str],
    options: tuple[str, ...],
    options_file: str | None,
    macros: tuple[str, ...],
    no_lines: bool,
    figure: str,
    top: int,
    is_best: bool,
    weigh: str | None,
    csv_file: str | None,
    parquet_file: str | None,
    heat_map_file: str | None,
    history_file: str | None,
    output: str | None,
    jobs: int | None,
    timeout: float,
    scheduler: str | None,
    wait_workers: float,
    cache: CompileCache | None,
    as_json: bool,
) -> None:
    """Compile SOURCES for every combination of devices, toolchains and build options, and measure every kernel.

    A folder stands for the sources in it (*.cl). Compiles run in parallel, here or on a Dask cluster. kernlens caches
    each result: repeat an interrupted sweep and it resumes. A compile that fails, crashes or hangs is reported and does
    not stop the others.
    """
    from kernlens.model.best_sets import best_sets
    from kernlens.model.figures import PRESSURES, WAITS, figure_named
    from kernlens.model.sweep_row import measured_figures
    from kernlens.verbs.sweep.cells import matrix
    from kernlens.verbs.sweep.option_sets import option_sets, options_in_file
    from kernlens.verbs.sweep.sweep import measure

    ordered_by, by = figure_named(figure), _weighing(weigh, is_best=is_best)
    has_pressure = ordered_by in PRESSURES or (by is not None and by.needs_pressure)
    has_waits = ordered_by in WAITS or (by is not None and by.needs_waits)
    figures = measured_figures(has_pressure=has_pressure, has_waits=has_waits)
    _check_outputs(csv_file, parquet_file, heat_map_file, output, history_file)
    if history_file is not None:
        from kernlens.verbs.sweep.history import check_history

        check_history(history_file)
    sets = option_sets([*options, *(options_in_file(options_file) if options_file else [])], macros)
    planned = matrix(sources, devices, toolchains, sets, lines=not no_lines, timeout=timeout)
    for name, chosen in planned.left_out:
        print_message(f"kernlens: the toolchain {chosen} does not compile for {name}, which is left out there")
    family = ordered_by.key.partition("_")[0].removesuffix("s")
    recorded = _Recorded(output)
    with recorded:
        results = measure(
            planned, workers=jobs, scheduler=scheduler, wait_workers=wait_workers,
            on_notice=lambda sentence: print_message(f"kernlens: {sentence}"), cache=cache,
            order="" if heat_map_file is None else _ORDERS.get(family, "instructions"),
            keep_builds=output is not None, pressure=has_pressure, waits=has_waits,
        )  # fmt: skip
        rows, stopped = _rows(planned, results, recorded, quiet=as_json)
    best = None if by is None else best_sets(rows, by)
    if history_file is not None:
        _append(history_file, rows, recorded.errors)
    with written(
        [
            (csv_file, lambda: _csv(rows, figures, best)),
            (parquet_file, lambda: _parquet(rows, best)),
            (heat_map_file, lambda: _heat_map(rows, ordered_by, planned)),
        ],
        recorded.errors,
    ):
        _print(rows, planned, ordered_by, top, as_json, best, by)
    if stopped is not None:
        raise stopped
    sys.exit(3 if any(row.reason for row in rows) else 0)


def _rows(
    planned: Matrix, results: Generator[Measured], recorded: _Recorded, *, quiet: bool
) -> tuple[Sequence[SweepRow], KernlensError | None]:
    """Return the rows of all results, with a bar on a terminal; of a sweep that stopped those so far, and why."""
    from kernlens.verbs.sweep.sweep import SweepStoppedError, in_order

    with Progress("compiling", quiet=quiet) as progress:
        try:
            return in_order(planned, results, progress.show, recorded.keep), None
        except SweepStoppedError as error:
            return error.rows, error


def _append(path: str, rows: Sequence[SweepRow], errors: list[OutputError]) -> None:
    """Add the rows to a history. What goes wrong is one of ``errors``: the other files are written all the same."""
    from kernlens.verbs.sweep.history import append

    try:
        append(path, rows)
    except KernlensError as error:
        errors.append(OutputError(str(error)))


def _weighing(text: str | None, *, is_best: bool) -> Weighing | None:
    from kernlens.model.best_sets import DEFAULT_WEIGHING, weighing

    return weighing(DEFAULT_WEIGHING if text is None else text) if is_best else None


def _check_outputs(
    csv_file: str | None,
    parquet_file: str | None,
    heat_map_file: str | None,
    output: str | None,
    history_file: str | None,
) -> None:
    """Refuse what could not be written before hours are spent on it."""
    from kernlens.recording.target import is_recorded
    from kernlens.report.sweep_parquet import check_parquet

    files = [path for path in (csv_file, parquet_file, heat_map_file, output, history_file) if path is not None]
    if len({os.path.realpath(path) for path in files}) < len(files):
        raise click.UsageError("two output options name the same file")
    for path in files:
        refuse_input(path)
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            raise OutputError(f"cannot write {path}: the folder {folder} does not exist; create it first")
        if not os.access(folder, os.W_OK) or os.path.isdir(path):
            raise OutputError(f"cannot write {path}; choose another location")
    if output is not None:
        is_recorded(Path(output), overwrite=True)
    if heat_map_file is not None and not heat_map_file.lower().endswith((".html", ".htm")):
        raise click.UsageError(f"--heat-map writes .html files, not {heat_map_file}")
    if parquet_file is not None:
        check_parquet()


class _Recorded:
    """The recording ``output``, which is begun with the first program that compiles and gets its name when all are in
    it. What cannot be written is one of ``errors``, and ends the recording alone."""

    def __init__(self, output: str | None) -> None:
        self._output = output
        self._writer: RecordingWriter | None = None
        self.errors: list[OutputError] = []

    def keep(self, result: Measured) -> None:
        """Add the result's program, if it compiled."""
        if self._output is None or self.errors or result.build is None or not result.build.ok:
            return
        from kernlens.recording.writer import RecordingWriter

        try:
            if self._writer is None:
                self._writer = RecordingWriter(self._output, command_line=sys.argv, overwrite=True, is_whole=True)
            self._writer.add(result.build, result.number + 1)
        except OutputError as error:
            self.errors.append(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self._writer is not None:
            try:
                self._writer.__exit__(error or (OutputError if self.errors else None))
            except OutputError as unfinished:
                self.errors.append(unfinished)


def _csv(rows: Sequence[SweepRow], figures: Sequence[Figure], best: Sequence[BestSet] | None) -> Iterator[bytes]:
    from kernlens.cli.answers.sweep_best import marks
    from kernlens.cli.answers.sweep_table import csv_rows

    return (f"{line}\n".encode() for line in csv_rows(rows, figures, None if best is None else marks(best)))


def _parquet(rows: Sequence[SweepRow], best: Sequence[BestSet] | None) -> list[bytes]:
    from kernlens.cli.answers.sweep_best import marks
    from kernlens.report.sweep_parquet import sweep_parquet

    return [sweep_parquet(rows, None if best is None else marks(best))]


def _heat_map(rows: Sequence[SweepRow], figure: Figure, planned: Matrix) -> Iterator[bytes]:
    from kernlens.cli.answers.heat_map import heat_map, heat_map_page
    from kernlens.verbs.report import folders_of_user

    pieces = heat_map_page(heat_map(rows, figure, titles=planned.titles))
    return (piece.encode() for piece in folders_of_user().pieces(pieces))


def _print(
    rows: Sequence[SweepRow],
    planned: Matrix,
    figure: Figure,
    top: int,
    as_json: bool,
    best: Sequence[BestSet] | None,
    by: Weighing | None,
) -> None:
    from kernlens.cli.answers.sweep_best import best_document, best_table
    from kernlens.cli.answers.sweep_table import (
        equal_code_lines,
        failure_lines,
        sweep_document,
        sweep_table,
        warning_lines,
    )
    from kernlens.model.best_sets import unranked_sentence
    from kernlens.report.describe import plural

    if as_json:
        print_json(sweep_document(rows) | (best_document(best, by) if best is not None and by is not None else {}))
    elif best is not None and by is not None:
        print_lines(best_table(best, by, top))
    else:
        print_lines(sweep_table(rows, figure, top))
    if not as_json:
        print_lines(style(line, dim=True) for line in equal_code_lines(rows))
    print_message(*(f"kernlens: {line}" for line in warning_lines(rows, top)))
    print_message(*(f"kernlens: {line}" for line in failure_lines(rows, top)))
    if not as_json:
        count = sum(row.kernel is not None for row in rows)
        failed = len(rows) - count
        words = [
            plural(len(planned.cells), "compile"),
            plural(count, "kernel"),
            *([f"{failed:,} failed"] if failed else []),
        ]
        unranked = unranked_sentence(best or ())
        print_lines([", ".join(words) + (f"; {unranked}" if unranked else "")])
