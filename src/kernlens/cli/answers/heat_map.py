"""A heat map of one figure: kernels by device, toolchain and options, as a page of HTML that needs no network.

A colour never stands alone: the number is in the cell, and the worst have a mark too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from kernlens.analysis.cxx_names import kernel_title
from kernlens.dataclass import dataclass
from kernlens.model.figure import Figure
from kernlens.model.sweep_row import SweepRow, worst_first
from kernlens.report.describe import short_names
from kernlens.report.style import html_line

MARK = "▲"
FAILED = "failed"

#: Steps of a cell's colour, from little to much.
_SHADES = 9
_MARKED = 10
#: Kernels shown: a browser takes no more with ease.
_KERNELS = 2000

Column = tuple[str, str, str]


@dataclass(frozen=True)
class HeatMap:
    """The content of a heat map: ``kernels`` (source and name), the one with the worst cell first, by ``columns``
    (device, toolchain, options), as far as there is room; ``count`` counts all kernels."""

    figure: Figure
    kernels: Sequence[tuple[str, str]]
    columns: Sequence[Column]
    count: int
    cells: dict[tuple[str, str, Column], SweepRow]
    failures: dict[tuple[str, Column], str]

    @cached_property
    def most(self) -> int:
        """The largest value."""
        return max((row.value(self.figure) or 0 for row in self.cells.values()), default=0)

    @cached_property
    def names(self) -> dict[str, str]:
        """The short name of each source."""
        return short_names({source for source, _ in self.kernels})

    @cached_property
    def ordered(self) -> list[SweepRow]:
        """The rows of the cells, the worst first."""
        return worst_first(self.cells.values(), self.figure)

    @cached_property
    def worst(self) -> frozenset[int]:
        """The ids of the rows that are marked."""
        return frozenset(id(row) for row in self.ordered[:_MARKED] if self.shade(row.value(self.figure)))

    def shade(self, value: int | None) -> int | None:
        """Return the number of a value's shade, the first for the best; None for one that is not known."""
        if value is None:
            return None
        if self.figure.more_is_better:
            value = self.most - value
        # The root keeps small values apart where a few are many times as large.
        return round(math.sqrt(value / self.most) * (_SHADES - 1)) if self.most else 0

    def text(self, row: SweepRow | None, source: str, column: Column) -> str:
        """Return the text of a cell."""
        if row is None:
            return FAILED if (source, column) in self.failures else ""
        value = row.value(self.figure)
        number = "-" if value is None else f"{value:,}"
        return f"{MARK} {number}" if id(row) in self.worst else number

    def column_titles(self) -> list[tuple[str, ...]]:
        """Return each column's device, and its toolchain and options where these are not the same everywhere."""
        differing = [0] + [part for part in (1, 2) if len({column[part] for column in self.columns}) > 1]
        return [tuple(column[part] or "no options" for part in differing) for column in self.columns]


def heat_map(
    rows: Iterable[SweepRow],
    figure: Figure,
    limit: int = _KERNELS,
    titles: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> HeatMap:
    """Return the heat map of a sweep's rows, with ``limit`` kernels at most. ``titles`` are, by source and options, the sets
    of options that columns stand for, where sources have options of their own besides."""
    cells: dict[tuple[str, str, Column], SweepRow] = {}
    failures: dict[tuple[str, Column], str] = {}
    columns: dict[Column, None] = {}
    sources: dict[str, None] = {}
    for row in rows:
        column = row.device, row.toolchain, titles.get((row.source, row.options), row.options)
        columns[column] = None
        if row.kernel is None:
            failures[row.source, column] = row.reason
            sources[row.source] = None
        else:
            cells[row.source, row.kernel, column] = row
    ordered = worst_first(cells.values(), figure)
    kernels = dict.fromkeys((row.source, row.kernel or "") for row in ordered)
    # A source that compiles nowhere has a line too, without a kernel's name.
    named = {source for source, _ in kernels}
    kernels |= dict.fromkeys((source, "") for source in sources if source not in named)
    shown = list(kernels)[:limit]
    drawn = {key: row for key, row in cells.items() if key[:2] in set(shown)} if len(shown) < len(kernels) else cells
    return HeatMap(figure, shown, list(columns), len(kernels), drawn, failures)


#: Steps of heat are one colour, more of it, as in the viewer: 6% to 36%, on which ink is read in both themes.
_STEPS = "".join(
    f".h{n} {{ background: light-dark(rgb(196 72 20 / {share}%), rgb(240 120 60 / {share}%)); }}\n"
    for n, share in enumerate(round(6 + 30 * n / (_SHADES - 1)) for n in range(_SHADES))
)
#: The viewer's colours (viewer/src/style/tokens.css): name -> what it is on light ground and on dark ground.
COLOURS = {
    "paper": ("#fff", "#12151b"), "panel": ("#f6f7f9", "#191d25"), "ink": ("#1b2230", "#dfe4ee"),
    "soft": ("#566074", "#9aa5b9"), "rule": ("#e0e4eb", "#2b313d"), "accent": ("#1d56c9", "#86adff"),
    "warn": ("#a24300", "#ffb074"), "error": ("#b3261e", "#ff9d94"),
}  # fmt: skip
_VARIABLES = " ".join(f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in COLOURS.items())
_STYLE = f"""
:root {{ color-scheme: light dark; {_VARIABLES} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; padding: 14px 18px; color: var(--ink); background: var(--paper);
  font: 12.5px/1.4 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }}
h1 {{ margin: 0 0 4px; font-size: 14px; font-weight: 650; }}
p {{ margin: 0 0 6px; }}
.scroll {{ overflow-x: auto; }}
table {{ margin: 12px 0; border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 2px 10px; font-weight: 400; text-align: left; border: 1px solid var(--rule); }}
thead th {{ color: var(--soft); max-width: 16em; overflow-wrap: anywhere; vertical-align: bottom; background: var(--panel); }}
td {{ text-align: right; white-space: nowrap; }}
:focus-visible {{ outline: 2px solid var(--accent); outline-offset: 1px; }}
.worst {{ font-weight: 650; outline: 2px solid var(--warn); outline-offset: -2px; }}
.failed {{ color: var(--error); }}
{_STEPS}"""


def heat_map_page(shown: HeatMap) -> Iterator[str]:
    """Yield the page, piece by piece."""
    title = f"{shown.figure.heading} of {shown.count:,} kernels"
    yield _page_head(title, _STYLE)
    yield (
        f"<h1>{html_line(title)}</h1>\n<p>{html_line(shown.figure.meaning)}, in {html_line(shown.figure.unit)}. "
        f"{MARK} marks the worst.</p>\n"
    )
    if len(shown.kernels) < shown.count:
        yield f"<p>The worst {len(shown.kernels):,} kernels are shown.</p>\n"
    heads = "".join(f"<th>{'<br>'.join(map(html_line, parts))}</th>" for parts in shown.column_titles())
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{html_line(title)}"><table><thead><tr>'
    yield f"<th>source</th><th>kernel</th>{heads}</tr></thead><tbody>\n"
    for source, kernel in shown.kernels:
        cells = "".join(_cell(shown, source, kernel, column) for column in shown.columns)
        yield f"<tr><th>{html_line(shown.names[source])}</th><th>{html_line(kernel_title(kernel) or '-')}</th>{cells}</tr>\n"
    yield "</tbody></table></div>\n"
    yield "</html>\n"


def _cell(shown: HeatMap, source: str, kernel: str, column: Column) -> str:
    row = shown.cells.get((source, kernel, column))
    text = shown.text(row, source, column)
    if row is None:
        why = html_line(shown.failures.get((source, column), ""))
        return f'<td{" class=failed" if text else ""} title="{why}">{html_line(text)}</td>'
    shade = shown.shade(row.value(shown.figure))
    classes = [*([f"h{shade}"] if shade is not None else []), *(["worst"] if id(row) in shown.worst else [])]
    where = " ".join(filter(None, (row.source, "for", row.device, f"by {row.toolchain}", row.options)))
    return f'<td class="{" ".join(classes)}" title="{html_line(where)}">{html_line(text)}</td>'


def _page_head(title: str, css: str) -> str:
    """Return the beginning of a page without scripts. Nothing in it can ask for anything from anywhere, whatever text it
    holds: its policy allows this style only."""
    from base64 import b64encode
    from hashlib import sha256

    digest = b64encode(sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width">\n'
        f"<title>{html_line(title)}</title>\n<style>{css}</style>\n"
    )
