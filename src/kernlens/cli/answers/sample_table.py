"""The lines of a kernel with most samples: what ``annotate --top --samples`` prints, and the samples in JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kernlens.analysis.line_texts import source_line
from kernlens.analysis.placed_samples import PlacedSamples
from kernlens.analysis.sampled_lines import SampledLine, sampled_lines
from kernlens.cli.answers.rows import spreadsheet_safe
from kernlens.cli.answers.sample_notes import sample_sentences
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.samples import Counts
from kernlens.model.source_map import IN_PROLOGUE, INHERITED, NO_LINE
from kernlens.report.describe import plural, short_names
from kernlens.report.listing import heading, uncertainty_lines
from kernlens.report.style import style
from kernlens.report.table import Cell, table

_APART = {IN_PROLOGUE: "prologue", INHERITED: "under a neighbour's line", NO_LINE: "without a line"}


def sampled_table(
    program: Program, kernel: Kernel, placed: PlacedSamples, count: int, width: int | None = None
) -> list[str]:
    """Return a table of the ``count`` lines with most samples, with the samples of waits that are laid on each, and a column
    for each reason that the kernel has samples of, the most frequent first. All rows together are the samples on the
    kernel's instructions."""
    above = [*heading(program, kernel)[:-1], *(f"  {sentence}" for sentence in sample_sentences(placed)), ""]
    if kernel.source_map is None:
        return [*above, style(f"  No source lines: {kernel.line_table_reason}", fg="yellow"), ""]
    if not placed.counts:
        return above
    by_line = sampled_lines(placed, kernel.source_map)
    shown, others = by_line.lines[:count], by_line.lines[count:]
    totals = placed.sum_of(placed.counts)
    columns = sorted((column for column, number in enumerate(totals) if number), key=lambda column: -totals[column])
    texts, names, total = program.source_lines, short_names({line.path for line in shown}), sum(totals)

    has_certain = kernel.source_map.uncertainty is not None

    def cells(title: str, counts: Counts, laid: int | None, source: str, certain: int | None = None) -> list[Cell]:
        number = sum(counts)
        sure: list[Cell] = [certain] if has_certain else []
        return [title, number, 100 * number / total, *sure, laid, *(counts[column] for column in columns), source]

    rows = [
        cells(
            f"{names[line.path]}:{line.line}",
            line.counts,
            line.laid,
            source_line(texts, line.path, line.line) or "",
            line.certain,
        )
        for line in shown
    ]
    if others:
        laid, certain = sum(line.laid for line in others), sum(line.certain for line in others)
        rows.append(cells(plural(len(others), "other line"), _together(others, len(totals)), laid, "", certain))
    rows += [
        cells(title, by_line.apart[origin], None, "") for origin, title in _APART.items() if origin in by_line.apart
    ]
    names_of_columns = [placed.reasons[column].name for column in columns]
    headings = ["line", "samples", "%", *(["certain"] * has_certain), "waited for", *names_of_columns, "source"]
    above += uncertainty_lines(kernel.source_map, width)
    return [*above, *table(headings, rows, width=width), ""]


def samples_document(kernel: Kernel, placed: PlacedSamples, *, most_lines: int | None = None) -> dict[str, Any]:
    """Return the key ``samples`` of a kernel: its counts by reason, by row and by line, and what lies on no instruction."""
    offsets, waits = kernel.instructions.offsets, _waits(placed)
    laid = placed.laid_on()
    return {
        "profiler": placed.profiler,
        "devices": list(placed.devices),
        "total": placed.total,
        "reasons": _named(placed, placed.sum_of(placed.counts)),
        "instructions": [
            {
                "offset": offsets[row],
                "samples": _named(placed, placed.counts.get(row)),
                "waits_for": [
                    {"offset": offsets[producer], "samples": samples} for producer, samples in waits.get(row, ())
                ],
                "waited_for": laid.get(row, 0),
                "measured": placed.measured_of([row]),
            }
            for row in sorted({*placed.counts, *placed.measured, *laid})
        ],
        "lines": None if kernel.source_map is None else _lines(kernel, placed, most_lines),
        "without_instruction": [
            {"offset": offset, "samples": _named(placed, counts)} for offset, counts in placed.unplaced.items()
        ],
        "unknown_producer": placed.unblamed,
    }


def sample_cells(placed: PlacedSamples, row: int, laid: int) -> Iterator[object]:
    """Yield the cells of an instruction in CSV, as ``sample_columns_of`` names them."""
    counts = placed.counts.get(row, (0,) * len(placed.reasons))
    yield sum(counts)
    yield from counts
    yield laid
    yield from placed.measured.get(row, (0,) * len(placed.measures))


def sample_columns_of(reasons: Iterable[str], measures: Iterable[str] = ()) -> list[str]:
    """Return the columns that samples add to a table of instructions in CSV."""
    return ["samples", *map(spreadsheet_safe, reasons), "waited_for", *map(spreadsheet_safe, measures)]


def _lines(kernel: Kernel, placed: PlacedSamples, most: int | None) -> list[dict[str, Any]]:
    assert kernel.source_map is not None
    return [
        {
            "path": line.path,
            "line": line.line,
            "total": line.total,
            "certain": line.certain,
            "samples": _named(placed, line.counts),
            "waited_for": line.laid,
            "measured": line.measured,
        }
        for line in sampled_lines(placed, kernel.source_map).lines[:most]
    ]


def _waits(placed: PlacedSamples) -> dict[int, list[tuple[int, int]]]:
    waits: dict[int, list[tuple[int, int]]] = {}
    for blame in placed.blames:
        waits.setdefault(blame.waiter, []).append((blame.producer, blame.samples))
    return waits


def _named(placed: PlacedSamples, counts: Counts | None) -> dict[str, int]:
    """Return counts by their reasons, without those that are 0."""
    return {reason.name: count for reason, count in zip(placed.reasons, counts or (), strict=False) if count}


def _together(lines: Sequence[SampledLine], count: int) -> Counts:
    return tuple(sum(line.counts[column] for line in lines) for column in range(count))
