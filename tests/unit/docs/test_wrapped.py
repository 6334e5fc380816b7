"""No line of the pages' text is too long, and how paragraphs are wrapped (tests/wrapped.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tree import ROOT
from tests.wrapped import pages, too_long, wrapped

LONG = "a word " * 20


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_line_is_too_long(page: Path) -> None:
    assert too_long(page.read_text("utf-8")) == [], "python -m tests.wrapped wraps it"


@pytest.mark.parametrize("mark", ["", "* ", "  * ", "12. "])
def test_a_long_line_is_wrapped_below_its_beginning(mark: str) -> None:
    first, second = wrapped(mark + LONG).split("\n")
    assert len(first) <= 100
    assert first.startswith(f"{mark}a word")
    assert second.startswith(" " * len(mark) + ("a" if second.lstrip().startswith("a ") else "word"))
    assert (first + " " + second.lstrip()).split() == (mark + LONG).split()


@pytest.mark.parametrize(
    "text", ["|" + LONG + "|", "```text\n" + LONG + "\n```", "    " + LONG, "# " + LONG, "short\nlines"]
)
def test_what_cannot_be_wrapped_stays(text: str) -> None:
    assert wrapped(text) == text
    assert too_long(text) == []


def test_entries_of_a_list_stay_apart() -> None:
    assert wrapped("* short\n* " + LONG + "\n* last").count("\n* ") == 2


def test_no_line_begins_with_what_would_make_a_list() -> None:
    lines = wrapped("word " * 19 + "and - so + on 1. for # ever " + LONG).split("\n")
    assert not any(line.startswith(("-", "+", "#", "1.")) for line in lines)


def test_code_stays_on_one_line() -> None:
    assert "`kernlens check --max-spill 0`" in wrapped("word " * 17 + "`kernlens check --max-spill 0` " + LONG)
