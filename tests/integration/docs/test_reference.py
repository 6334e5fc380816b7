"""The examples of docs/reference print what the pages show."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests import reference
from tests.tree import ROOT

#: Pages whose classes have examples; the others are of live objects.
WITH_EXAMPLES = ("kernlens", "answers", "errors", "model")


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_print_what_the_page_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    path = Path(reference.FOLDER / f"{name}.md")
    failed, attempted = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert attempted > reference.SETUP.count(">>>")
    assert failed == 0
