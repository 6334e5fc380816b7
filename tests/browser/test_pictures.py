"""The documentation's pictures: they show what a new one would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from tests.browser.pictures import DOCS, HEIGHT, PICTURES, TEXT, WIDTH
from tests.page_commands import markdown
from tests.tree import ROOT

#: A square of pixels is compared as a whole, so that letters may have other edges.
SQUARE = 12
#: How much a square's colours may differ, of 255.
CLOSE = 24
#: A picture in a page: in Markdown, in HTML, and as Sphinx has it.
SHOWN = re.compile(r"!\[[^\]]*\]\(([^)]+)\)|<img[^>]* src=\"([^\"]+)\"|```\{(?:figure|image)\} (\S+)")
#: Bytes of a picture: a page of the documentation loads several.
LARGEST = 100_000
STALE = "a picture is stale: run 'python -m tests.browser.pictures', and look at what it takes"


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with new pictures."""
    folder = tmp_path_factory.mktemp("pictures")
    # In a process of its own: Playwright runs once in a process, and other tests of the browser have begun by now.
    subprocess.run([sys.executable, "-m", "tests.browser.pictures", folder], cwd=ROOT, check=True, timeout=400)
    return folder


@pytest.mark.parametrize("name", PICTURES)
def test_it_shows_what_the_page_shows(taken: Path, name: str) -> None:
    with Image.open(DOCS / "pictures" / name) as shown, Image.open(taken / name) as new:
        assert shown.info[TEXT] == new.info[TEXT], STALE
        assert (DOCS / "pictures" / name).stat().st_size < LARGEST
        assert shown.size == new.size == (WIDTH, HEIGHT)
        size = (WIDTH // SQUARE, HEIGHT // SQUARE)
        squares = [picture.convert("RGB").resize(size, Image.Resampling.BOX) for picture in (shown, new)]
        differences = ImageChops.difference(*squares).getextrema()
        assert max(highest for _, highest in differences) <= CLOSE, STALE


def images(text: str) -> list[str]:
    return [path for groups in SHOWN.findall(text) for path in groups if path]


def test_the_pages_show_these_and_no_others() -> None:
    shown = [path for page in markdown() for path in images(page.read_text("utf-8"))]
    assert {path.rpartition("/")[2] for path in shown} == set(PICTURES)
    assert {path.name for path in (DOCS / "pictures").iterdir()} == set(PICTURES)
