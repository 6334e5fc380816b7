"""What an interpreter counted on data: colours of the source's lines, and sentences on the chosen one."""

from __future__ import annotations

from typing import Any

import pytest

from kernlens.report.explore.explore_document import ExploreDocument
from tests.browser.conftest import Open
from tests.browser.made import chunk_of, small_document, with_kernels

COUNTED = "observed: counted in an interpreter, on this data; not time"
WORDS = (
    "64 runs by work-items; 16.0 of 16 lanes active; 4 requests to global memory, 64 units of 64 bytes where 4 would do"
)

#: Eight lanes 64 bytes apart, on as many units; and sixteen on two banks.
STRIDED = {
    "words": "load of 4 bytes in `in`, from byte 4,096 on: the costliest of 4 requests", "unit": 64, "banks": 0, "bank": 4,
    "bytes": 4, "lanes": [*range(8)], "at": [60 + 64 * lane for lane in range(8)],
}  # fmt: skip
CONFLICT = {
    "words": "store of 4 bytes in local memory, from byte 0 on: the costliest of 4 requests", "unit": 64, "banks": 16,
    "bank": 4, "bytes": 4, "lanes": [*range(16)], "at": [32 * lane for lane in range(16)],
}  # fmt: skip


def observed() -> dict[str, Any]:
    """Return a kernel of which two lines ran."""
    return chunk_of(small_document()) | {
        "observed": {
            "sentences": [COUNTED], "faults": ["add.cl:3: writes 4 bytes, at byte 64 of its buffer"],
            "file": [0, 0], "line": [2, 1], "runs": [64, 64], "moved": [0, 4096], "idle": [0, 1.5],
            "words": [["64 runs by work-items"], [WORDS]],
            "requests": [[], [STRIDED, CONFLICT]],
        }
    }  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_are_coloured_by_what_they_did(open_report: Open, theme: str) -> None:
    viewer = open_report(with_kernels({"seen": observed(), "unseen": chunk_of(small_document())}), theme=theme)
    viewer.press("7")
    assert viewer.text(".source-pane .columns").split() == ["bytes", "%"]
    assert viewer.texts(".source .heat")[4:6] == ["4,096", "100.0"]
    viewer.press("8")
    assert viewer.text(".source-pane .columns").split() == ["runs", "%"]
    viewer.press("9")
    assert viewer.texts(".source .heat")[4:6] == ["1.5", "100.0"]
    viewer.line("source", "a[0] += 1").click()
    words = viewer.text("aside")
    assert WORDS in words
    assert COUNTED in words
    assert "Fault: add.cl:3: writes 4 bytes, at byte 64 of its buffer" in words
    assert viewer.axe() == []
    assert viewer.cut_texts() == []
    # A kernel that was not observed offers no such colour.
    viewer.find("nav .k", has_text="unseen").click()
    viewer.find(".pick .name", has_text="unseen").wait_for()
    assert viewer.find(".colour option[value=moved]").get_attribute("hidden") is not None


def test_requests_are_drawn_on_units_and_banks(open_report: Open) -> None:
    viewer = open_report(with_kernels({"seen": observed()}))
    viewer.line("source", "a[0] += 1").click()
    drawings = viewer.find("aside .request svg")
    names = [drawing.get_attribute("aria-label") for drawing in drawings.all()]
    assert names == [
        "8 lanes on 8 units of 64 bytes.",
        "16 lanes on 2 of 16 banks, 8 words of the busiest one.",
    ]
    units, banks = drawings.all()
    assert units.locator("g").count() == 8
    title = units.locator("title").first.text_content()
    assert title == "Bytes 0 to 63: lane 0"
    assert [bank.locator(".used").count() for bank in banks.locator("g").all()] == [8, 0, 0, 0, 0, 0, 0, 0, 8, *[0] * 7]
    assert str(STRIDED["words"]).replace("`", "") in viewer.text("aside")
    assert viewer.axe() == []


def test_the_page_begins_at_the_line_to_start_at(open_report: Open) -> None:
    whole = with_kernels({"first": observed(), "second": observed()})
    index = whole.index
    start = {
        "program": index["programs"][0]["id"], "row": 1, "path": "add.cl", "line": 3, "title": "strided access",
        "sentence": "strided access: it wastes 90% of all work", "action": "mend it", "text": "a[0] += 1;",
    }  # fmt: skip
    other = start | {"row": 0, "title": "idle lanes", "path": None, "line": 0}
    viewer = open_report(ExploreDocument(index | {"start": [start, other]}, whole.chunks))
    viewer.find(".pick .name", has_text="second").wait_for()
    assert WORDS in viewer.text("aside")
    assert viewer.text(".start").split("\n") == ["Start here", "second:3 strided access", "first idle lanes"]
    assert (
        viewer.find(".start button").first.get_attribute("title")
        == "strided access: it wastes 90% of all work\nmend it"
    )
    viewer.find(".start button", has_text="first").click()
    viewer.find(".pick .name", has_text="first").wait_for()
    viewer.find(".start button", has_text="second").click()
    viewer.find(".pick .name", has_text="second").wait_for()
    assert WORDS in viewer.text("aside")
    assert viewer.axe() == []
    assert viewer.cut_texts() == []
