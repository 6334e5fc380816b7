"""How pages shorten what commands print, and how they are brought up to date (tests/pages.py)."""

from __future__ import annotations

import pytest

from tests.pages import commands, matches, updated, with_help
from tests.tree import ROOT

PRINTED = "kernel  SIMD  registers\nblur      32        128\n1 program\n"


@pytest.mark.parametrize(
    "shown",
    [
        PRINTED,
        "...\nblur      32        128\n...\n",
        "kernel  SIMD...\n...\n",
        "...registers\n...\n1 program\n",
        "...SIMD...\nblur      32        128\n1 program\n...\n",
    ],
)
def test_what_is_shortened_matches(shown: str) -> None:
    assert matches(PRINTED, shown)
    assert updated(PRINTED, shown) == shown


@pytest.mark.parametrize(
    "shown", ["", "...\nblur      16        128\n...\n", "kernel  SIMD\n...\n", "blur      32        128\n1 program\n"]
)
def test_what_is_not_printed_does_not_match(shown: str) -> None:
    assert not matches(PRINTED, shown)


def test_a_stale_output_gets_the_lines_most_like_it() -> None:
    assert updated(PRINTED, "...\nblur      16        128\n...\n") == "...\nblur      32        128\n...\n"
    assert updated("a\n" + "b" * 120 + "\n", "b...\n") == "...\n" + "b" * 97 + "...\n"


def test_commands_stand_in_blocks_of_consoles_alone() -> None:
    page = "```sh\n$ no\n```\n\n```console\n$ first\nprinted\n$ second | third\n$ a \\\n  b\n```\n"
    assert commands(page) == [("first", "printed\n"), ("second | third", ""), ("a \\\n  b", "")]


def test_a_page_without_help_stays_as_it_is() -> None:
    assert with_help("```text\nUsage: old\n```\n", "Usage: new\n") == "```text\nUsage: new\n```\n"
    assert with_help("```text\nother\n```\n", "Usage: new\n") == "```text\nother\n```\n"


def test_the_readme_is_short_and_begins_with_pip() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.split()) <= 900
    blocks = text.split("```sh\n")
    assert "pip install kernlens\n" in blocks[1]
    assert blocks[2].startswith("bash scripts/demo.sh")
