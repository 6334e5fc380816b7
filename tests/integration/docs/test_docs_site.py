"""The documentation as a site: it is made without a network, without a warning, and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import ROOT
from tests.whole import before_release

DOCS = ROOT / "docs"
#: What loads something as soon as a page is shown.
LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=[\"'](?!#)([^\"']+)")


def built(folder: Path, builder: str) -> Path:
    """What Sphinx makes of all pages, in a folder, which is returned. Warnings are errors, whatever is written."""
    words = ["-b", builder, "-W", "--keep-going", "-n", "-q", "-E", "-d", str(folder / "doctrees")]
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words, str(DOCS), str(folder / builder)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | nowhere,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_reference_leads_somewhere(tmp_path: Path) -> None:
    """No page is written, which takes most of the time."""
    built(tmp_path, "dummy")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("site"), "html") / "html"


@before_release
def test_every_page_is_there(site: Path) -> None:
    pages = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
    assert len(pages) > 40
    assert {path for path in pages if not (site / f"{path}.html").exists()} == set()


@before_release
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = {address for page in site.rglob("*.html") for address in LOADED.findall(page.read_text())}
    assert any(address.endswith(".css?v=" + address.rpartition("=")[2]) for address in loaded)
    assert {address for address in loaded if re.match(r"(?:\w+:)?//", address)} == set()
