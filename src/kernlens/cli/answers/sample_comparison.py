"""The samples of two sides: text and JSON of ``diff --samples``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kernlens.analysis.comparison.sample_changes import SampleChange
from kernlens.report.describe import kernel_words
from kernlens.report.program_document import place_document
from kernlens.report.style import style
from kernlens.report.table import Cell, table

#: Lines of a kernel that are shown.
_SHOWN = 10
_HEADINGS = ("old", "old %", "new", "new %")


def sample_change_lines(change: SampleChange, width: int | None = None) -> Iterator[str]:
    """Yield a kernel's samples by reason and by line, old and new, each with its share of that side's samples."""
    pair, totals = change.pair, (change.old.total, change.new.total)
    yield ""
    yield style(f"samples of {kernel_words(pair.new)}", bold=True)
    rows = [_row(name, old, new, totals, "") for name, old, new in _reasons(change)]
    rows.append(_row("all", *totals, totals, ""))
    yield from table(["reason", *_HEADINGS], [row[:-1] for row in rows], width=width)
    if not change.lines:
        return
    rows = []
    for line in change.lines[:_SHOWN]:
        key = line.key
        old, new = change.sources.texts(key)
        number = f"{key.new or key.old}" if key.old in (key.new, 0) or not key.new else f"{key.old} -> {key.new}"
        rows.append(
            _row(
                f"{key.path.rsplit('/', 1)[-1]}:{number}",
                line.old,
                line.new,
                totals,
                ((new if key.new else old) or "").strip(),
            )
        )
    yield ""
    yield from table(["line", *_HEADINGS, "source"], rows, width=width)
    if len(change.lines) > _SHOWN:
        yield f"  and {len(change.lines) - _SHOWN:,} more lines; --json has all"


def sample_change_document(change: SampleChange) -> dict[str, Any]:
    """Return a kernel's samples on both sides, as the document of ``diff`` has them under ``samples``."""
    return {
        "kernel": change.pair.new.name,
        **place_document(change.pair.new_program),
        "old": change.old.total,
        "new": change.new.total,
        "reasons": [{"name": name, "old": old, "new": new} for name, old, new in _reasons(change)],
        "lines": [
            {
                "path": line.key.path,
                "old_line": line.key.old or None,
                "new_line": line.key.new or None,
                "old": line.old,
                "new": line.new,
            }
            for line in change.lines
        ],
    }


def _reasons(change: SampleChange) -> Sequence[tuple[str, int, int]]:
    """Return the reasons that either side has samples of."""
    numbers: dict[str, list[int]] = {}
    for side, placed in enumerate((change.old, change.new)):
        for reason, count in zip(placed.reasons, placed.sum_of(placed.counts), strict=True):
            numbers.setdefault(reason.name, [0, 0])[side] += count
    return [(name, old, new) for name, (old, new) in numbers.items() if old or new]


def _row(title: str, old: int, new: int, totals: tuple[int, int], source: str) -> list[Cell]:
    shares = [100 * number / total if total else None for number, total in zip((old, new), totals, strict=True)]
    return [title, old, shares[0], new, shares[1], source]
