"""Room for machine code, measured: no operand is cut, nothing is clipped, and the code keeps half of the height."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.conftest import Open
from tests.browser.made import ROWS, small_document
from tests.browser.viewer import Viewer

#: Goes through all of the machine code, and returns rows that are wider than the pane, how many wrap, and all of them.
ROWS_READ = """async () => {
  const root = document.getElementById("kernlens").shadowRoot;
  const scroller = root.querySelector(".gen .cm-scroller");
  const seen = new Map();
  const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  for (let top = 0; ; top += scroller.clientHeight - 40) {
    scroller.scrollTop = top;
    await frame();
    await frame();
    const {right} = scroller.getBoundingClientRect();
    for (const line of root.querySelectorAll(".gen .cm-line:not(.header)")) {
      const row = /R\\d+/.exec(line.className)?.[0];
      if (row === undefined) continue;
      const inside = [line, ...line.children].every(part => part.getBoundingClientRect().right <= right + 0.5);
      seen.set(row, {cut: !inside || line.scrollWidth > line.clientWidth, wraps: line.clientHeight > 20});
    }
    if (top + scroller.clientHeight >= scroller.scrollHeight) break;
  }
  const rows = [...seen];
  return {all: rows.length, cut: rows.filter(([, {cut}]) => cut).length, wraps: rows.filter(([, {wraps}]) => wraps).length,
    sideways: scroller.scrollWidth - scroller.clientWidth};
}"""


@pytest.mark.parametrize(("width", "most"), [(1600, 0.01), (1440, 0.01), (1024, 0.11), (390, 1)])
def test_no_operand_is_cut(open_report: Open, sharpen_page: Path, width: int, most: float) -> None:
    viewer = open_report(sharpen_page, width=width, height=900)
    show_code(viewer)
    show_prologue(viewer)
    read = viewer.tab.evaluate(ROWS_READ)
    assert read["all"] == 245
    assert read["cut"] == 0
    assert read["sideways"] <= 0
    assert read["wraps"] <= most * read["all"]


def test_a_window_that_was_narrow_gives_the_code_its_width(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page, width=390, height=900)
    show_code(viewer)
    show_prologue(viewer)
    for width, most in ((1024, 0.11), (1440, 0)):
        viewer.tab.set_viewport_size({"width": width, "height": 900})
        viewer.tab.wait_for_timeout(200)
        read = viewer.tab.evaluate(ROWS_READ)
        assert read["all"] == 245
        assert read["wraps"] <= most * read["all"], width


@pytest.mark.parametrize("width", [1280, 1366, 1440])
def test_the_source_has_its_room_first(open_report: Open, sharpen_page: Path, width: int) -> None:
    viewer = open_report(sharpen_page, width=width)
    shares = """() => ["main", ".source-pane"].map(name =>
      document.getElementById("kernlens").shadowRoot.querySelector(name).clientWidth)"""
    whole, source = viewer.tab.evaluate(shares)
    assert source >= 0.45 * whole - 5
    # What the panes were filled with behind another view has its room as well.
    for view in ("passes", "panes"):
        viewer.find(f"button[data-view={view}]").click()
    viewer.find("nav .k", has_text="vblur").click()
    viewer.find("button[data-view=passes]").click()
    viewer.find("nav .k", has_text="hblur").click()
    viewer.find("button[data-view=panes]").click()
    assert viewer.tab.evaluate(shares) == [whole, source]


def test_the_source_is_read_beside_the_code(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page, width=1160, height=660)
    viewer.find(".source .cm-line").first.wait_for()
    box = viewer.find(".source-pane").bounding_box()
    assert box is not None
    assert box["width"] >= 320


def show_prologue(viewer: Viewer) -> None:
    """Open the row that the prologue is folded into."""
    viewer.find(".gen .cm-scroller").evaluate("scroller => { scroller.scrollTop = 0; }")
    viewer.find(".gen .cm-foldPlaceholder", has_text="prologue").click()
    viewer.find(".gen .cm-foldPlaceholder").wait_for(state="detached")


def show_code(viewer: Viewer) -> None:
    """Bring the machine code to the front where there is room for one pane."""
    button = viewer.find(".switcher button", has_text="Machine code")
    if button.is_visible():
        button.click()


def test_what_wraps_is_drawn_where_it_is_said_to_be(open_report: Open) -> None:
    long = "        mad (16|M0)              r127.2<1>:ud  r127.2<0;1,0>:ud  r126.4<0;1,0>:ud  r125.6<0;1,0>:ud"
    viewer = open_report(small_document(rows=[ROWS[0], long] * 600), width=390)
    show_code(viewer)
    for key in ("Control+End", "Control+Home"):
        viewer.find(".gen .cm-content").focus()
        viewer.press(key)
        viewer.tab.wait_for_timeout(100)
        answer = viewer.find(".gen .cm-scroller").evaluate(
            """scroller => {
              const box = scroller.getBoundingClientRect();
              const active = scroller.querySelector(".cm-activeLine").getBoundingClientRect();
              return [active.top >= box.top - 1, active.bottom <= box.bottom + 1];
            }"""
        )
        assert answer == [True, True]


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (720, 450), (390, 844)])
def test_the_code_keeps_half_of_the_height(open_report: Open, sharpen_page: Path, width: int, height: int) -> None:
    viewer = open_report(sharpen_page, width=width, height=height)
    show_code(viewer)
    box = viewer.find(".gen .cm-scroller").bounding_box()
    assert box is not None
    assert box["height"] >= height / 2
    # Nothing is pinned, and nothing takes room for it.
    assert not viewer.find(".under").is_visible()
    viewer.pin("gen", "send")
    box = viewer.find(".code-pane").bounding_box()
    assert box is not None
    assert box["height"] >= height / 2
    assert viewer.find(".under").is_visible()
    assert viewer.cut_texts() == []
    assert not viewer.scrolls_sideways()
    viewer.press("Escape")
    assert not viewer.find(".under").is_visible()


def test_the_inspector_docks_where_there_is_room(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page, width=2560, height=1400)
    main, under = (viewer.find(zone).bounding_box() for zone in ("main", ".under"))
    assert main is not None
    assert under is not None
    assert under["width"] == 340
    assert under["x"] == main["x"] + main["width"]


def test_what_belongs_to_a_pinned_line_is_in_sight(open_report: Open, sharpen_page: Path) -> None:
    """Under the panel, too, which comes with the pin and takes its height from the panes."""
    viewer = open_report(sharpen_page, height=620)
    for line in range(27, 60):
        viewer.tab.evaluate(
            "line => { location.hash = location.hash.replace(/&[li]=[^&]*/g, '') + '&l=sharpen.cl:' + line; }", line
        )
        viewer.tab.wait_for_timeout(60)
        seen = viewer.tab.evaluate(
            """() => {
              const root = document.getElementById("kernlens").shadowRoot;
              const box = root.querySelector(".gen .cm-scroller").getBoundingClientRect();
              const told = /(\\d+) lit/.exec(root.querySelector(".code-pane .told").textContent);
              if (told === null || told[1] === "0") return null;
              const isLit = row => getComputedStyle(row).getPropertyValue("--bar-style") === "solid";
              return [...root.querySelectorAll(".gen .cm-line")].filter(isLit).some(row => {
                const at = row.getBoundingClientRect();
                return at.top >= box.top - 1 && at.bottom <= box.bottom + 1;
              });
            }"""
        )
        assert seen in (True, None), line


def test_one_picker_has_all_stages(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page)
    picker = viewer.tab.get_by_label("Stage of the compile")
    names = picker.locator("option").all_inner_texts()
    assert names[0] == "SPIR-V"
    assert names[-1] == "vISA"
    assert len([name for name in names if name.startswith("LLVM IR")]) > 2
    picker.select_option(label="vISA")
    viewer.find(".stage-pane .cm-content[aria-label=vISA]").wait_for()
    assert viewer.find(".stage-pane .tabs:not(.pair) > *").count() == 1


def test_two_panes_share_the_left_place(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page, width=1024, height=768)
    viewer.find(".source-pane .pair button", has_text="LLVM IR").click()
    viewer.find(".stage-pane .cm-content").wait_for()
    assert viewer.find(".source-pane").count() == 0
    assert viewer.find(".gen .cm-content").is_visible()
    viewer.find(".stage-pane .pair button", has_text="Source").click()
    viewer.find(".source-pane .cm-content").wait_for()


def test_forced_colours_show_what_is_pressed(open_report: Open) -> None:
    viewer = open_report(small_document())
    pressed = viewer.find(".build [aria-pressed=true]").first
    viewer.tab.emulate_media(forced_colors="active")
    assert pressed.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"


def test_what_is_left_out_moves_no_tab(open_report: Open) -> None:
    viewer = open_report(small_document(source=None))
    tab = viewer.find(".source-pane .tab", has_text="add.cl")
    assert tab.evaluate("tab => tab.scrollWidth <= tab.clientWidth")
    assert viewer.cut_texts() == []
