"""The outline of a kernel's blocks: a tree in the order of addresses that scrolls the code."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import expect

import kernlens
from kernlens.analysis.flow.blocks import straight_code
from kernlens.report.explore import explore_document
from kernlens.report.explore.explore_document import ExploreDocument
from kernlens.report.explore.packing import deltas
from kernlens.toolchain.toolchains import SYSTEM
from tests.browser.conftest import Open
from tests.browser.made import chunk_of, small_document, with_kernels
from tests.browser.viewer import Viewer

BLOCKS = 3000


def many() -> ExploreDocument:
    """Return a kernel of 3,000 blocks, each a loop of its own and all of them in one."""
    rows = ["(W)     mov (8|M0)               r2.0<1>:ud    r0.0<1;1,0>:ud"] * BLOCKS
    chunk = chunk_of(small_document(rows=rows))
    chunk["code"] |= {
        "block": deltas(range(BLOCKS)),
        "depth": [2] * BLOCKS,
        "cycles": None,
        "live": None,
        "peak": None,
        "use": None,
    }
    chunk["code"]["flow"] = {
        "block": deltas(range(BLOCKS)), "loop": list(range(1, BLOCKS + 1)), "parent": [-1, *[0] * BLOCKS],
        "header": [0, *range(BLOCKS)], "jump": [*([row, row] for row in range(BLOCKS)), [BLOCKS - 1, 0]],
    }  # fmt: skip
    return with_kernels({"many": chunk})


def levels(viewer: Viewer) -> list[str]:
    return [
        f"{each.get_attribute('aria-level')} {each.inner_text().split()[0]}"
        for each in viewer.find(".outline [role=treeitem]").all()
    ]


def test_blocks_are_those_of_the_analysis(open_report: Open, darktable_kernels: Path) -> None:
    stages = kernlens.stages(darktable_kernels / "sharpen.cl", "dg2", toolchain=SYSTEM)
    (program,) = (each for each in stages.programs if each.kernels)
    kernel = program.kernels["sharpen_hblur"]
    routes, loops = kernel.instructions.routes, kernel.loops
    assert routes is not None
    assert loops is not None
    viewer = open_report(explore_document([program], has_stages=False), at="#k=sharpen_hblur", height=1400)
    viewer.press("b")
    firsts = [part.start for part in straight_code(routes, len(kernel.instructions)).code]
    assert not any(route.is_call for route in routes.values())
    assert viewer.text(".blocks-head").split("\n")[0] == f"{len(firsts)} blocks, {len(loops.loops)} loops"
    items = viewer.find(".outline [role=treeitem]").all()
    assert len(items) == len(firsts)
    ends = [*firsts[1:], len(kernel.instructions)]
    assert [int(item.locator(".weight").inner_text()) for item in items] == [
        end - first for first, end in zip(firsts, ends, strict=True)
    ]
    indents = [item.evaluate("element => parseFloat(element.style.paddingLeft)") for item in items]
    step = min(right - left for left, right in pairwise(sorted(set(indents))))
    assert [round((indent - min(indents)) / step) for indent in indents] == [loops.depths[first] for first in firsts]
    headers = {first for first in firsts if any(loop.header.start == first for loop in loops.loops)}
    assert [item.get_attribute("aria-expanded") is not None for item in items] == [first in headers for first in firsts]
    # Jumps are where lanes go; those back are in the accent.
    jumps = {
        (row, target)
        for row, route in routes.items()
        for target in route.targets
        if target in firsts and target != row + 1
    }
    assert viewer.find(".jump").count() == len({(_holding(firsts, row), target) for row, target in jumps})
    assert viewer.find(".jump.back").count() == len(
        {(_holding(firsts, row), target) for row, target in jumps if target <= _holding(firsts, row)}
    )
    # A click scrolls the code; what is pinned there is lit here.
    items[-1].click()
    # The outline and the code's headers have one word for a block.
    viewer.line("gen", "block B31").wait_for()
    viewer.find(f".gen .cm-line.R{firsts[-1]}").click(position={"x": 40, "y": 8})
    viewer.find(".block.on").wait_for()
    assert viewer.find(".block.on .name").inner_text() == "B31"
    # By waits: the same sums as the kernel's.
    viewer.tab.get_by_label("Colour by").select_option("waits")
    expect(viewer.find(".blocks-head .unit")).to_have_text("waits")
    waits = kernel.waits
    assert waits is not None
    shown = [int(item.inner_text()) for item in viewer.find(".block .weight").all()]
    assert shown == [
        sum(waits.waits[row].cycles for row in range(first, end) if row in waits.waits)
        for first, end in zip(firsts, ends, strict=True)
    ]


def _holding(firsts: list[int], row: int) -> int:
    return max(first for first in firsts if first <= row)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_keys_walk_and_fold(open_report: Open, theme: str) -> None:
    viewer = open_report(small_document(), theme=theme)
    viewer.press("b")
    assert levels(viewer) == ["1 B0", "1 B1"]
    assert viewer.focused() == "B0↻, begins a loop, line 3, 4 instructions"
    assert viewer.axe() == []
    assert viewer.cut_texts() == []
    viewer.press("ArrowDown")
    assert viewer.focused() == "B1, line 3, 1 instruction"
    viewer.press("ArrowLeft", "Home", "ArrowLeft")
    assert viewer.focused() == "▸↻loop, line 3 · 1 block, 4 instructions"
    assert viewer.find(".jump").count() == 1
    viewer.press("ArrowRight", "Enter")
    assert "&i=0x0" in viewer.address
    assert viewer.find(".block.on").count() == 1
    # One stop for Tab, and the panel closes again.
    assert viewer.find(".outline [tabindex='0']").count() == 1
    viewer.press("b")
    assert viewer.find(".blocks").is_hidden()


def test_three_thousand_blocks(open_report: Open) -> None:
    viewer = open_report(many())
    viewer.press("b")
    # Folded at first: one loop holds them all.
    assert viewer.find(".block").count() == 1
    assert viewer.find(".block").text_content() == "▸↻loop, line 3 · 3,000 blocks, 3,000 instructions"
    viewer.press("ArrowRight")
    viewer.find(".block").nth(5).wait_for()
    # Only what is in sight is drawn.
    assert viewer.find(".block").count() < 100
    assert viewer.find(".jump").count() < 200
    viewer.press("End")
    viewer.find(".block", has_text="B2999").wait_for()
    assert viewer.focused().startswith("B2999↻, begins a loop")
    viewer.press("1", "2", "3")
    assert viewer.focused().startswith("B123↻, begins a loop")
    assert viewer.tab.evaluate(
        "document.getElementById('kernlens').shadowRoot.activeElement.getBoundingClientRect().top > 0"
    )
