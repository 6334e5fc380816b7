"""The tutorials, and the pages that a new user reads first, are done as they say, in a folder with ``examples/`` alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import pages
from tests.integration.capture.level_zero_capture_fixtures import sycl_python
from tests.tree import ROOT

__all__ = ["sycl_python"]

PAGES = [
    *sorted((ROOT / "docs/tutorials").glob("*.md")),
    *(ROOT / f"docs/commands/{verb}.md" for verb in ("annotate", "capture", "check", "compile", "diff")),
    *(ROOT / "docs/index.md", ROOT / "docs/how_to.md"),
]
#: The tutorial that looks into a package, which pip puts into the folder ``lib``.
OF_A_PACKAGE = "look_into_a_sycl_library"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_prints_what_the_page_shows(
    page: Path, tmp_path: Path, newest_root: Path, request: pytest.FixtureRequest
) -> None:
    if page.stem == OF_A_PACKAGE:
        python: Path = request.getfixturevalue("sycl_python")
        (package,) = python.parents[1].glob("lib/python3*/site-packages")
        (tmp_path / "lib").symlink_to(package)
    assert pages.check(page, tmp_path) >= 1


@pytest.mark.parametrize("page", [*PAGES, ROOT / "docs/first_hour.md"], ids=lambda page: page.stem)
def test_a_kernel_on_a_page_is_one_of_the_examples(page: Path) -> None:
    kernels = {path.read_text("utf-8") for path in (ROOT / "examples/kernels").glob("*.cl")}
    assert set(re.findall(r"```c\n(.*?)```", page.read_text("utf-8"), re.DOTALL)) <= kernels
