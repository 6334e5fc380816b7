"""What the pages show of Python passes a type checker as a user's code, without a word changed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import ROOT

#: What blocks leave to the reader: their own objects, by the page.
LEFT_TO_THE_READER = {
    "commands/stages.md": "import pyopencl\n\ncontext: pyopencl.Context\nsource: str\ndevice: pyopencl.Device\n",
    "linking.md": "library_spirv: bytes\nkernels_spirv: bytes\n",
}
#: Pages of tests for pytest, whose functions nobody annotates.
PAGES_OF_TESTS = {"ci.md"}


def blocks() -> dict[str, str]:
    """Every block of Python in README and docs, by the name of a module."""
    texts = {}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        page = path.relative_to(ROOT / "docs").as_posix() if path.is_relative_to(ROOT / "docs") else path.name
        if page in PAGES_OF_TESTS:
            continue
        name = re.sub(r"\W", "_", page)
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL), 1):
            texts[f"{name}_{number}"] = LEFT_TO_THE_READER.get(page, "") + block
    return texts


def complaints(folder: Path, texts: dict[str, str]) -> str:
    """What mypy says of these texts, with the package's own settings, which are strict; "" if it is content. With the same
    settings it takes what it found out of the package before from its cache."""
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    paths = [str(folder / f"{name}.py") for name in texts]
    command = [sys.executable, "-m", "mypy", "--no-error-summary", *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_pages_are_typed(tmp_path: Path) -> None:
    for name in ("mypy", "pyopencl"):
        pytest.importorskip(name, reason=f"{name} is not installed, by which the pages' Python is checked")
    texts = blocks()
    assert len(texts) >= 5
    assert complaints(tmp_path, texts) == ""
    wrong = "import kernlens\n\nkernlens.load(3)\nkernlens.diff('a', 'b').equals\n"
    assert complaints(tmp_path, {"wrong": wrong}).count("error: ") == 2
