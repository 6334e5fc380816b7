"""docs/reference says what the docstrings say: ``python -m tests.reference`` writes it."""

from __future__ import annotations

import importlib

import pytest

from tests import reference
from tests.unit.rules.test_public_surface import PUBLIC, public_names


@pytest.mark.parametrize("name", reference.PAGES)
def test_each_page_is_that_of_the_docstrings(name: str) -> None:
    text = (reference.FOLDER / f"{name}.md").read_text("utf-8")
    assert reference.without_examples(text) == reference.page(name, {}, failing={}), "run python -m tests.reference"


def test_every_public_name_is_there() -> None:
    headings = {
        line.lstrip("# ")
        for path in reference.FOLDER.glob("*.md")
        for line in path.read_text("utf-8").splitlines()
        if line.startswith("##")
    }
    expected = {
        name
        for module in PUBLIC
        for name in public_names(importlib.import_module(module))
        if callable(getattr(importlib.import_module(module), name))
    }
    assert len(expected) > 200
    assert expected - headings == set()
