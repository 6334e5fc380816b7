"""The heat map: what is in its cells, and that a page can neither run nor ask for anything."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from kernlens.cli.answers.heat_map import _STYLE, COLOURS, heat_map, heat_map_page
from kernlens.model.figures import figure_named
from kernlens.model.sweep_row import MEASURED, SweepRow
from tests.tree import ROOT

SPILLS = figure_named("spill-stores")


def row(
    kernel: str | None, spills: int | None, device: str = "dg2", options: str = "", source: str = "a.cl"
) -> SweepRow:
    values = tuple(spills if figure is SPILLS else 7 for figure in MEASURED) if kernel else ()
    return SweepRow(source, device, "system", "NEO 1", options, kernel, values, "" if kernel else "it <crashed>")


class Page(HTMLParser):
    """The elements of a page with their attributes, and the texts in table cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "td":
            self.cells.append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag != "td"

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.cells[-1] += data


def page(rows: list[SweepRow]) -> tuple[str, Page]:
    text = "".join(heat_map_page(heat_map(rows, SPILLS)))
    return text, Page(text)


def test_cells_hold_their_figure() -> None:
    rows = [row("calm", 0), row("calm", 9, "skl"), row("bad", 1234), row("bad", None, "skl")]
    _, read = page(rows)
    assert read.cells == ["▲ 1,234", "-", "0", "▲ 9"]
    cells = [attributes for tag, attributes in read.elements if tag == "td"]
    assert [cell["class"] for cell in cells] == ["h8 worst", "", "h0", "h1 worst"]
    assert [cell["title"] for cell in cells[:1]] == ["a.cl for dg2 by system"]


def test_a_compile_that_failed_is_a_word_in_each_of_its_cells() -> None:
    rows = [
        row("k", 1),
        row(None, None, "skl"),
        row(None, None, "dg2", source="b.cl"),
        row(None, None, "skl", source="b.cl"),
    ]
    text, read = page(rows)
    assert read.cells == ["▲ 1", "failed", "failed", "failed"]
    assert text.count('title="it &lt;crashed&gt;"') == 3


def test_nothing_in_a_page_runs_or_is_asked_for() -> None:
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    rows = [row(hostile, 3, options=hostile, source=f"{hostile}.cl"), row(None, None, "skl", source=hostile)]
    text, read = page(rows)
    assert {tag for tag, _ in read.elements}.isdisjoint({"script", "img", "link", "iframe", "object", "base", "form"})
    for _, attributes in read.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")]
        assert (attributes.get("href") or "#").startswith("#")
    (policy,) = [
        attributes["content"] for tag, attributes in read.elements if tag == "meta" and "http-equiv" in attributes
    ]
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_columns_tell_what_differs() -> None:
    rows = [row("k", number, options=f"-DA={number}") for number in range(3)]
    text, _ = page(rows)
    assert "<th>dg2<br>-DA=2</th>" in text
    assert "dg2<br>system" not in text


def test_only_the_worst_of_very_many_are_shown() -> None:
    rows = [row(f"k{number}", number) for number in range(50)]
    shown = heat_map(rows, SPILLS, 10)
    assert [kernel for _, kernel in shown.kernels] == [f"k{number}" for number in range(49, 39, -1)]
    assert "The worst 10 kernels are shown." in "".join(heat_map_page(shown))
    assert len(shown.worst) == 10


def test_shades_grow_with_the_figure() -> None:
    shown = heat_map([row("k", 100), row("l", 0)], SPILLS)
    shades = [shown.shade(value) for value in range(101)]
    assert shades == sorted(shades, key=lambda shade: shade or 0)
    assert (shades[0], shades[100], shown.shade(None)) == (0, 8, None)
    assert heat_map([row("k", 0)], SPILLS).shade(0) == 0


def test_where_more_is_better_less_is_worse() -> None:
    simd = figure_named("simd")
    rows = [
        SweepRow("a.cl", "dg2", "system", "", "", f"k{wide}", tuple(wide if each is simd else 7 for each in MEASURED))
        for wide in (16, 32, 8)
    ]
    shown = heat_map(rows, simd)
    assert [kernel for _, kernel in shown.kernels] == ["k8", "k16", "k32"]
    shades = [shown.shade(wide) or 0 for wide in (8, 16, 32)]
    assert shades == sorted(shades, reverse=True)
    assert shades[-1] == 0
    assert {row.kernel for row in rows if id(row) in shown.worst} == {"k8", "k16"}


def test_sources_with_options_of_their_own_share_columns() -> None:
    rows = [row("k", 1, options="-DOWN -w"), row("l", 2, options="-w", source="b.cl"), row("l", 3, source="b.cl")]
    shown = heat_map(rows, SPILLS, titles={("a.cl", "-DOWN -w"): "-w", ("b.cl", "-w"): "-w", ("b.cl", ""): ""})
    assert [options for _, _, options in shown.columns] == ["-w", ""]
    assert shown.text(rows[0], "a.cl", shown.columns[0]) == "▲ 1"


TOKENS = (ROOT / "viewer/src/style/tokens.css").read_text("utf-8")


@pytest.mark.parametrize("name", COLOURS)
def test_colours_are_the_viewers(name: str) -> None:
    match = re.search(rf"--{name}: light-dark\((#\w+), (#\w+)\)", TOKENS)
    assert match is not None
    assert match.groups() == COLOURS[name]


def test_every_colour_that_is_named_is_there_in_both_themes() -> None:
    assert set(re.findall(r"var\(--(\w+)\)", _STYLE)) <= set(COLOURS)
    assert "color-scheme: light dark" in _STYLE
    # Colours that are written out are those of both themes.
    others = re.sub(r"light-dark\(.*?\)\)?;", "", _STYLE)
    assert not re.findall(r"#[0-9a-f]{3,6}\b|rgb\(", others)
