"""Every figure of every page stands beside the command that prints it, or names the test that holds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page_commands import markdown
from tests.page_figures import figures, places, unfounded
from tests.tree import ROOT

#: A decision's page is the record of a day: what was measured then, and led to it.
RECORDS = ROOT / "docs" / "decisions"
PAGES = [page for page in markdown() if page.parent != RECORDS]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_figures_have_a_command_or_a_test(page: Path) -> None:
    text = page.read_text("utf-8")
    assert unfounded(text) == {}, "show the command that prints them, or name the test: <!-- tests/... -->"
    assert [path for path in places(text) if not (ROOT / path).exists()] == []


def test_what_is_a_figure() -> None:
    text = "In 3 of 4 files, 1,234 rows (5.5%) took 12 ms and 3 GB: `kernlens --max 99%`, 2 SIMD16, [here](a.md#100%)"
    assert figures(text) == ["1,234", "5.5%", "12 ms", "3 GB"]
    assert figures("```console\n$ time true\n0.01 s\n```\n") == []


@pytest.mark.parametrize(
    "beside",
    [
        "```sh\npython -m benchmarks.run\n```",
        "`python -m benchmarks.run` prints it.",
        "`kernlens doctor` measures it.",
        "[Measured](performance.md#capture).",
        "<!-- tests/unit/docs/test_page_figures.py -->",
    ],
)
def test_a_command_or_a_test_stands_in_the_same_section(beside: str) -> None:
    assert unfounded(f"# Page\n\n## Speed\n\nIt takes 3 ms.\n\n{beside}\n") == {}
    assert unfounded(f"# Page\n\n## Speed\n\nIt takes 3 ms.\n\n## Size\n\n{beside}\n") == {"## Speed": ["3 ms"]}


def test_what_stands_at_the_beginning_is_of_the_whole_page() -> None:
    page = "# Is it fast?\n\n{}\n\n## Commands\n\n|annotate|3 ms|\n"
    assert unfounded(page.format("```sh\npython -m benchmarks.run\n```")) == {}
    assert unfounded(page.format("Ten sentences.")) == {"## Commands": ["3 ms"]}
