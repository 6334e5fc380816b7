"""What an interpreter counted on data: colours of the source's lines, and sentences on the chosen one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.made import chunk_of, small_document, with_kernels

COUNTED = "observed: counted in an interpreter, on this data; not time"
WORDS = (
    "64 runs by work-items; 16.0 of 16 lanes active; 4 requests to global memory, 64 units of 64 bytes where 4 would do"
)


def observed() -> dict[str, Any]:
    """Return a kernel of which two lines ran."""
    return chunk_of(small_document()) | {
        "observed": {
            "sentences": [COUNTED], "faults": ["add.cl:3: writes 4 bytes, at byte 64 of its buffer"],
            "file": [0, 0], "line": [2, 1], "runs": [64, 64], "moved": [0, 4096], "idle": [0, 1.5],
            "words": [["64 runs by work-items"], [WORDS]],
        }
    }  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_are_coloured_by_what_they_did(open_report: Open, theme: str) -> None:
    viewer = open_report(with_kernels({"seen": observed(), "unseen": chunk_of(small_document())}), theme=theme)
    viewer.press("7")
    assert viewer.text(".source-pane .columns").split() == ["bytes", "%"]
    assert viewer.find(".source .heat").all_inner_texts()[4:6] == ["4,096", "100.0"]
    viewer.press("8")
    assert viewer.text(".source-pane .columns").split() == ["runs", "%"]
    viewer.press("9")
    assert viewer.find(".source .heat").all_inner_texts()[4:6] == ["1.5", "100.0"]
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
