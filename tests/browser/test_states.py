"""What is missing, wrong or hostile: said in words, with what to do, and never as markup."""

from __future__ import annotations

import pytest

from kernlens.report.explore.kernel_chunk import MOST_INSTRUCTIONS
from tests.browser.conftest import Open
from tests.browser.made import ROWS, small_document

HOSTILE = "</script><img src=x onerror=document.title='got'><b>\x1b[31m\"'&amp;\u202egpj"

STATES = {
    "lines": (small_document(has_lines=False), ".source-pane .message", ["built without"]),
    "lines, above the panes": (
        small_document(has_lines=False),
        ".answer",
        ["Which line costs most is not known: it was built without -gline-tables-only."],
    ),
    "code, above the panes": (small_document(has_code=False, rows=[]), ".answer", ["not known: no decoder knows"]),
    "source": (small_document(source=None), ".source-pane .note", ["No text", "redacted"]),
    "stages": (
        small_document(stage=None),
        ".stage-pane .message",
        ["Recorded without", "kernlens stages add.cl --device dg2"],
    ),
    "a stage": (small_document(stage_missing="it is too large to be shown"), ".stage-pane .message", ["too large"]),
    "code": (small_document(has_code=False, rows=[]), ".code-pane .message", ["no decoder knows"]),
    "kernels": (
        small_document(has_kernels=False, log="error: 3 <b>"),
        ".source-pane .message",
        ["found an error", "error: 3 <b>"],
    ),
    "a chunk": (small_document(is_damaged=True), ".code-pane .message", ["without this part", "Try again"]),
}


@pytest.mark.parametrize("state", STATES)
def test_what_is_missing_is_said(open_report: Open, state: str) -> None:
    document, where, words = STATES[state]
    viewer = open_report(document)
    # A pane that has nothing to show gives its room away, and is a tab of the first one, which says why.
    tab = viewer.find(".pair button")
    assert tab.count() == (state.split(",")[0] in ("code", "lines", "stages", "a chunk"))
    if tab.count():
        assert tab.get_attribute("title")
        assert viewer.cut_texts() == []
        tab.click()
    viewer.find(where).first.wait_for()
    for word in words:
        assert word in viewer.text(where)
    assert viewer.cut_texts() == []
    if state not in ("code", "code, above the panes", "kernels", "a chunk"):
        assert viewer.line("gen", "add").is_visible()


def test_hostile_texts_are_shown_as_texts(open_report: Open) -> None:
    document = small_document(
        name=HOSTILE, path=HOSTILE, source=f"{HOSTILE}\n\n{HOSTILE}", options=HOSTILE, command=HOSTILE, title=HOSTILE,
        rows=[HOSTILE, *([HOSTILE + " L0"] * 2), "x" * 200_000], stage=f"{HOSTILE}\n{HOSTILE}\n{'y' * 200_000}",
    )  # fmt: skip
    viewer = open_report(document)
    assert "onerror" in viewer.text(".pick .name")
    assert "onerror" in viewer.text(".how .options")
    # Escapes and what turns the direction of text are seen, and do nothing.
    for zone in (".pick .name", ".how .options", ".crumb .title"):
        assert "\N{SYMBOL FOR ESCAPE}[31m" in viewer.text(zone)
        assert "<U+202E>gpj" in viewer.text(zone)
    assert "\u202e" not in viewer.text("header") + viewer.text(".build") + viewer.tab.title()
    for pane in ("source", "stage", "gen"):
        assert viewer.line(pane, "onerror").locator(".cm-specialChar").count() == 2
    assert "onerror" in viewer.text(".source .cm-line")
    assert "onerror" in viewer.text(".stage .cm-line")
    viewer.pin("gen", "onerror")
    viewer.press("L")
    viewer.find("dialog[open]").wait_for()
    assert viewer.find("img[src], dialog b, nav .name b").count() == 0
    assert viewer.tab.title().endswith("· dg2 · kernlens")
    assert not viewer.scrolls_sideways()


def test_a_hostile_log_is_shown_as_text(open_report: Open) -> None:
    viewer = open_report(small_document(has_kernels=False, log=HOSTILE))
    viewer.find(".log").wait_for()
    assert viewer.text(".log").startswith("</script><img")
    assert viewer.find("img[src]").count() == 0


def test_a_document_without_programs(open_report: Open) -> None:
    viewer = open_report(small_document(has_program=False))
    assert "holds no program" in viewer.text(".source-pane .message")


def test_the_most_instructions_that_a_document_has_are_shown(open_report: Open) -> None:
    viewer = open_report(small_document(rows=[ROWS[0]] * MOST_INSTRUCTIONS))
    viewer.find(".gen .cm-line", has_text="mov").first.wait_for()
