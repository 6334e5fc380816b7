"""The examples of docs/reference print what the pages show, and each class has one, with an object of it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests import reference
from tests.tree import ROOT


@pytest.mark.parametrize("name", reference.PAGES)
def test_the_examples_print_what_the_page_shows(name: str) -> None:
    """In a process of its own: a page may simulate a device. It fails where an example has no object of its class."""
    command = [sys.executable, "-m", "tests.reference", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (reference.FOLDER / f"{name}.md").read_text("utf-8")


def test_an_example_without_an_object_of_its_class_is_refused() -> None:
    page = "# kernlens.errors\n\n## FormatError\n\n```pycon\n>>> len('four')\n4\n\n```\n"
    with pytest.raises(AssertionError, match=re.escape("len('four') shows no FormatError, but 4")):
        reference.answered(page)
