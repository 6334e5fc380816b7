"""From a wide screen to a telephone: nothing is cut off, nothing scrolls sideways, no room is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.conftest import Open


@pytest.mark.parametrize(
    ("width", "height"), [(1440, 900), (1280, 800), (1024, 768), (820, 1180), (720, 450), (390, 844)]
)
def test_nothing_is_cut_off(open_report: Open, sharpen_page: Path, width: int, height: int) -> None:
    viewer = open_report(sharpen_page, width=width, height=height)
    assert viewer.cut_texts() == []
    assert not viewer.scrolls_sideways()
    if width > 760:
        viewer.pin("gen", "send")
    else:
        viewer.find(".switcher button", has_text="Machine code").click()
        viewer.pin("gen", "send")
    assert viewer.cut_texts() == []
    viewer.press("?")
    viewer.find("dialog[open]").wait_for()
    assert viewer.cut_texts() == []
    assert not viewer.scrolls_sideways()
    viewer.press("Escape", "K")
    assert viewer.find("nav").is_visible()
    assert viewer.cut_texts() == []
    # Sorted by keys, the list stays, and the focus with it.
    viewer.find("nav button[aria-pressed]", has_text="instr").focus()
    viewer.press("Enter")
    assert viewer.find("nav").is_visible()
    assert viewer.focused() == "instr ▾"


def test_a_click_beside_its_controls_leaves_the_drawer_open(open_report: Open, sharpen_page: Path) -> None:
    """As does one on them, in browsers whose buttons take no focus: Safari's."""
    viewer = open_report(sharpen_page, width=1000)
    viewer.press("K")
    viewer.find("nav h2").click()
    assert viewer.find("nav").is_visible()
    viewer.find(".gen .cm-content").click()
    viewer.find("nav").wait_for(state="hidden")


def test_the_header_has_two_rows_on_a_telephone(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page, width=390, height=844)
    box = viewer.find("header").bounding_box()
    assert box is not None
    assert box["height"] <= 74
    # The search is a button there, and opens over the header.
    viewer.find(".find").click()
    viewer.tab.keyboard.type("op:send")
    viewer.find(".results .it", has_text="instructions").wait_for()
    field = viewer.find(".find").bounding_box()
    assert field is not None
    assert field["width"] > 350
    viewer.press("Escape", "Escape")
    # A view has all of the room: no band is left where the panes' tabs were.
    viewer.find("button[data-view=compare]").click()
    view, build = viewer.find(".view").bounding_box(), viewer.find(".build").bounding_box()
    assert view is not None
    assert build is not None
    assert view["y"] == build["y"] + build["height"]


def test_the_share_menu_stays_in_a_window_that_gets_narrow(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page)
    viewer.find("header button", has_text="Share").click()
    viewer.find(".share[open]").wait_for()
    viewer.tab.set_viewport_size({"width": 390, "height": 844})
    viewer.tab.wait_for_timeout(100)
    assert viewer.cut_texts() == []
    # What nothing can be done with is not there.
    viewer.press("Escape")
    viewer.press("?")
    viewer.find("dialog[open] .help").wait_for()
    assert "compile" not in viewer.text("dialog[open] .help")
    assert viewer.find(".source-pane .opt").count() == 0
