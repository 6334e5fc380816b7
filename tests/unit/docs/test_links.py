"""Links between the pages of the repository lead to files and headings that are there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.tree import ROOT

_LINK = re.compile(r"\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*?) *$", re.M)
_FENCED = re.compile(r"^```.*?^```", re.M | re.S)


def pages() -> list[Path]:
    folders = ("docs", "examples", "editors", "viewer", "tests", "benchmarks", "native", "src", ".github")
    below = (path for folder in folders for path in (ROOT / folder).rglob("*.md"))
    return [*ROOT.glob("*.md"), *(path for path in below if "node_modules" not in path.parts)]


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return what a link may name behind ``#``: headings as Git hosts spell them."""
    headings = _HEADING.findall(_FENCED.sub("", page.read_text("utf-8")))
    words = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return frozenset(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in words)


def dead_links(page: Path) -> Iterator[str]:
    for target in _LINK.findall(_FENCED.sub("", page.read_text("utf-8"))):
        path, _, anchor = target.partition("#")
        if ":" in path:
            continue
        other = page.parent / path if path else page
        if not other.exists() or (anchor and other.suffix == ".md" and anchor not in anchors(other)):
            yield f"{page.relative_to(ROOT)}: {target}"


def test_links_lead_somewhere() -> None:
    assert len(pages()) > 50
    assert [dead for page in pages() for dead in dead_links(page)] == []
