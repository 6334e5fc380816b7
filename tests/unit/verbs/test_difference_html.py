"""A comparison in a notebook holds what the text says, and nothing that a browser obeys."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from kernlens import diff
from kernlens.report.style import html_line, style
from tests.unit.analysis.test_comparison import SOURCE, with_code
from tests.unit.conftest import Kernlens

VOID = {"meta"}


class Page(HTMLParser):
    """A page's text, its elements, and whether each is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {str(value) for name, value in attrs if name == "href"}
        self.ids |= {str(value) for name, value in attrs if name == "id"}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("source", ["scale.cl", "<script>alert(1)</script>\x1b[2J&amp;'\"\n.cl"])
def test_a_notebook_says_what_the_text_says(
    source: str, kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.bin").write_bytes(with_code(48, source=source))
    Path("new.bin").write_bytes(with_code(80, simd=8, source=source))
    Path("scale.cl").write_text(SOURCE.replace("int id", "int/*<b>&*/ id"))
    page = Page(diff("old.bin", "new.bin")._repr_html_())
    assert page.open == []
    assert page.names == {"div", "pre", "span", "table", "tr", "th", "td", "a", "details", "summary"}
    assert page.attributes <= {"class", "href", "id", "open", "style"}
    assert page.links == {f"#{name}" for name in page.ids} == {"#kernel-0"}
    for line in kernlens("diff", "old.bin", "new.bin").out.splitlines():
        words = line.split()
        assert not words or words[0] in page.text


def test_styles_are_spans() -> None:
    line = f"a < {style('red & bold', fg='red', bold=True)} > {style('dim', dim=True)}{style('plain')}\x07"
    assert html_line(line) == (
        'a &lt; <span class="red bold">red &amp; bold</span> &gt; <span class="dim">dim</span>plain\\x07'
    )
