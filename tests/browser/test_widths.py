"""From a wide screen to a telephone, in both themes: nothing is cut off, nothing scrolls sideways, nothing is hard to read."""

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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(open_report: Open, sharpen_page: Path, theme: str) -> None:
    viewer = open_report(sharpen_page, theme=theme)
    # On lit rows, on hot ones, on the pinned one; then on hues, and in a sheet.
    viewer.pin("gen", "send")
    assert viewer.axe() == []
    viewer.press("4", "?")
    assert viewer.axe() == []
