"""Each first click pins its row: in a pane that was scrolled for it, and where rows are drawn anew under the pressed button."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.conftest import Open

#: Scrolls a pane so that a row comes into sight, which the pane draws then; its middle, in pixels from the page's corner.
MIDDLES = """([pane, share]) => {
  const scroller = document.getElementById("kernlens").shadowRoot.querySelector(`.${pane} .cm-scroller`);
  scroller.scrollTop = share * (scroller.scrollHeight - scroller.clientHeight);
  return new Promise(done => requestAnimationFrame(() => setTimeout(() => {
    const box = scroller.getBoundingClientRect();
    const isSeen = ({top, bottom}) => top >= box.top && bottom <= box.bottom;
    const rows = [...scroller.querySelectorAll(".cm-line")].filter(row => / L\\d/.test(` ${row.className}`));
    const boxes = rows.map(row => row.getBoundingClientRect()).filter(isSeen);
    done(boxes.map(({top, bottom}) => [box.left + 12, (top + bottom) / 2]));
  })));
}"""


@pytest.mark.parametrize("pane", ["source", "stage", "gen"])
def test_the_first_click_pins(open_report: Open, sharpen_page: Path, pane: str) -> None:
    viewer = open_report(sharpen_page, at="#k=sharpen_hblur", width=1900)
    tab = viewer.tab
    for at, share in enumerate((0, 1, 0.5, 0.25, 0.75)):
        middles = tab.evaluate(MIDDLES, [pane, share])
        assert middles, share
        x, y = middles[at * 7 % len(middles)]
        # No hover before: the pointer comes and presses at once.
        tab.mouse.click(x, y)
        assert "Pinned line" in viewer.pinned, (pane, share, y)
        viewer.press("Escape")
        assert "Pinned" not in viewer.pinned
        # Other colours draw all rows anew.
        tab.mouse.down()
        viewer.press("2" if at % 2 else "1")
        tab.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        tab.mouse.up()
        assert "Pinned line" in viewer.pinned, (pane, share, y)
        viewer.press("Escape")


def test_a_press_that_is_dragged_away_pins_nothing(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page, at="#k=sharpen_hblur")
    tab = viewer.tab
    x, y = tab.evaluate(MIDDLES, ["gen", 0.5])[3]
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 90, y + 4)
    tab.mouse.up()
    assert "Pinned" not in viewer.pinned
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x, 20)
    tab.mouse.up()
    assert "Pinned" not in viewer.pinned


def test_a_click_without_a_mouse_pins(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page, at="#k=sharpen_hblur")
    row = viewer.find(".gen .cm-line:not(.header)").nth(4)
    box = row.bounding_box()
    assert box is not None
    row.dispatch_event("click", {"bubbles": True, "clientX": box["x"] + 3, "clientY": box["y"] + 9})
    assert "Pinned" in viewer.pinned
