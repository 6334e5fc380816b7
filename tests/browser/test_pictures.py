"""The documentation's pictures: they can be taken, and those that are there are pictures of that size."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.pictures import DOCS, HEIGHT, PICTURES, WIDTH, report, take


def check(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    assert struct.unpack(">II", content[16:24]) == (WIDTH, HEIGHT)
    assert len(content) > 100_000, "there is text all over it"


def test_they_can_be_taken(browser: Browser, tmp_path: Path) -> None:
    with report() as page:
        take(browser, page, tmp_path)
    for name in PICTURES:
        check(tmp_path, name)


@pytest.mark.parametrize("name", PICTURES)
def test_they_are_there(name: str) -> None:
    check(DOCS / "pictures", name)
    assert any(f"pictures/{name}" in path.read_text() for path in DOCS.rglob("*.md")), "a page shows it"
