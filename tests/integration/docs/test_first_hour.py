"""docs/first_hour.md is done as it says, in a folder that holds ``examples/`` alone."""

from __future__ import annotations

from pathlib import Path

from tests import pages
from tests.tree import ROOT


def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    assert pages.check(ROOT / "docs/first_hour.md", tmp_path) > 8
    assert (tmp_path / "blur.html").read_text().startswith("<!")
