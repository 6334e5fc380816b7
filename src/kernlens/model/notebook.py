"""The HTML that notebooks show of kernels and instructions, behind their ``_repr_html_``.

It stands here, not in ``report``, because it holds nothing but the model's own words (figures, offsets, assembly) and the
nouns must find it by themselves. Names and texts come out of binaries that are not ours to trust: all are escaped, and
the only script is the viewer's, in a frame that is closed off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice, zip_longest

from kernlens.errors import KernlensError
from kernlens.model.figure import Figure, Measured, MeasuredKernel
from kernlens.model.figures import LINE_COLUMNS, STATED, costs_of, figures_of, shown_figures

#: Kernels or instructions beyond this many are counted, not shown: a notebook keeps what it shows in its file.
SHOWN = 500
#: The style of what has columns. Pages that are made of notebooks style even ``pre`` with letters of any width and break lines.
MONOSPACED = "font-family: monospace; overflow-x: auto"
#: Instructions below a page that shows all of them: for where frames are not shown.
FEW = 80


def kernel_table(kernels: Mapping[str, MeasuredKernel]) -> str:
    """Return an HTML table of kernels, their figures and their costs."""
    shown = dict(islice(kernels.items(), SHOWN))
    figures = _figures(shown.values())
    headings = [f'<th title="{escape(figure.meaning)} ({figure.unit})">{figure.heading}</th>' for figure in figures]
    headings += [f"<th>{column.heading}</th>" for column in LINE_COLUMNS]
    rows = (f"<tr><td>{escape(name)}</td>{_cells(kernel, figures)}</tr>" for name, kernel in shown.items())
    return _framed(f"<th>kernel</th>{''.join(headings)}", rows, len(kernels))


def _framed(headings: str, rows: Iterable[str], count: int) -> str:
    """Return a table of which at most ``SHOWN`` of ``count`` rows are shown, in letters of one width: in proportional ones
    numbers and names of kernels do not stand below each other."""
    more = f"<p>and {count - SHOWN:,} more</p>" if count > SHOWN else ""
    table = f"<table><thead><tr>{headings}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div style="{MONOSPACED}">{table}{more}</div>'


def _figures(kernels: Iterable[Measured]) -> tuple[Figure, ...]:
    try:
        return shown_figures(kernels)
    except KernlensError:  # One is damaged, and its row says so.
        return STATED


def _cells(kernel: MeasuredKernel, figures: Sequence[Figure]) -> str:
    try:
        values = [*figures_of(kernel, figures).values()]
    except KernlensError as error:
        return f'<td colspan="{len(figures) + len(LINE_COLUMNS)}">{escape(str(error))}</td>'
    costs = costs_of(kernel)
    values += [column.sum(costs) if costs else None for column in LINE_COLUMNS]
    return "".join(f"<td>{_cell(value)}</td>" for value in values)


def data_table(columns: Mapping[str, Sequence[str | float | None]], count: int) -> str:
    """Return an HTML table of columns that have ``count`` rows."""
    headings = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = (
        f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>"
        for row in islice(zip(*columns.values(), strict=True), SHOWN)
    )
    return _framed(headings, rows, count)


def _cell(value: str | float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else escape(str(value))


def kernel_page(name: str, words: str, instructions: int = 0, lines: str = "", page: str = "") -> str:
    """Return the HTML of a kernel: its name, its figures in words, its ``page`` in a frame of its own, which may run
    its script and reach nothing else, and below them the listing ``lines``, folded, for where frames are not shown."""
    frame = ""
    if page:
        title = escape(f"kernlens: {name}")
        source = escape(page)
        frame = f'<iframe title="{title}" sandbox="allow-scripts" width="100%" height="640" srcdoc="{source}"></iframe>'
    folded = f"<details><summary>Instructions ({instructions:,})</summary>{lines}</details>" if lines else ""
    return f"<strong>{escape(name)}</strong> {escape(words)}{frame}{folded}"


def listing(
    offsets: Sequence[int], texts: Sequence[str], lines: Sequence[int | None] = (), *, most: int = SHOWN
) -> str:
    """Return the HTML listing of at most so many instructions: the offset, the source line (of each, or of none), and
    the text."""
    rows = []
    for offset, text, line in islice(zip_longest(offsets, texts, lines), most):
        column = f"{line or '':>6}  " if lines else ""
        rows.append(f"{offset:#06x}  {column}{text.rstrip()}")
    if len(offsets) > most:
        rows.append(f"... and {len(offsets) - most:,} more")
    return preformatted(escape(chr(10).join(rows)))


def preformatted(lines: str) -> str:
    """Return lines of HTML as they are, in letters of one width."""
    return f'<pre style="{MONOSPACED}; white-space: pre">{lines}</pre>'
