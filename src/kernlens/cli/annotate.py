"""``kernlens annotate``: source lines with the instructions they became, and back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kernlens.cli import option
from kernlens.cli.option_rules import Rule, one_of
from kernlens.cli.output import is_full, print_pieces
from kernlens.cli.samples import BY_SAMPLES
from kernlens.cli.sources import Sources
from kernlens.dataclass import dataclass
from kernlens.model.figures import LINE_ORDERS, MOVED, OBSERVED_ORDERS, WAIT

if TYPE_CHECKING:
    from kernlens.cli.answers.offset_answer import AskedOffsets
    from kernlens.cli.listings import Form
    from kernlens.loading import Contents
    from kernlens.model.kernel import Kernel
    from kernlens.model.line_choice import LineChoice
    from kernlens.model.program import Program
    from kernlens.model.trips import Trips
    from kernlens.report.beside import Beside
    from kernlens.verbs.programs import Selection

FORMATS = ("text", "json", "csv")
#: The tables of --top and --pressure are at most so wide, unless --full is said.
_TABLE_WIDTH = 100


_RULES = (
    *(rule for name in FORMATS[::2] for rule in one_of("--json", f"--format {name}")),
    Rule("--sort", needs=("--top",), why="it orders that table"),
    *(
        Rule(each, excludes=excluded, why=f"prints a table {shape}")
        for each in ("--top", "--pressure")
        for excluded, shape in ((("--line", "--offset"), "of whole kernels"), (("csv",), "as text or JSON"))
    ),
    *one_of("--line", "--offset"),
    *(
        Rule(f"--sort {name}", excludes=("--waits", "--pressure", "--trips"), why="orders a table of what was observed")
        for name in OBSERVED_ORDERS
    ),
    Rule("--waits", excludes=("--offset",), why="is about lines and instructions"),
    Rule("--waits", excludes=("--pressure",), why="has no column in the table of --pressure", unless="--top"),
    Rule("--offset", excludes=("--own-lines",), why="prints the instruction's own line and its inlined calls"),
    Rule("--offset", excludes=("csv",), why="prints text or JSON"),
    Rule("--base", needs=("--offset",), why="it is where the kernel of these addresses begins"),
    Rule("--sort samples", needs=("--samples",)),
    Rule("--samples", excludes=("--offset", "--pressure", "--trips"), why="is shown beside lines and instructions"),
    Rule(
        "--samples", excludes=("--waits",), why="is shown with waits in the listing only", when=("csv", "--top")
    ),
    Rule(
        "--samples", excludes=tuple(f"--sort {name}" for name in (*LINE_ORDERS, *OBSERVED_ORDERS)),
        why="orders the table of --top itself",
    ),
    Rule("--trips", excludes=("--offset", "csv"), why="weighs counts in text or JSON"),
    Rule("--trips", excludes=("--pressure",), why="weighs counts in text or JSON", unless="--top"),
    Rule(
        "--variable", why="prints nothing but where a variable is, as text or JSON",
        excludes=("--top", "--pressure", "--waits", "--trips", "--samples", "--own-lines", "--base", "csv"),
    ),
)  # fmt: skip


def _implied(words: Mapping[str, Any]) -> Iterator[str]:
    """Yield the format, which the name of the output may imply."""
    if not words["as_json"]:
        yield words["format_name"] or _format_of(words["output"])


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    path: str = option.path()
    kernels: tuple[str, ...] = option.kernels()
    line: str | None = option.value("Show only this source line.", "--line", metavar="[FILE:]N")
    offset: str | None = option.joined(
        "Print the source line of the instructions at these offsets in the kernel: 0x238,0x1b8, @FILE, or - for stdin.",
        "--offset",
        metavar="N,...",
    )
    base: str | None = option.value(
        "Address at which the kernel begins, if --offset has absolute addresses.", "--base", metavar="ADDRESS"
    )
    is_own: bool = option.own_lines()
    top: int | None = option.number("Print a table of the N costliest source lines.", "--top", least=1)
    sort: str | None = option.value(
        "Sort key for --top.  [default: instructions; samples with --samples]",
        "--sort",
        type=option.Choice((*LINE_ORDERS, BY_SAMPLES, *OBSERVED_ORDERS)),
    )
    trips: Trips | None = option.trips()
    variable: str | None = option.value(
        "Print where this variable is, range by range of the code, or at --line or --offset; '*' for all.",
        "--variable",
        metavar="NAME",
    )
    has_waits: bool = option.flag(
        "Print for how long instructions wait, and for which ones, as IGC estimates.", "--waits"
    )
    is_pressure: bool = option.flag(
        "Print the peak register pressure and the lines whose values are live there.", "--pressure"
    )
    format_name: str | None = option.value(
        "Output format.  [default: by the extension of --output, else text]",
        "--format",
        type=option.Choice(FORMATS),
    )
    samples: str | None = option.samples()
    output: str | None = option.file("Write to this file instead of stdout.", "-o", "--output")
    source: str | None = option.own_source()
    source_roots: tuple[str, ...] = option.source_root()
    sources: Sources = option.together(Sources)
    full: None = option.full()
    as_json: bool = option.json()

    @property
    def format(self) -> str:
        """The format of the answer."""
        return "json" if self.as_json else self.format_name or _format_of(self.output)

    @property
    def device(self) -> str | None:
        """The device whose programs are shown, None for all."""
        return self.sources.chosen

    @property
    def is_printed(self) -> bool:
        """True if the answer goes to standard output."""
        return self.output is None


@option.verb(Asked, "kernlens annotate blur.bin --kernel blur --line 42", rules=_RULES, implied=_implied)
def command(asked: Asked) -> None:
    """Print each source line with its instruction count, its % of the kernel, and its instructions."""
    format_name, addresses, views = asked.format, None, _views(asked)
    if asked.offset is not None:
        from kernlens.cli.offsets import offsets_of

        addresses = offsets_of(asked.offset, asked.base)
    contents = asked.sources.opened(asked.path, source_roots=asked.source_roots, source=asked.source)
    only = option.line_of(asked.line) if asked.line is not None else None
    is_json = format_name == "json"
    if asked.variable is not None:
        from kernlens.cli.answers.variable_answer import AskedVariable
        from kernlens.cli.variables import print_variables

        places = AskedVariable(asked.variable, only, None if addresses is None else addresses.addresses)
        print_variables(contents, asked.kernels, asked.device, places, asked.output, is_json=is_json)
    elif addresses is not None:
        _print_places(contents, asked, addresses, is_json=is_json)
    else:
        _print_listing(contents, asked, format_name, only, views)
    contents.check()


def _print_listing(
    contents: Contents,
    asked: Asked,
    format_name: str,
    only: LineChoice | None,
    views: Sequence[Callable[[Program, Kernel], Kernel]],
) -> None:
    from kernlens.cli.listings import Viewed, follows_addresses, listing
    from kernlens.verbs.programs import is_observed

    kernel_names = asked.kernels
    if asked.samples is not None:
        from kernlens.cli.samples import annotated_samples

        sampled = annotated_samples(asked.samples, contents)
        form = sampled.form(
            format_name, only, asked.top, _width(), has_waits=asked.has_waits, is_printed=asked.is_printed
        )
        kernel_names = tuple(sampled.names(kernel_names))
    elif asked.top is not None:
        form = _costliest(format_name, asked, contents)
    elif asked.is_pressure:
        form = _pressure(format_name, is_printed=asked.is_printed)
    elif format_name == "csv":
        form = _table(only, asked.has_waits, is_observed=is_observed(contents))
    else:
        addresses = follows_addresses(contents, kernel_names, only)
        form = _form(format_name, only, asked.has_waits, addresses, is_printed=asked.is_printed)
    if views:
        form = Viewed(form, views)
    pieces = listing(contents, kernel_names, asked.device, form, only)
    # That no loop is named is known at the end: nothing is printed then.
    print_pieces(list(pieces) if asked.trips else pieces, asked.output)


def _views(asked: Asked) -> list[Callable[[Program, Kernel], Kernel]]:
    """Return what the kernels are seen through: on own lines first, in which loops may then be named."""
    views: list[Callable[[Program, Kernel], Kernel]] = []
    if asked.is_own:
        from kernlens.analysis.own_lines import kernel_on_own_lines

        roots = option.own_roots(asked.source_roots)
        views.append(lambda _, kernel: kernel_on_own_lines(kernel, roots=roots))
    if (trips := asked.trips) is not None:
        from kernlens.analysis.trip_weights import kernel_with_trips

        views.append(lambda _, kernel: kernel_with_trips(kernel, trips))
    elif not asked.is_own and asked.samples is None:
        views.append(_observed_view)
    return views


def _format_of(output: str | None) -> str:
    """Return the format that a file's ending stands for: ``x.csv`` is a table."""
    ending = os.path.splitext(output or "")[1].lower().lstrip(".")
    if ending == "html":
        raise click.UsageError(f"annotate does not write HTML; use kernlens report PATH -o {output}")
    if ending not in ("", "txt", *FORMATS):
        raise click.UsageError(f"annotate writes {', '.join(FORMATS)}; choose for {output} with --format")
    return ending if ending in FORMATS else "text"


def _form(format_name: str, only: LineChoice | None, has_waits: bool, has_addresses: bool, *, is_printed: bool) -> Form:
    from kernlens.cli.listings import Lines, instructions_json

    if format_name == "json":
        return instructions_json(only, is_placed=True, has_waits=has_waits, has_addresses=has_addresses)
    from kernlens.report.listing import annotated

    def lines(program: Program, kernel: Kernel) -> list[str]:
        if kernel.behaviours and not kernel.code_size:
            from kernlens.cli.answers.behaviour_notes import BY_LINE, observed_table

            return observed_table(program, kernel, sys.maxsize, BY_LINE, _width())
        besides: list[Beside] = []
        if kernel.behaviours or (has_addresses and program.spirv):
            from kernlens.cli.answers.listing_notes import notes_of

            besides += notes_of(program, kernel, has_addresses=has_addresses)
        if has_waits:
            from kernlens.report.wait_words import WaitNotes

            besides.append(WaitNotes(kernel))
        return annotated(program, kernel, only, besides)

    return Lines(lines, is_printed=is_printed, counted=list if only is None and not has_waits else None)


def _table(only: LineChoice | None, has_waits: bool, *, is_observed: bool) -> Form:
    """Return the form of CSV, with the columns of waits and of what was observed."""
    from kernlens.cli.answers.rows import COLUMNS, csv_line, csv_lines
    from kernlens.cli.listings import Lines

    columns: list[str] = [*COLUMNS]
    further: list[Callable[[Kernel], Iterable[tuple[object, ...]]]] = []
    if has_waits:
        from kernlens.report import wait_words

        columns += wait_words.CSV_COLUMNS
        further.append(wait_words.csv_cells)
    if is_observed:
        from kernlens.cli.answers import behaviour_notes

        columns += behaviour_notes.CSV_COLUMNS
        further.append(behaviour_notes.csv_cells)

    def lines(program: Program, kernel: Kernel) -> Iterator[str]:
        cells = (sum(each, ()) for each in zip(*(cells(kernel) for cells in further), strict=False))
        return csv_lines(program, kernel, only, cells) if further else csv_lines(program, kernel, only)

    return Lines(lines, csv_line(columns))


def _costliest(format_name: str, asked: Asked, contents: Contents) -> Form:
    from kernlens.cli.answers.costliest import costliest_kernel, costliest_program, costliest_table
    from kernlens.cli.listings import Json, Lines
    from kernlens.report.program_document import SCHEMA
    from kernlens.verbs.programs import is_observed, is_timed

    order = asked.sort or (MOVED if _is_uncompiled(contents) else "instructions")
    more: dict[str, Any] = {}
    if order in OBSERVED_ORDERS or is_observed(contents) or is_timed(contents):
        from kernlens.cli.answers.opening import Opening

        opening = Opening(_arranged(order, is_json=format_name == "json"), _width())
        begin = opening.document if format_name == "json" else opening.text
        more = {"counted": opening.arranged, "opening": begin}
    if order in OBSERVED_ORDERS:
        return _most_observed(format_name, asked, order, more)
    shown: dict[str, Any] = {
        "count": asked.top, "order": order, "has_pressure": asked.is_pressure,
        "has_waits": asked.has_waits or order == WAIT,
    }  # fmt: skip
    if format_name == "json":
        return Json({"schema": SCHEMA, "by": order}, costliest_program, partial(costliest_kernel, **shown), **more)
    lines = partial(costliest_table, **shown, width=_width())
    return Lines(lines, is_printed=asked.is_printed, has_texts=False, **more)


def _arranged(order: str, *, is_json: bool) -> Callable[[Selection], Selection]:
    """Return what orders the kernels: by what their lines cost together, or by their work."""
    if order in OBSERVED_ORDERS:
        from kernlens.cli.answers.behaviour_notes import by_total

        return partial(by_total, order=order, is_together=is_json)
    from kernlens.analysis.start_here import by_work

    return partial(by_work, is_together=is_json)


def _most_observed(format_name: str, asked: Asked, order: str, more: Mapping[str, Any]) -> Form:
    from kernlens.cli.answers.behaviour_notes import observed_table, top_document
    from kernlens.cli.listings import Json, Lines
    from kernlens.report.json_text import encoded
    from kernlens.report.program_document import SCHEMA, kernel_document, program_document

    count = asked.top or 0
    if format_name == "json":
        return Json(
            {"schema": SCHEMA, "by": order},
            partial(program_document, has_sources=False),
            lambda program, kernel: encoded(kernel_document(kernel) | top_document(program, kernel, count, order)),
            **more,
        )
    return Lines(
        lambda program, kernel: observed_table(program, kernel, count, order, _width()),
        is_printed=asked.is_printed,
        has_texts=False,
        **more,
    )


def _is_uncompiled(contents: Contents) -> bool:
    """Return whether kernels were observed, and nothing was compiled."""
    from kernlens.verbs.programs import is_observed

    return is_observed(contents) and not any(program.kernels for program in contents.programs)


def _pressure(format_name: str, *, is_printed: bool) -> Form:
    from kernlens.cli.answers.pressure_answer import pressure_json, pressure_lines
    from kernlens.cli.listings import Json, Lines
    from kernlens.report.program_document import SCHEMA, program_document

    if format_name == "json":
        return Json({"schema": SCHEMA}, partial(program_document, has_sources=False), pressure_json)
    return Lines(partial(pressure_lines, width=_width()), is_printed=is_printed, has_texts=False)


def _width() -> int | None:
    """Return the width of tables, on terminals and elsewhere."""
    return None if is_full() else _TABLE_WIDTH


def _observed_view(program: Program, kernel: Kernel) -> Kernel:
    """Return the kernel weighed by its runs, if it was observed."""
    if not kernel.behaviours:
        return kernel
    from kernlens.analysis.executions import kernel_with_executions

    return kernel_with_executions(program, kernel)


def _print_places(contents: Contents, asked: Asked, offsets: AskedOffsets, *, is_json: bool) -> None:
    """Print the line of each chosen kernel's instructions at these offsets, with the calls that they were inlined through."""
    from kernlens.cli.answers.offset_answer import OffsetAnswers, no_instruction_at
    from kernlens.cli.listings import Json, Lines, listing
    from kernlens.report.program_document import SCHEMA, program_document

    if is_json:
        form = Json(
            {"schema": SCHEMA},
            partial(program_document, has_sources=False),
            lambda program, kernel: OffsetAnswers(program, kernel).json(offsets),
            has_texts=True,
        )
        print_pieces(listing(contents, asked.kernels, asked.device, form), asked.output)
        return
    pieces = listing(
        contents,
        asked.kernels,
        asked.device,
        Lines(lambda program, kernel: OffsetAnswers(program, kernel).lines(offsets)),
    )
    *answers, closing = pieces
    known = [piece for piece in answers if piece]
    if not known:
        raise no_instruction_at(offsets.addresses)
    print_pieces([*known, closing], asked.output)
