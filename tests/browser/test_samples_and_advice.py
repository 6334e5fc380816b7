"""Samples of a profiler beside the estimate, and advice at its lines with the instructions that it is about."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.made import chunk_of, small_document, with_kernels

SENTENCE = "`sin` at add.cl:3:3 is 2 instructions (40.0% of the kernel); `native_sin` is a few, with less accuracy"


def sampled() -> dict[str, Any]:
    """Return a kernel with samples on two of its instructions, and some on none."""
    chunk = chunk_of(small_document())
    chunk["code"]["samples"] = {
        "profiler": "unitrace", "devices": [0], "total": 1207, "unblamed": 0,
        "reasons": [{"name": "Active", "stall": False}, {"name": "SbidStall", "stall": True}],
        "rows": {"row": [1, 3], "counts": [[4, 3], [0, 1200]]},
        "blamed": {"row": [4], "back": [2], "samples": [1200]},
        "unplaced": {"offset": [8], "samples": [5]},
    }  # fmt: skip
    return chunk


def advised() -> dict[str, Any]:
    """Return a kernel with advice on two of its instructions, and on the whole of it."""
    chunk = chunk_of(small_document())
    return chunk | {
        "advice": [
            {"rule": "slow-built-in", "sentence": SENTENCE, "line": [0, 3], "rows": [1, 1]},
            {"rule": "spills", "sentence": "12 spills <b>", "line": None, "rows": [4]},
        ]
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_samples_are_measured_and_waits_are_estimated(open_report: Open, theme: str) -> None:
    viewer = open_report(with_kernels({"hot": sampled(), "cold": chunk_of(small_document())}), theme=theme)
    assert viewer.texts(".gen .sm") == ["", "7", "", "", "1200"]
    viewer.press("6")
    assert viewer.text(".source-pane .columns").split() == ["samples", "%"]
    assert viewer.texts(".source .heat")[4:6] == ["1,207", "100.0"]
    viewer.pin("gen", "r127:ud")
    words = viewer.text("aside .measured")
    assert "Measured: samples of unitrace" in words
    assert "1,200 samples, 99.4% of the kernel's: 1,200 SbidStall." in words
    assert "Waited for: 0x0020 1,200." in words
    assert "5 samples of the kernel are where no instruction begins." in words
    assert "Estimated: IGC's estimate" in viewer.text("aside .waiting")
    assert viewer.axe() == []
    assert viewer.cut_texts() == []
    viewer.find("aside .measured .link").click()
    assert "Others waited for it: 0x0040 1,200." in viewer.text("aside .measured")
    # A kernel without samples offers neither column nor colour.
    viewer.find("nav .k", has_text="cold").click()
    viewer.find(".pick .name", has_text="cold").wait_for()
    assert viewer.find(".gen .sm").count() == 0
    assert viewer.find(".colour option[value=samples]").get_attribute("hidden") is not None


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_advice_stands_at_its_line_and_lights_its_instructions(open_report: Open, theme: str) -> None:
    viewer = open_report(with_kernels({"add": advised()}), theme=theme)
    assert viewer.texts(".source .tip").count("◆") == 1
    viewer.press("a")
    assert viewer.texts("dialog li button") == [SENTENCE.replace("`", ""), "12 spills <b>"]
    assert viewer.texts("dialog code") == ["sin", "native_sin"]
    assert viewer.axe() == []
    assert viewer.cut_texts() == []
    viewer.find("dialog li button").first.press("Enter")
    viewer.find("dialog[open]").wait_for(state="detached")
    assert viewer.pinned == "● Pinned line 3"
    assert viewer.text(".code-pane .told") == "2 lit"
    lit = viewer.background(viewer.line("source", "a[0] += 1"))
    backgrounds = [viewer.background(viewer.find(f".gen .cm-line.R{row}")) for row in range(5)]
    assert [colour == lit for colour in backgrounds] == [False, True, True, False, False]
    assert SENTENCE.replace("`", "") in viewer.text("aside .advised")
    # What is on the whole kernel goes to its first instruction.
    viewer.find(".build .opt", has_text="Advice 2").click()
    viewer.find("dialog li button").last.click()
    assert "&i=0x40" in viewer.address
