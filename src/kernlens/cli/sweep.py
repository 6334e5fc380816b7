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
from kernlens.cli.sources import tell
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, OutputError
from kernlens.report.style import style

if TYPE_CHECKING:
    from kernlens.model.best_sets import BestSet, Weighing
    from kernlens.model.figure import Figure
    from kernlens.model.sweep_row import SweepRow
    from kernlens.model.trips import Trips
    from kernlens.recording.writer import RecordingWriter
    from kernlens.verbs.sweep.cells import Matrix
    from kernlens.verbs.sweep.measuring import Measured

_RULES = (
    Rule("--scheduler", excludes=("--jobs",), why="has each Dask worker use its own threads"),
    *(Rule(each, needs=("--best",)) for each in ("--weigh", "--items-per-launch")),
    *(
        Rule(each, needs=("--replay",))
        for each in ("--kernel", "--program", "--launch", "--runs", "--tolerance", "--unconfined")
    ),
    Rule(
        "--replay",
        excludes=("--toolchain", "--no-lines", "--trips", "--items-per-launch", "--sort", "--weigh", "--heat-map", "--output",
                  "--jobs", "--scheduler", "--wait-workers", "--no-cache"),
        why="runs a launch with each set, one after the other",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    sources: tuple[str, ...] = option.paths()
    devices: list[str] = option.devices("Target devices, separated by commas; all: every device of each toolchain.")
    toolchains: list[str] = option.toolchains(
        "Toolchains to use, separated by commas (kernlens toolchain list shows them)."
    )
    options: tuple[str, ...] = option.build_options(
        "A set of build options. Repeat the option for more sets.", multiple=True, default=()
    )
    macros: tuple[str, ...] = option.several(
        "Values of a macro: compile each set of options with each value. Repeat the option for all combinations.",
        "-D",
        metavar="NAME=V,...",
    )
    no_lines: bool = option.no_lines()
    sort: str = option.sort("Sort kernels by this metric, worst first", "spill-stores")
    top: int = option.number("Number of rows to print (0: all).", "--top", default=40, show_default=True)
    is_best: bool = option.flag("Print the best set of options for each kernel.", "--best")
    weigh: str | None = option.joined(
        "What is best, with --best: metrics, the first one counts most.  [default: spills,cycles,size; with --trips"
        " weighed-cycles,spills,size]",
        "--weigh",
        metavar="METRIC,...",
    )
    trips: Trips | None = option.trips()
    items: str | None = option.items_per_launch(
        "Work-items of a launch that makes the same results with every set: --best compares launches then. N may be divided by"
        " macros of the set (4096/ROWS).",
        "N[/MACRO]",
    )
    csv: str | None = option.file("Write all rows as CSV.", "--csv")
    heat_map: str | None = option.file("Write a heat map, a page of HTML.", "--heat-map")
    output: str | None = option.file("Save all programs in a recording.", "-o", "--output")
    parallel: option.Parallel = option.together(option.Parallel)
    scheduler: str | None = option.value(
        "Compile on the workers of this Dask scheduler, or of that of a scheduler file.",
        "--scheduler",
        metavar="ADDRESS",
    )
    wait_workers: float = option.number(
        "How long --scheduler waits for a worker.", "--wait-workers", metavar="SECONDS",
        default=60.0, show_default=True,
    )  # fmt: skip
    cache: option.Cached = option.together(option.Cached)
    is_replay: bool = option.flag(
        "Time each set of options on a launch that a recording keeps (capture --launch), in turn with the recorded options."
        " SOURCES is the recording, and --device PLATFORM:DEVICE, as in kernlens replay.",
        "--replay",
    )
    of: option.Launch = option.together(option.Launch)
    unconfined: bool = option.unconfined()
    full: None = option.full()
    as_json: bool = option.json()

    @property
    def outputs(self) -> list[str]:
        """The files to write."""
        return [each for each in (self.csv, self.heat_map, self.output) if each is not None]


@option.verb(
    Asked, "kernlens sweep *.cl --device all --toolchain system,newest -D TILE=8,16,32 --csv tiles.csv", rules=_RULES
)
def command(asked: Asked) -> None:
    """Compile SOURCES for every combination of devices, toolchains and build options, and measure every kernel.

    A folder stands for the sources in it (*.cl). Compiles run in parallel, here or on a Dask cluster. kernlens caches
    each result: repeat an interrupted sweep and it resumes. A compile that fails, crashes or hangs is reported and does
    not stop the others.

    With --replay nothing is estimated: a launch that a recording keeps runs with each set of options, its results are
    compared, and the sets are ranked by the time that was measured.
    """
    if asked.is_replay:
        sys.exit(_replay(asked))
    from kernlens.model.best_sets import best_sets
    from kernlens.model.figures import PRESSURES, WAITS, figure_named
    from kernlens.model.sweep_row import measured_figures

    ordered_by, by = figure_named(asked.sort), _weighing(asked)
    has_pressure = ordered_by in PRESSURES or (by is not None and by.needs_pressure)
    has_waits = ordered_by in WAITS or (by is not None and by.needs_waits)
    figures = measured_figures(has_pressure=has_pressure, has_waits=has_waits)
    _check_outputs(asked)
    planned = _planned(asked)
    recorded = _Recorded(asked.output)
    with recorded:
        results = _measured(asked, planned, pressure=has_pressure, waits=has_waits)
        rows, stopped = _rows(planned, results, recorded, quiet=asked.as_json)
    if asked.trips is not None and not any(dict(row.own).get("stated_loops") for row in rows):
        tell(f"the trips {asked.trips} name no loop of any compile")
    best = None if by is None else best_sets(rows, by)
    with written(
        [
            (asked.csv, lambda: _csv(rows, figures, best)),
            (asked.heat_map, lambda: _heat_map(rows, ordered_by, planned)),
        ],
        recorded.errors,
    ):
        _print(rows, planned, ordered_by, asked, best, by)
    if stopped is not None:
        raise stopped
    sys.exit(3 if any(row.reason for row in rows) else 0)


def _replay(asked: Asked) -> int:
    """Time the sets of options on a kept launch, print them, and return the exit status."""
    from kernlens.cli.answers.sets_by_time import timed_sets_csv, timed_sets_document, timed_sets_lines
    from kernlens.verbs.replay.timed_sets import timed_sets

    if len(asked.sources) != 1:
        raise click.UsageError("--replay takes one recording")
    _check_outputs(asked)
    with Progress("timing", quiet=asked.as_json) as progress:
        answer = timed_sets(
            asked.sources[0], asked.options, asked.macros, kernel=asked.of.kernel, program=asked.of.program,
            launch=asked.of.launch, device=",".join(asked.devices) or None, runs=asked.of.runs, tolerance=asked.of.tolerance,
            timeout=asked.parallel.timeout, unconfined=asked.unconfined, is_confirmed=asked.is_best, on_progress=progress.show,
        )  # fmt: skip
    with written([(asked.csv, lambda: timed_sets_csv(answer))]):
        if asked.as_json:
            print_json(timed_sets_document(answer, is_best=asked.is_best))
        else:
            print_lines(timed_sets_lines(answer, asked.top, is_best=asked.is_best))
    failed = [each for each in answer.sets if each.build is None]
    print_message(*(f"kernlens: {each.options or 'no options'}: {each.reason}" for each in failed))
    return 3 if failed else 0


def _planned(asked: Asked) -> Matrix:
    """Return the compiles to do, and print what is left out of them."""
    from kernlens.model.launch_items import LaunchItems
    from kernlens.verbs.sweep.cells import matrix
    from kernlens.verbs.sweep.option_sets import option_sets
    from kernlens.verbs.targets import target_of

    sets = option_sets(asked.options, asked.macros)
    devices = asked.devices or [target_of(asked.sources[0], None, tell)]
    timeout = asked.parallel.timeout
    items = LaunchItems.of(asked.items or "1")
    lines = not asked.no_lines
    planned = matrix(asked.sources, devices, asked.toolchains, sets, lines=lines, timeout=timeout, items=items)
    for name, chosen in planned.left_out:
        tell(f"the toolchain {chosen} does not compile for {name}, which is left out there")
    return planned


def _measured(asked: Asked, planned: Matrix, *, pressure: bool, waits: bool) -> Generator[Measured]:
    from kernlens.verbs.sweep.sweep import measure

    return measure(
        planned, workers=asked.parallel.jobs, scheduler=asked.scheduler, wait_workers=asked.wait_workers, on_notice=tell,
        cache=asked.cache.opened(), keep_builds=asked.output is not None, pressure=pressure, waits=waits,
        trips=asked.trips.words if asked.trips is not None else (),
    )  # fmt: skip


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


def _weighing(asked: Asked) -> Weighing | None:
    from kernlens.model.best_sets import DEFAULT_WEIGHING, DEFAULT_WITH_TRIPS, weighing

    usual = DEFAULT_WEIGHING if asked.trips is None else DEFAULT_WITH_TRIPS
    return weighing(asked.weigh or usual) if asked.is_best else None


def _check_outputs(asked: Asked) -> None:
    """Refuse what could not be written before hours are spent on it."""
    from kernlens.recording.target import is_recorded

    files = asked.outputs
    if len({os.path.realpath(path) for path in files}) < len(files):
        raise click.UsageError("two output options name the same file")
    for path in files:
        refuse_input(path)
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            raise OutputError(f"cannot write {path}: the folder {folder} does not exist; create it first")
        if not os.access(folder, os.W_OK) or os.path.isdir(path):
            raise OutputError(f"cannot write {path}; choose another location")
    if asked.output is not None:
        is_recorded(Path(asked.output), overwrite=True)
    if asked.heat_map is not None and not asked.heat_map.lower().endswith((".html", ".htm")):
        raise click.UsageError(f"--heat-map writes .html files, not {asked.heat_map}")


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


def _heat_map(rows: Sequence[SweepRow], figure: Figure, planned: Matrix) -> Iterator[bytes]:
    from kernlens.cli.answers.heat_map import heat_map, heat_map_page
    from kernlens.verbs.report import folders_of_user

    pieces = heat_map_page(heat_map(rows, figure, titles=planned.titles))
    return (piece.encode() for piece in folders_of_user().pieces(pieces))


def _print(
    rows: Sequence[SweepRow],
    planned: Matrix,
    figure: Figure,
    asked: Asked,
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

    top, as_json = asked.top, asked.as_json
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
