"""Every command of every page is run (tests/integration/docs/test_pages.py), or there is a reason; and all its words exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import pages
from tests.page_commands import NOT_RUN, faults_of_form, markdown, plain_commands, spans, unknown, why_not_run
from tests.tree import ROOT

each_page = pytest.mark.parametrize("page", markdown(), ids=lambda page: str(page.relative_to(ROOT)))


@each_page
def test_commands_stand_where_they_are_seen(page: Path) -> None:
    """In fences ``console``, behind a ``$``, or in fences ``sh``; what is indented is no code."""
    assert faults_of_form(page.read_text("utf-8")) == []


@each_page
def test_what_is_shown_without_output_has_a_reason(page: Path) -> None:
    shown = plain_commands(page.read_text("utf-8"))
    assert [command for command in shown if not why_not_run(command)] == [], (
        "a fence 'console', with what it prints, is run"
    )


@each_page
def test_every_verb_option_module_and_script_is_there(page: Path) -> None:
    """But for mistakes, of which the page shows the answer."""
    text = page.read_text("utf-8")
    shown = [*pages.commands(text), *((command, "") for command in (*plain_commands(text), *spans(text)))]
    assert {
        command: unknown(command) for command, printed in shown if "Error: " not in printed and unknown(command)
    } == {}


def test_no_reason_is_for_nothing() -> None:
    texts = [page.read_text("utf-8") for page in markdown()]
    shown = [
        command for text in texts for command in (*plain_commands(text), *(name for name, _ in pages.commands(text)))
    ]
    assert set(map(why_not_run, shown)) == {None, *NOT_RUN}


def test_what_is_not_there_is_seen() -> None:
    for command, words in {
        "kernlens annotat x": ["annotat"],
        "kernlens annotate x --tip 3": ["--tip"],
        "kernlens recording lists x": ["lists"],
        "kernlens recording redact x --sources": ["--sources"],
        "kernlens compile a.cl --device dg2 | grep --fixed-strings x": [],
        "kernlens compile a.cl -DN=3 --build-options '-cl-fast-relaxed-math --x'": [],
        "kernlens capture --simulat dg2 -- clinfo --raw": ["--simulat"],
        'eval "$(kernlens layer)"; clinfo': [],
        "python -m tests.corpus.verify --newest-root ROOT --all": ["--all"],
        "python -m benchmarks.slow": ["benchmarks.slow"],
        "bash scripts/tests.sh": ["scripts/tests.sh"],
    }.items():
        assert unknown(command) == words, command


def test_what_hides_a_command_is_seen() -> None:
    for text in (
        "```console\nlaptop$ ssh host\n```\n",
        "```\n$ kernlens doctor\n```\n",
        "```text\n  $ kernlens doctor\n```\n",
        "Run\n\n    kernlens doctor\n",
    ):
        assert len(faults_of_form(text)) == 1, text
    assert faults_of_form("* a\n\n    continued\n\n```sh\nls\n```\n") == []
