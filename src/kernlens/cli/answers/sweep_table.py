"""A sweep's rows as a text table, CSV and JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from kernlens.analysis.cxx_names import kernel_title
from kernlens.cli.answers.rows import csv_line, spreadsheet_safe
from kernlens.model.figure import Figure
from kernlens.model.figures import FIGURES, STATED, notes_on_unknown, without_details
from kernlens.model.spills import SPILLED_BYTES, has_spills
from kernlens.model.sweep_row import LABELS, MEASURED, SweepRow, equal_code, own_columns, worst_first
from kernlens.report.describe import plural, short_names
from kernlens.report.style import rendered, style
from kernlens.report.table import SOME, Cell, table
from kernlens.report.width import Name

#: The kernels whose code is the same with several sets of options that are named, and the sets of each.
_EQUAL = 5
_SETS = 4


def sweep_table(rows: Sequence[SweepRow], figure: Figure, top: int) -> Iterator[str]:
    """Yield the kernels with most of ``figure`` first, ``top`` of them (0: all), then what failed, each compile by itself."""
    ordered = worst_first(rows, figure)
    shown = ordered[: top or None]
    if shown:
        figures = _columns(shown, figure)
        titles = ["kernel", *_telling(rows)]
        names = short_names({row.source for row in rows})
        cells: list[list[Cell]] = [
            [
                Name(kernel_title(row.kernel or "")),
                *(names.get(text, text) for text in (getattr(row, title) for title in titles[1:])),
            ]
            + [_cell(row, shown_figure) for shown_figure in figures]
            for row in shown
        ]
        yield from table([*titles, *(column.heading for column in figures)], cells)
        notes = notes_on_unknown((row.figures for row in shown), figures)
        yield from (style(f"  {note}", dim=True) for note in notes)
    if len(ordered) > len(shown):
        yield style(f"  and {plural(len(ordered) - len(shown), 'more row')}: --top 0, --csv FILE", dim=True)


def _cell(row: SweepRow, figure: Figure) -> Cell:
    """Return a value; of spilled bytes that the binary does not state, that there are some if the code shows them."""
    value = row.value(figure)
    return SOME if value is None and figure == SPILLED_BYTES and has_spills(row.figures) else value


def _columns(rows: Sequence[SweepRow], figure: Figure) -> tuple[Figure, ...]:
    """Return the figures of a table of these rows. If each states figures of its own, those of all kernels that none of
    them states are left out."""
    details = without_details(FIGURES, rows, SweepRow.value)
    figures = details if figure in details else [figure, *details]
    are_own = all(row.own for row in rows)
    shown = (
        each
        for each in figures
        if not are_own or each not in STATED or any(row.value(each) is not None for row in rows)
    )
    return (*shown, *(each for each in own_columns(rows) if each not in figures))


def failure_lines(rows: Iterable[SweepRow], top: int) -> Iterator[str]:
    """Yield a line for each compile, or kernel, that could not be measured, ``top`` of them (0: all)."""
    failed = [row for row in rows if row.reason]
    for row in failed[: top or None]:
        where = " ".join(filter(None, (row.device, row.toolchain, row.options)))
        yield f"{row.source} ({where}): {row.reason}"
    if top and len(failed) > top:
        yield f"and {len(failed) - top:,} more that failed: --top 0, --csv FILE"


def warning_lines(rows: Iterable[SweepRow], top: int) -> Iterator[str]:
    """Yield the compilers' warnings, each once, and which compiles have it, ``top`` of them (0: all)."""
    compiles: dict[tuple[str, ...], tuple[str, ...]] = {}
    for row in rows:
        if not row.reason or row.kernel is not None:
            compiles[row.source, row.device, row.toolchain, row.options] = row.warnings
    warned: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for labels, warnings in compiles.items():
        for warning in warnings:
            warned.setdefault((labels[0], warning), []).append(labels)
    for (source, warning), own in list(warned.items())[: top or None]:
        of_all = [labels for labels in compiles if labels[0] == source]
        yield f"warning: {warning}{_for_some(own, of_all)}"
    if top and len(warned) > top:
        yield f"and {plural(len(warned) - top, 'more warning')}: --top 0"


def _for_some(compiles: Sequence[tuple[str, ...]], of_all: Sequence[tuple[str, ...]]) -> str:
    """Return the end of a line about some compiles of a source: how many, and what they have in common."""
    if len(compiles) == len(of_all):
        return ""
    shared = [
        next(iter(own))
        for own, every in zip(map(set, zip(*compiles, strict=True)), map(set, zip(*of_all, strict=True)), strict=True)
        if len(own) == 1 < len(every)
    ]
    by = f", all with {' '.join(shared)}" if any(shared) else ""
    return f" [{len(compiles):,} of {len(of_all):,} compiles{by}]"


def equal_code_lines(rows: Iterable[SweepRow]) -> Iterator[str]:
    """Yield a line for each kernel whose code is the same with several sets of options, and what that may come from."""
    rows = list(rows)
    alike: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for group in equal_code(rows):
        first = group[0]
        targets = alike.setdefault((first.source, first.kernel or "", tuple(row.options for row in group)), [])
        targets.append(" ".join([first.device, *([first.toolchain] if "toolchain" in _telling(rows) else [])]))
    for (_, kernel, options), targets in list(alike.items())[:_EQUAL]:
        sets = ", ".join(each or "no options" for each in options[:_SETS])
        more = f" and {len(options) - _SETS:,} more" if len(options) > _SETS else ""
        yield f"  {kernel_title(kernel)} has the same machine code with {sets}{more} ({', '.join(targets)})"
    if len(alike) > _EQUAL:
        yield f"  and {plural(len(alike) - _EQUAL, 'more kernel')} with the same code for several sets of options"


def _telling(rows: Iterable[SweepRow]) -> list[str]:
    """Return the labels in which rows differ, and the device."""
    rows = list(rows)
    labels = ("source", "device", "toolchain", "options")
    return [name for name in labels if name == "device" or len({getattr(row, name) for row in rows}) > 1]


def csv_rows(
    rows: Iterable[SweepRow],
    figures: Sequence[Figure] = MEASURED,
    best: Collection[int] | None = None,
) -> Iterator[str]:
    """Yield the heading and a line for each row, which has these ``figures``. Texts that files hold begin with nothing
    that spreadsheets take for a formula; options are as the user wrote them. With ``best``, the ids of the rows of best sets,
    there is a column for these."""
    rows = list(rows)
    own = own_columns(rows)
    keys = (figure.key for figure in (*figures, *own))
    yield csv_line((*LABELS, *keys, "reason", *(() if best is None else ("best",))))
    for row in rows:
        values = (*(row.values or (None,) * len(figures)), *map(row.value, own))
        yield csv_line(
            (
                _text(row.source),
                row.device,
                row.toolchain,
                row.compiler,
                row.options,
                _text(row.kernel or ""),
                *("" if value is None else value for value in values),
                _text(row.reason),
                *(() if best is None else (int(id(row) in best),)),
            )
        )


def _text(text: str) -> str:
    return spreadsheet_safe(rendered(text))


def sweep_document(rows: Iterable[SweepRow]) -> dict[str, Any]:
    """Return the rows in the order of the matrix; those without a kernel say why."""
    return {
        "schema": 1,
        "rows": [
            {
                **{name: getattr(row, name) for name in LABELS},
                "toolchain_name": row.toolchain,
                "figures": row.figures if row.kernel is not None else None,
                "has_spills": has_spills(row.figures),
                "reason": row.reason or None,
                "code": row.code or None,
                "warnings": list(row.warnings),
            }
            for row in rows
        ],
    }
