"""Plain aligned tables, quick to import: ``inspect`` answers within 100 ms, which leaves no time for a library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernlens.report.style import fitting_width, style
from kernlens.report.width import shortened

#: A cell: text is aligned left, numbers right; None is shown as a dash, as what the file does not say.
Cell = str | int | float | None
#: A number that is not known, but not 0.
SOME = "> 0"
#: Cells that say nothing.
_UNFILLED = (None, "", "-")
#: Between columns.
_GAP = "  "
#: Texts are not made shorter than this for the sake of a table's width.
_SHORTEST = 12


def table(
    headings: Sequence[str], rows: Sequence[Sequence[Cell]], indent: str = "  ", *, width: int | None = None
) -> Iterator[str]:
    """Yield the lines of a table. A column is aligned right if all its cells are numbers or None.

    A column behind the first that no row fills is left out. Where width is limited (``width``, or ``style.fit_to``, 30
    characters at least), long texts are shortened, and columns that do not fit beside the others follow below these, behind
    the first one again.
    """
    filled = [i for i in range(len(headings)) if not i or not rows or any(row[i] not in _UNFILLED for row in rows)]
    headings, rows = [headings[i] for i in filled], [[row[i] for i in filled] for row in rows]
    texts = [[_text(cell) for cell in row] for row in rows]
    widths = [max([len(heading), *(len(row[i]) for row in texts)]) for i, heading in enumerate(headings)]
    right = [
        bool(rows) and all(not isinstance(row[i], str) or row[i] == SOME for row in rows) for i in range(len(headings))
    ]
    limit = min((each for each in (fitting_width(), width) if each is not None), default=None)
    groups = [list(range(len(headings)))]
    if limit is not None and _sum(widths, indent) > limit:
        whole, room = list(widths), limit - len(indent)
        _shorten(widths, right, headings, room)
        if _sum(widths, indent) > limit:  # It goes on below, so that what all parts begin with may have more room.
            widths[0] = min(whole[0], max(widths[0], room // 2))
        groups = _beside(widths, room)
        for group in groups:  # What is left beside the others is for those that were shortened.
            for column in group[1:]:
                widths[column] += min(whole[column] - widths[column], room - _sum([widths[each] for each in group]))
        texts = [[shortened(text, most) for text, most in zip(row, widths, strict=True)] for row in texts]

    def line(cells: Sequence[str], columns: Sequence[int]) -> str:
        return (
            indent
            + _GAP.join(
                cells[column].rjust(widths[column]) if right[column] else cells[column].ljust(widths[column])
                for column in columns
            ).rstrip()
        )

    for columns in groups:
        yield style(line(headings, columns), bold=True)
        yield from (line(row, columns) for row in texts)


def _sum(widths: Sequence[int], indent: str = "") -> int:
    return len(indent) + sum(widths) + len(_GAP) * (len(widths) - 1)


def _shorten(widths: list[int], right: Sequence[bool], headings: Sequence[str], limit: int) -> None:
    """Make the widest columns of texts narrower, until the table fits or they are as narrow as they may be."""
    least = [
        width if numeric else min(width, max(len(heading), _SHORTEST))
        for width, numeric, heading in zip(widths, right, headings, strict=True)
    ]
    while (excess := _sum(widths) - limit) > 0:
        column = max(range(len(widths)), key=lambda each: widths[each] - least[each])
        room = widths[column] - least[column]
        if room <= 0:
            return
        # Down to the next widest, so that none is narrowed for the sake of another as wide.
        others = [widths[each] for each in range(len(widths)) if each != column and widths[each] > least[each]]
        step = widths[column] - max([width for width in others if width < widths[column]], default=0)
        widths[column] -= max(1, min(excess, room, step))


def _beside(widths: Sequence[int], limit: int) -> list[list[int]]:
    """Return the columns that stand beside one another, group by group, each with the first column."""
    groups = [[0]]
    for column in range(1, len(widths)):
        group = [*groups[-1], column]
        if len(groups[-1]) > 1 and _sum([widths[each] for each in group]) > limit:
            groups.append([0, column])
        else:
            groups[-1] = group
    return groups


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else cell
