"""The row below the bars names the line to look at first, with the figures of the source map; its button goes there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kernlens
from kernlens.cli.answers.pressure_answer import pressure_document
from kernlens.report.explore import explore_document
from kernlens.toolchain.toolchains import SYSTEM
from tests.browser.conftest import Open

SPILLING = re.compile(
    r"Registers spill: line (\d+) holds (\d+) of the (\d+) registers live at the peak, (\d+) for certain\."
)
COSTLIEST = re.compile(
    r"By the line table, line (\d+) has ([\d,]+) of the ([\d,]+) instructions \(([\d.]+)%\), in a loop:"
    r" no line has more in loops\."
)


#: The first row in sight of each pane that is lit, with its line.
LIT = """() => ["source", "gen"].map(pane => {
  const scroller = document.getElementById("kernlens").shadowRoot.querySelector(`.${pane} .cm-scroller`);
  const box = scroller.getBoundingClientRect();
  const isLit = cell => getComputedStyle(cell).getPropertyValue("--bar").trim() !== "";
  const isSeen = cell => cell.getBoundingClientRect().top >= box.top && cell.getBoundingClientRect().bottom <= box.bottom;
  const cell = [...scroller.querySelectorAll(".cm-gutterElement")].find(each => isLit(each) && isSeen(each));
  return [pane, parseInt(cell?.querySelector(pane === "gen" ? ".from" : ".ln").textContent)];
})"""


#: Top of the source pane, where its first lit row is, and the pane's height.
MIDDLE = """() => {
  const scroller = document.getElementById("kernlens").shadowRoot.querySelector(".source .cm-scroller");
  const isLit = cell => getComputedStyle(cell).getPropertyValue("--bar").trim() !== "";
  const box = scroller.getBoundingClientRect();
  return [box.top, [...scroller.querySelectorAll(".cm-gutterElement")].find(isLit).getBoundingClientRect().top, box.height];
}"""


@pytest.mark.parametrize(("source", "name"), [("diffuse.cl", "diffuse_pde"), ("sharpen.cl", "sharpen_hblur")])
def test_the_first_answer_at_first_sight(open_report: Open, darktable_kernels: Path, source: str, name: str) -> None:
    programs = kernlens.compile(darktable_kernels / source, "dg2", toolchain=SYSTEM)
    kernel = next(program.kernels[name] for program in programs if name in program.kernels)
    viewer = open_report(explore_document(programs, title=source), at=f"#k={name}")
    words = viewer.find(".answer span").first.inner_text()
    button = viewer.find(".answer button").first
    if source == "diffuse.cl":
        match = SPILLING.fullmatch(words)
        assert match, words
        pressure = pressure_document(kernel, has_live=False)
        assert pressure is not None
        first = max(pressure["held"], key=lambda held: len(held["registers"]))
        figures = [first["line"], len(first["registers"]), pressure["live_grfs"], first["certain"]]
        assert list(map(int, match.groups())) == figures
    else:
        match = COSTLIEST.fullmatch(words)
        assert match, words
        assert kernel.source_map is not None
        assert kernel.loops is not None
        depths = kernel.loops.depths
        counts = {
            line: sum(depths[row] > 0 for run in code.runs for row in run)
            for (_, line), code in kernel.source_map.lines.items()
        }
        # The line with most has none in a loop, and is not the answer.
        assert counts[int(match[1])] == int(match[2]) == max(counts.values())
        assert int(match[2]) < max(sum(map(len, code.runs)) for code in kernel.source_map.lines.values())
        assert int(match[3].replace(",", "")) == len(kernel.instructions)
        assert float(match[4]) == pytest.approx(100 * int(match[2]) / len(kernel.instructions), abs=0.051)
    # In the middle of the pane: what comes before it is seen, and what follows.
    top, middle, height = viewer.tab.evaluate(MIDDLE)
    assert top < middle < top + height * 0.75
    # The page opens on it: it is lit in all panes, and in sight, before anything is clicked.
    assert viewer.tab.evaluate(LIT) == [["source", int(match[1])], ["gen", int(match[1])]]
    assert viewer.find("footer .pinned").inner_text() == ""
    assert viewer.axe_in_both_themes() == []
    # By the keyboard alone: the line is lit in all panes, and in sight.
    button.focus()
    viewer.press("Enter")
    viewer.find("footer .pinned", has_text=f"Pinned line {match[1]}").wait_for()
    assert button.inner_text() == f"Show line {match[1]}"
    assert viewer.find(".source .cm-line.cm-activeLine").is_visible()
    # Nothing of it is wider than the page.
    for width in (1280, 1024, 800):
        viewer.tab.set_viewport_size({"width": width, "height": 900})
        assert not viewer.scrolls_sideways()
