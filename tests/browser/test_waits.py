"""Who waits for whom: a column, arrows, a colour, words and keys; and that it is said where nothing of it is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import kernlens
from kernlens.report.explore import explore_document
from kernlens.report.program_document import kernel_json
from kernlens.toolchain.toolchains import SYSTEM
from tests.browser.conftest import Open
from tests.browser.made import chunk_of, small_document, with_kernels

ORIGIN = "IGC's estimate, one thread alone, loops once"


def without_waits() -> dict[str, Any]:
    """Return a kernel whose waits are not known."""
    chunk = chunk_of(small_document())
    return chunk | {
        "code": chunk["code"] | {"cycles": None},
        "missing": {"waits": "waits are unknown on skl: IGC has none"},
    }


def far_apart() -> dict[str, Any]:
    """Return a kernel whose last instruction waits for its first, which is out of sight from there."""
    rows = ["(W)     mov (8|M0)               r2.0<1>:ud    r0.0<1;1,0>:ud"] * 200
    chunk = chunk_of(small_document(rows=rows))
    chunk["code"]["cycles"] = {
        "start": [0] * 200, "issue": [1] * 200,
        "wait": {"row": [199], "back": [199], "cycles": [1203], "why": [0], "reasons": ["written"]},
    }  # fmt: skip
    return chunk


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_who_waits_for_whom(open_report: Open, theme: str) -> None:
    viewer = open_report(small_document(), theme=theme)
    figures = viewer.texts(".gen .wt")
    assert figures == ["", "5", "", "", "142"]
    # The instruction that is pointed at has an arrow; pinned, it keeps it.
    viewer.line("gen", "r127:ud").hover()
    viewer.find(".arrow.strong").wait_for(state="attached")
    viewer.pin("gen", "r127:ud")
    words = viewer.text("aside .waiting")
    assert f"Estimated: {ORIGIN}" in words
    assert "142 cycles for 0x0020 (line 3, global write), until its result has arrived ($3.dst)." in words
    assert "Issues in cycle 154 of its block, in 1 cycle." in words
    assert viewer.axe() == []
    # A click on the arrow goes to whom it waits for, who knows of those that wait for it.
    viewer.find(".arrow.strong .near").dispatch_event("click")
    assert "&i=0x20" in viewer.address
    assert "For it wait: 0x0040 142." in viewer.text("aside .waiting")
    assert viewer.find(".arrow").count() == 1
    # The line: its own waits, and all its long arrows, besides the thin ones of all lines.
    viewer.press("Escape", "5")
    assert viewer.text(".source-pane .columns").split() == ["waits", "%"]
    assert viewer.texts(".source .heat")[4:6] == ["147", "100.0"]
    viewer.pin("source", "a[0] += 1")
    assert (
        "147 cycles, 100.0% of the kernel's: 142 for this line (global write), 5 for this line (token of the some)."
        in viewer.text("aside .waiting")
    )
    assert viewer.find(".arrow:not(.thin)").count() == 1
    assert viewer.axe() == []
    assert viewer.cut_texts() == []
    # In the colour of waits each long one has a thin arrow, whatever is pinned.
    viewer.press("Escape")
    assert viewer.find(".arrow.thin").count() == 1
    viewer.press("1")
    assert viewer.find(".arrow").count() == 0
    # A button counts the long ones, and steps.
    viewer.find(".step", has_text="Next wait 1").click()
    assert "&i=0x40" in viewer.address


def test_from_wait_to_wait_by_keys(open_report: Open) -> None:
    viewer = open_report(with_kernels({"near": chunk_of(small_document()), "far": far_apart()}))
    viewer.press("w")
    assert "&i=0x40" in viewer.address
    assert viewer.focused() == "Machine code"
    viewer.find(".spoken", has_text="waits 142 cycles").wait_for(state="attached")
    viewer.press("W")
    assert "&i=0x40" in viewer.address
    viewer.press("?")
    assert "waits 20 cycles or more" in viewer.text("dialog")
    viewer.press("Escape")
    # Who is waited for is out of sight: a button says where, and goes there.
    viewer.kernel("far").click()
    viewer.find(".pick .name", has_text="far").wait_for()
    viewer.find(".gen .cm-content").focus()
    viewer.press("w")
    edge = viewer.find(".edge:visible")
    edge.wait_for()
    assert edge.inner_text() == "↑ 0x0000, line 3, some: waits 1203 cycles for it"
    edge.focus()
    viewer.press("Enter")
    assert "&i=0x0" in viewer.address
    assert edge.count() == 0


def test_waits_that_are_not_known(open_report: Open) -> None:
    viewer = open_report(with_kernels({"old": without_waits()}))
    viewer.pin("gen", "add ")
    assert "Waits are unknown on skl: IGC has none." in viewer.text("aside .waiting")
    assert viewer.find(".gen .wt").count() == 0
    assert viewer.find(".code-pane .opt", has_text="Waits").count() == 0
    viewer.press("5")
    viewer.find("footer .told", has_text="Waits are unknown on skl: IGC has none.").wait_for()
    viewer.press("w")
    viewer.find("footer .told", has_text="Waits are unknown on skl: IGC has none.").wait_for()


def test_the_figures_are_those_of_annotate(open_report: Open, darktable_kernels: Path) -> None:
    """What stands beside lines and instructions of three real kernels, against ``annotate --waits --json``."""
    stages = kernlens.stages(darktable_kernels / "sharpen.cl", "dg2", toolchain=SYSTEM)
    (program,) = (each for each in stages.programs if each.kernels)
    viewer = open_report(explore_document([program], has_stages=False))
    viewer.press("5")
    compared = 0
    for name, kernel in program.kernels.items():
        viewer.kernel(name).click()
        viewer.find(".pick .name", has_text=name).wait_for()
        answer = json.loads(kernel_json(kernel, is_placed=True, has_waits=True))
        stated = {str(each["line"]): each["wait_cycles"] for each in answer["waits"]["lines"] if each["wait_cycles"]}
        cells = viewer.find(".source .numbers .cm-gutterElement").all()
        shown = dict(_line_and_figure(cell) for cell in cells if _line_and_figure(cell)[1])
        assert {line: stated.get(line) for line in shown} == {
            line: int(text.replace(",", "")) for line, text in shown.items()
        }
        compared += len(shown)
        waits = {f"{row['offset']:04x}": row["wait"]["cycles"] for row in answer["instructions"] if row["wait"]}
        rows = [viewer.texts(cells) for cells in (".gen .ln", ".gen .wt")]
        for offset, text in zip(*rows, strict=True):
            assert text == (str(waits[offset]) if waits.get(offset, 0) >= 3 else "")
    assert compared >= 6


def _line_and_figure(cell: Locator) -> tuple[str, str]:
    """Return a line's number and the figure beside it."""
    texts = cell.locator(".ln, .heat").all_inner_texts()
    return (texts[0], texts[1]) if texts else ("", "")


def test_forced_colours(open_report: Open) -> None:
    viewer = open_report(small_document())
    viewer.tab.emulate_media(forced_colors="active")
    viewer.pin("gen", "r127:ud")
    # The panel comes with the pin, and the arrows are drawn again where the rows are then.
    expect(viewer.find(".arrow.strong .point")).to_have_css(
        "fill", viewer.find(".app").evaluate("e => getComputedStyle(e).color")
    )
