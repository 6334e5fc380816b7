"""docs/reference says what the docstrings say: ``python -m tests.reference`` writes it."""

from __future__ import annotations

import importlib
import re

import pytest

from tests import reference
from tests.unit.rules.test_public_surface import PUBLIC, public_names


@pytest.mark.parametrize("name", reference.PAGES)
def test_each_page_is_that_of_the_docstrings(name: str) -> None:
    text = (reference.FOLDER / f"{name}.md").read_text("utf-8")
    assert reference.without_examples(text) == reference.page(name, {}, {}), "run python -m tests.reference"


def test_every_class_has_an_example() -> None:
    """A block that is run stands below its heading; tests/integration/docs/test_reference.py looks what it shows."""
    texts = {name: (reference.FOLDER / f"{name}.md").read_text("utf-8") for name in reference.PAGES}
    pages = {module: texts[name] for name, modules in reference.PAGES.items() for module in modules}
    without = []
    for name in reference.public_classes():
        module, _, title = name.rpartition(".")
        of_module = pages[module].split(f"\n## {module}\n")[-1]
        sections = re.split(r"^##+ ", of_module, flags=re.MULTILINE)
        (section,) = [each for each in sections if each.startswith(f"{title}\n")][:1]
        without += [] if "```pycon\n>>> " in section else [name]
    assert without == [], "tests/reference_examples.py has the examples that no path leads to"


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
