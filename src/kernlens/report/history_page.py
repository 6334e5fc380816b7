"""The history of one figure as a page of HTML that needs no network: a line for each kernel over the commits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kernlens.analysis.cxx_names import kernel_title
from kernlens.dataclass import dataclass
from kernlens.model.figure import Figure
from kernlens.report.describe import short_names
from kernlens.report.page_look import LOOK
from kernlens.report.style import html_line, page_head

#: Lines of kernels, and points of a line, at most: a browser takes no more with ease.
_LINES = 2000
_POINTS = 200
_WIDTH, _HEIGHT, _MARGIN = 360, 36, 5
_COLUMNS = ("source", "kernel", "device", "toolchain", "options")

_STYLE = f"""{LOOK}
.scroll {{ overflow-x: auto; }}
th, td {{ border: 1px solid var(--rule); }}
thead th {{ background: var(--panel); }}
td.number {{ text-align: right; }}
.worse {{ color: var(--warn); fill: var(--warn); }}
.better {{ color: var(--better); fill: var(--better); }}
svg {{ display: block; }}
polyline {{ fill: none; stroke: var(--accent); stroke-width: 1.5; }}
circle {{ fill: var(--accent); }}
"""


@dataclass(frozen=True, slots=True)
class Point:
    """The value of a figure in one commit: its time and id (None: not known), and whether the source was changed after it."""

    date: str
    commit: str | None
    changed: bool
    value: int | None

    @property
    def title(self) -> str:
        """The value with its commit and time."""
        commit = f" {self.commit[:10]}{' and changes' if self.changed else ''}" if self.commit else ""
        return f"{'-' if self.value is None else f'{self.value:,}'}{commit} {self.date}"


def history_page(series: Mapping[tuple[str, ...], Sequence[Point]], figure: Figure) -> Iterator[str]:
    """Yield the page, piece by piece. ``series`` has the points of each line in order, by source, kernel, device, toolchain and
    options. The line that got worse by most is first."""
    title = f"{figure.heading} of {len(series):,} kernels over time"
    names = short_names({key[0] for key in series})
    shown = sorted(series, key=lambda key: -_worsening(series[key], figure))[:_LINES]
    yield page_head(title, _STYLE)
    yield (
        f"<h1>{html_line(title)}</h1>\n<p>{html_line(figure.meaning)}, in {html_line(figure.unit)}. Each point is a commit;"
        " the ones that got worse have another colour, and each says its value and commit.</p>\n"
    )
    if len(shown) < len(series):
        yield f"<p>The {len(shown):,} lines that got worse by most are shown.</p>\n"
    differing = [place for place in range(5) if place == 1 or len({key[place] for key in series}) > 1]
    heads = "".join(
        f"<th>{name}</th>"
        for name in [*(_COLUMNS[place] for place in differing), "first", "last", "change", "oldest to newest"]
    )
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{html_line(title)}"><table><thead><tr>{heads}</tr>'
    yield "</thead><tbody>\n"
    for key in shown:
        labels = (names[key[0]], kernel_title(key[1]), *key[2:4], key[4] or "no options")
        cells = "".join(f"<th>{html_line(labels[place])}</th>" for place in differing)
        yield f"<tr>{cells}{_line(series[key][-_POINTS:], figure)}</tr>\n"
    yield "</tbody></table></div>\n</html>\n"


def _worsening(points: Sequence[Point], figure: Figure) -> int:
    values = [point.value for point in points if point.value is not None]
    growth = values[-1] - values[0] if values else 0
    return -growth if figure.more_is_better else growth


def _line(points: Sequence[Point], figure: Figure) -> str:
    """Return the cells of a line: its first and last value, their difference, and the picture."""
    known = [(number, point, point.value) for number, point in enumerate(points) if point.value is not None]
    if not known:
        return '<td class="number">-</td><td class="number">-</td><td></td><td></td>'
    values = [value for _, _, value in known]
    least, room = min(values), max(values) - min(values)
    places = [
        (
            _MARGIN + (_WIDTH - 2 * _MARGIN) * number / max(len(points) - 1, 1),
            _HEIGHT / 2 if not room else _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * (value - least) / room,
        )
        for number, _, value in known
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    before = [values[0], *values]
    circles = "".join(
        f'<circle class="{_class(value - old, figure)}" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{html_line(point.title)}'
        "</title></circle>"
        for (x, y), (_, point, value), old in zip(places, known, before, strict=False)
    )
    change = values[-1] - values[0]
    label = html_line(f"{figure.heading}: {values[0]:,} to {values[-1]:,} over {len(points)} points")
    return (
        f'<td class="number">{values[0]:,}</td><td class="number">{values[-1]:,}</td>'
        f'<td class="number {_class(change, figure)}">{f"{change:+,}" if change else ""}</td>'
        f'<td><svg role="img" aria-label="{label}" width="{_WIDTH}" height="{_HEIGHT}">'
        f'<polyline points="{line}"/>{circles}</svg></td>'
    )


def _class(change: int, figure: Figure) -> str:
    return "" if not change else "worse" if (change > 0) != figure.more_is_better else "better"
