"""Variables in the detail pane: where each is at the instruction that is pinned."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.made import chunk_of, small_document, with_kernels


def with_variables() -> dict[str, Any]:
    """Return a kernel with an argument that is overwritten, and a variable that no row but the first has a place for."""
    chunk = chunk_of(small_document())
    entry = {"function": "add", "scope": []}
    chunk["code"]["variables"] = {
        "words": ["r5.0:d", "r5.0:d  overwritten by 0x0010 (mov, line <3>)"],
        "list": [
            {**entry, "name": "width", "type": "const int", "is_argument": True, "ranges": [0, 2, 0, 2, 5, 1]},
            {**entry, "name": "i", "type": None, "is_argument": False, "ranges": [0, 1, 0]},
        ],
    }
    return chunk


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_variables_at_an_instruction(open_report: Open, theme: str) -> None:
    viewer = open_report(with_kernels({"with": with_variables(), "without": chunk_of(small_document())}), theme=theme)
    viewer.pin("gen", "r127:ud")
    words = viewer.text("aside .variables")
    assert "width const int: r5.0:d overwritten by 0x0010 (mov, line <3>)" in " ".join(words.split())
    assert "1 other variable of this scope: no place here." in words
    assert viewer.axe() == []
    assert viewer.cut_texts() == []
    viewer.find("nav .k", has_text="without").click()
    viewer.find(".pick .name", has_text="without").wait_for()
    viewer.pin("gen", "r127:ud")
    assert viewer.find("aside .variables").count() == 0
