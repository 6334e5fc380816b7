"""``kernlens annotate``: source lines with the instructions they became, and back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kernlens.cli import option
from kernlens.cli.option_rules import Rule, one_of
from kernlens.cli.output import is_full, print_message, print_pieces
from kernlens.errors import NotFoundError
from kernlens.model.figures import LINE_ORDERS, WAIT

if TYPE_CHECKING:
    from kernlens.cli.answers.offset_answer import AskedOffsets
    from kernlens.cli.listings import Form
    from kernlens.loading import Contents
    from kernlens.model.kernel import Kernel
    from kernlens.model.line_choice import LineChoice

FORMATS = ("text", "json", "csv")
#: Those that --samples adds, and the order of --top that it adds.
_OF_SAMPLES, _BY_SAMPLES = ("speedscope", "folded"), "samples"
#: The tables of --top and --pressure are at most so wide, unless --full is said.
_TABLE_WIDTH = 100
#: The most offsets that an error lists.
_SHOWN_OFFSETS = 8


_RULES = (
    *(rule for name in (*FORMATS[::2], *_OF_SAMPLES) for rule in one_of("--json", f"--format {name}")),
    Rule("--sort", needs=("--top",), why="it orders that table"),
    *(
        Rule(each, excludes=excluded, why=f"prints a table {shape}")
        for each in ("--top", "--pressure")
        for excluded, shape in ((("--line", "--offset"), "of whole kernels"), (("csv",), "as text or JSON"))
    ),
    *one_of("--line", "--offset"),
    Rule("--waits", excludes=("--offset",), why="is about lines and instructions"),
    Rule("--waits", excludes=("--pressure",), why="has no column in the table of --pressure", unless="--top"),
    Rule("--offset", excludes=("--own-lines",), why="prints the instruction's own line and its inlined calls"),
    Rule("--offset", excludes=("csv",), why="prints text or JSON"),
    Rule("--base", needs=("--offset",), why="it is where the kernel of these addresses begins"),
    option.SAMPLES_DEVICE,
    Rule("--sort samples", needs=("--samples",)),
    *(Rule(f"--format {name}", needs=("--samples",), why="the weights are samples") for name in _OF_SAMPLES),
    Rule("--samples", excludes=("--offset", "--pressure", "--trips"), why="is shown beside lines and instructions"),
    Rule(
        "--samples", excludes=("--waits",), why="is shown with waits in the listing only", when=("csv", "--top")
    ),
    *(
        Rule(f"--format {name}", excludes=("--line", "--top", "--own-lines", "--waits"), why="holds all lines of the kernels")
        for name in _OF_SAMPLES
    ),
    Rule("--samples", excludes=tuple(f"--sort {name}" for name in LINE_ORDERS), why="orders the table of --top itself"),
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


@option.verb("kernlens annotate blur.bin --kernel blur --line 42", rules=_RULES, implied=_implied)
@option.path()
@option.kernel()
@option.value("Show only this source line.", "--line", metavar="[FILE:]N")
@option.joined(
    "Print the source line of the instructions at these offsets in the kernel: 0x238,0x1b8, @FILE, or - for stdin.",
    "--offset",
    metavar="N,...",
)
@option.value("Address at which the kernel begins, if --offset has absolute addresses.", "--base", metavar="ADDRESS")
@option.own_lines()
@option.value(
    "Print a table of the N costliest source lines.", "--top", "count", metavar="N", type=click.IntRange(min=1)
)
@option.value(
    "Sort key for --top.  [default: instructions; samples with --samples]",
    "--sort",
    "order",
    cls=option.RenamedOption,
    former=("--by",),
    type=option.Choice((*LINE_ORDERS, _BY_SAMPLES)),
)
@option.several(
    "Weigh counts by the rounds that a loop runs: FILE:LINE=N, or depth=N for all other loops. May be repeated.",
    "--trips",
    "trip_words",
    metavar="TRIPS",
)
@option.value(
    "Print where this variable is, range by range of the code, or at --line or --offset; '*' for all.",
    "--variable",
    metavar="NAME",
)
@option.flag("Print for how long instructions wait, and for which ones, as IGC estimates.", "--waits", "has_waits")
@option.flag("Print the peak register pressure and the lines whose values are live there.", "--pressure", "is_pressure")
@option.value(
    "Output format.  [default: by the extension of --output, else text]",
    "--format",
    "format_name",
    type=option.Choice((*FORMATS, *_OF_SAMPLES)),
)
@option.samples
@option.file("Write to this file instead of stdout.", "-o", "--output")
@option.file("Source file to use if the line table does not name it.", "--source")
@option.source_root()
@option.chosen_device()
@option.full()
@option.json()
def command(
    path: str,
    kernel_names: tuple[str, ...],
    line: str | None,
    offset: str | None,
    base: str | None,
    is_own: bool,
    count: int | None,
    order: str | None,
    trip_words: tuple[str, ...],
    variable: str | None,
    has_waits: bool,
    is_pressure: bool,
    format_name: str | None,
    samples: str | None,
    samples_device: int | None,
    output: str | None,
    source: str | None,
    source_roots: tuple[str, ...],
    device: str | None,
    as_json: bool,
) -> None:
    """Print each source line with its instruction count, its % of the kernel, and its instructions."""
    from kernlens.cli.listings import Viewed, listing
    from kernlens.loading import open_file

    format_name = "json" if as_json else format_name or _format_of(output)
    addresses = None
    if offset is not None:
        from kernlens.cli.offsets import offsets_of

        addresses = offsets_of(offset, base)
    views = _views(is_own, source_roots, trip_words)
    contents = open_file(path, device=device, source_roots=source_roots, source=source)
    only = option.line_of(line) if line is not None else None
    if variable is not None or addresses is not None:
        if variable is not None:
            from kernlens.cli.answers.variable_answer import AskedVariable
            from kernlens.cli.variables import print_variables

            asked_for = AskedVariable(variable, only, None if addresses is None else addresses.addresses)
            print_variables(contents, kernel_names, device, asked_for, output, is_json=format_name == "json")
        elif addresses is not None:
            _print_places(contents, kernel_names, device, addresses, output, is_json=format_name == "json")
        contents.check()
        return
    if samples is not None:
        from kernlens.cli.samples import annotated_samples
        from kernlens.report.failure_lines import failed_lines

        sampled = annotated_samples(samples, samples_device, contents)
        if format_name in _OF_SAMPLES:
            print_pieces([sampled.stacks(contents, kernel_names, device, format_name)], output)
            print_message(*failed_lines([contents.failed_builds(device)]))
            contents.check()
            return
        form = sampled.form(format_name, only, count, _width(), has_waits=has_waits, is_printed=output is None)
        kernel_names = tuple(sampled.names(kernel_names))
    elif count is not None:
        asked = {"count": count, "order": order or "instructions", "has_pressure": is_pressure}
        form = _costliest(format_name, asked | {"has_waits": has_waits or order == WAIT}, is_printed=output is None)
    elif is_pressure:
        form = _pressure(format_name, is_printed=output is None)
    else:
        form = _form(format_name, only, has_waits, is_printed=output is None)
    if views:
        form = Viewed(form, views)
    pieces = listing(contents, kernel_names, device, form, only)
    # That no loop is named is known at the end: nothing is printed then.
    print_pieces(list(pieces) if trip_words else pieces, output)
    contents.check()


def _views(is_own: bool, source_roots: Sequence[str], trip_words: Sequence[str]) -> list[Callable[[Kernel], Kernel]]:
    """Return what the kernels are seen through: on own lines first, in which loops may then be named."""
    views: list[Callable[[Kernel], Kernel]] = []
    if is_own:
        from kernlens.analysis.own_lines import kernel_on_own_lines

        views.append(partial(kernel_on_own_lines, roots=option.own_roots(source_roots)))
    if trip_words:
        from kernlens.analysis.trip_weights import kernel_with_trips
        from kernlens.cli.trips import trips_of

        views.append(partial(kernel_with_trips, trips=trips_of(trip_words)))
    return views


def _format_of(output: str | None) -> str:
    """Return the format that a file's ending stands for: ``x.csv`` is a table."""
    ending = os.path.splitext(output or "")[1].lower().lstrip(".")
    if ending == "html":
        raise click.UsageError(f"annotate does not write HTML; use kernlens report PATH -o {output}")
    if ending not in ("", "txt", *FORMATS):
        raise click.UsageError(f"annotate writes {', '.join(FORMATS)}; choose for {output} with --format")
    return ending if ending in FORMATS else "text"


def _form(format_name: str, only: LineChoice | None, has_waits: bool, *, is_printed: bool) -> Form:
    from kernlens.cli.listings import Lines, instructions_json

    if format_name == "json":
        return instructions_json(only, is_placed=True, has_waits=has_waits)
    if format_name == "csv":
        from kernlens.cli.answers.rows import COLUMNS, HEADING, csv_line, csv_lines

        if has_waits:
            from kernlens.report.wait_words import CSV_COLUMNS, csv_cells

            return Lines(
                lambda program, kernel: csv_lines(program, kernel, only, csv_cells(kernel)),
                csv_line((*COLUMNS, *CSV_COLUMNS)),
            )
        return Lines(lambda program, kernel: csv_lines(program, kernel, only), HEADING)
    from kernlens.report.listing import annotated

    if has_waits:
        from kernlens.report.wait_words import WaitNotes

        return Lines(
            lambda program, kernel: annotated(program, kernel, only, [WaitNotes(kernel)]), is_printed=is_printed
        )
    return Lines(lambda program, kernel: annotated(program, kernel, only), is_printed=is_printed)


def _costliest(format_name: str, asked: dict[str, Any], *, is_printed: bool) -> Form:
    from kernlens.cli.answers.costliest import costliest_kernel, costliest_program, costliest_table
    from kernlens.cli.listings import Json, Lines
    from kernlens.report.program_document import SCHEMA

    if format_name == "json":
        return Json({"schema": SCHEMA, "by": asked["order"]}, costliest_program, partial(costliest_kernel, **asked))
    return Lines(partial(costliest_table, **asked, width=_width()), is_printed=is_printed, has_texts=False)


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


def _print_places(
    contents: Contents,
    kernel_names: tuple[str, ...],
    device: str | None,
    asked: AskedOffsets,
    output: str | None,
    *,
    is_json: bool,
) -> None:
    """Print the line of each chosen kernel's instructions at these offsets, with the calls that they were inlined through."""
    from kernlens.cli.answers.offset_answer import OffsetAnswers
    from kernlens.cli.listings import Json, Lines, listing
    from kernlens.report.program_document import SCHEMA, program_document

    if is_json:
        form = Json(
            {"schema": SCHEMA},
            partial(program_document, has_sources=False),
            lambda program, kernel: OffsetAnswers(program, kernel).json(asked),
            has_texts=True,
        )
        print_pieces(listing(contents, kernel_names, device, form), output)
        return
    pieces = listing(
        contents, kernel_names, device, Lines(lambda program, kernel: OffsetAnswers(program, kernel).lines(asked))
    )
    *answers, closing = pieces
    known = [piece for piece in answers if piece]
    if not known:
        shown = ", ".join(f"{address:#x}" for address in asked.addresses[:_SHOWN_OFFSETS])
        more = ", ..." if len(asked.addresses) > _SHOWN_OFFSETS else ""
        raise NotFoundError(
            f"no selected kernel has an instruction at offset {shown}{more}; kernlens disasm lists the offsets"
        )
    print_pieces([*known, closing], output)
