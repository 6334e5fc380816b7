"""Plain aligned tables, quick to import: ``inspect`` answers within 100 ms, which leaves no time for a library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernlens.report.style import style

#: A cell: text is aligned left, numbers right; None is shown as a dash, as what the file does not say.
Cell = str | int | float | None


def table(headings: Sequence[str], rows: Sequence[Sequence[Cell]], indent: str = "  ") -> Iterator[str]:
    """The lines of a table. A column is aligned right if all its cells are numbers or None."""
    texts = [[_text(cell) for cell in row] for row in rows]
    widths = [max([len(heading), *(len(row[i]) for row in texts)]) for i, heading in enumerate(headings)]
    right = [bool(rows) and all(not isinstance(row[i], str) for row in rows) for i in range(len(headings))]

    def line(cells: Sequence[str]) -> str:
        return (
            indent
            + "  ".join(
                cell.rjust(width) if numeric else cell.ljust(width)
                for cell, width, numeric in zip(cells, widths, right, strict=True)
            ).rstrip()
        )

    yield style(line(headings), bold=True)
    yield from (line(row) for row in texts)


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else cell
