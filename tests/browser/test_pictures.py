"""The documentation's pictures: they show what a new one would."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageChops

from tests.browser.pictures import DOCS, HEIGHT, PICTURES, TEXT, WIDTH, chromium, report, take

#: A square of pixels is compared as a whole, so that letters may have other edges.
SQUARE = 12
#: How much a square's colours may differ, of 255.
CLOSE = 24
STALE = "a picture is stale: run 'python -m tests.browser.pictures', and look at what it takes"


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with new pictures."""
    folder = tmp_path_factory.mktemp("pictures")
    with report() as page, chromium() as browser:
        take(browser, page, folder)
    return folder


@pytest.mark.parametrize("name", PICTURES)
def test_it_shows_what_the_page_shows(taken: Path, name: str) -> None:
    with Image.open(DOCS / "pictures" / name) as shown, Image.open(taken / name) as new:
        assert shown.info[TEXT] == new.info[TEXT], STALE
        assert shown.size == new.size == (WIDTH, HEIGHT)
        size = (WIDTH // SQUARE, HEIGHT // SQUARE)
        squares = [picture.convert("RGB").resize(size, Image.Resampling.BOX) for picture in (shown, new)]
        differences = ImageChops.difference(*squares).getextrema()
        assert max(highest for _, highest in differences) <= CLOSE, STALE


@pytest.mark.parametrize("name", PICTURES)
def test_a_page_shows_it(name: str) -> None:
    assert any(f"pictures/{name}" in path.read_text() for path in DOCS.rglob("*.md"))
