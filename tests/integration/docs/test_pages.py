"""The commands of every page print what the page shows, in a folder that holds ``examples/`` alone."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests import pages
from tests.integration.capture.level_zero_capture_fixtures import sycl_python
from tests.page_commands import WITHOUT_EXAMPLES, markdown, why_not_run
from tests.tree import ROOT

__all__ = ["sycl_python"]

#: The tutorial that looks into a package, which pip puts into the folder ``lib``.
OF_A_PACKAGE = "look_into_a_sycl_library"


def commands_to_run(page: Path) -> list[str]:
    return [command for command, _ in pages.commands(page.read_text("utf-8")) if not why_not_run(command)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def folder(base: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder under the name that each page's has, so that what one has compiled is not compiled for the next."""
    monkeypatch.setenv("KERNLENS_CACHE", str(base / "cache"))
    path = base / "folder"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


@pytest.mark.parametrize(
    "page", [page for page in markdown() if commands_to_run(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_every_command_prints_what_the_page_shows(page: Path, folder: Path, request: pytest.FixtureRequest) -> None:
    name, commands = str(page.relative_to(ROOT)), commands_to_run(page)
    if name in WITHOUT_EXAMPLES and not any("examples/" in command for command in commands):
        pytest.skip(f"{name} shows files that its reader does not have")
    if any("newest" in command for command in commands):
        request.getfixturevalue("newest_root")
    if page.stem == OF_A_PACKAGE:
        python: Path = request.getfixturevalue("sycl_python")
        (package,) = python.parents[1].glob("lib/python3*/site-packages")
        (folder / "lib").symlink_to(package)
    assert pages.check(page, folder) == len(commands)


@pytest.mark.parametrize("page", markdown(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_kernel_on_a_page_is_one_of_the_examples(page: Path) -> None:
    kernels = {path.read_text("utf-8") for path in (ROOT / "examples/kernels").glob("*.cl")}
    assert set(re.findall(r"```c\n(.*?)```", page.read_text("utf-8"), re.DOTALL)) <= kernels
