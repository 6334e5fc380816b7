"""docs/ci.md shows the files of the examples, which tests/integration/check/test_ci_files.py runs."""

from __future__ import annotations

import re

from tests.tree import ROOT

PAGE = (ROOT / "docs" / "ci.md").read_text()


def test_the_page_shows_the_examples() -> None:
    files = [path for path in (ROOT / "examples/ci").rglob("*") if path.suffix in (".py", ".yml")]
    assert len(files) == 4
    for path in files:
        assert f"```{'python' if path.suffix == '.py' else 'yaml'}\n{path.read_text('utf-8')}```\n" in PAGE


def test_the_fixtures_and_marks_of_the_page_are_there() -> None:
    from kernlens import pytest_plugin
    from kernlens.model.bounds import bound

    assert {"kernlens_compile", "kernlens_capture", "kernlens_replay"} == set(re.findall(r"kernlens_\w+", PAGE))
    assert all(hasattr(pytest_plugin, name) for name in re.findall(r"kernlens_\w+", PAGE))
    for name, value in re.findall(r"\b((?:max|min)_\w+)=(\d+)", PAGE):
        assert bound(name, int(value)).value == int(value)
