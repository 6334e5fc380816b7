"""A report opened from disk: what it shows first, how lines are linked, and that it asks nobody for anything."""

from __future__ import annotations

from pathlib import Path

from tests.browser.conftest import Open
from tests.browser.measure import large
from tests.browser.viewer import Viewer

AMBER = "rgb(255, 234, 166)"


def test_it_opens_with_the_worst_kernel_and_what_is_known_of_it(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page)
    assert viewer.tab.title() == "sharpen_hblur · dg2 · kernlens"
    assert viewer.text(".pick .name") == "sharpen_hblur"
    assert "SIMD" in viewer.text(".facts")
    counts = [int(count) for count in viewer.texts("nav .k > em")]
    assert counts == sorted(counts, reverse=True)
    build = viewer.text(".build")
    assert "dg2" in build
    assert "IGC" in build
    assert "-gline-tables-only" in build
    assert " certain (the table leaves" in str(viewer.find(".coverage").get_attribute("title"))


def test_hover_lights_the_line_in_all_panes_and_moves_none(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page)
    # The line that the page opens on is lit until another is pointed at, and then again.
    source = viewer.line("source", "const int x = ")
    source.scroll_into_view_if_needed()
    assert viewer.background(source) != AMBER
    before = viewer.tab.evaluate(SCROLLED)
    source.hover()
    viewer.find(".source-pane .told", has_text="1 lit").wait_for()
    assert viewer.background(source) == AMBER
    for pane in (".stage-pane", ".code-pane"):
        assert " lit" in viewer.text(f"{pane} .told")
    assert viewer.tab.evaluate(SCROLLED) == before
    viewer.find("header strong").hover()
    viewer.tab.wait_for_timeout(500)
    assert viewer.background(source) != AMBER


def test_a_click_pins_and_scrolls_the_others(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page)
    viewer.pin("source", "write_imagef")
    assert viewer.pinned.startswith("● Pinned line ")
    line = viewer.pinned.rpartition(" ")[2]
    assert viewer.address.endswith(f"sharpen.cl:{line}")
    for pane in ("stage", "gen"):
        colours = viewer.find(f".{pane} .cm-line").evaluate_all(
            "lines => lines.map(line => getComputedStyle(line).backgroundColor)"
        )
        assert AMBER in colours, f"nothing lit is in sight in {pane}"
    viewer.pin("source", "write_imagef")
    assert viewer.pinned == ""


def test_an_address_brings_all_of_it_back(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page)
    viewer.pin("gen", "send.smpl")
    viewer.press("3")
    address, pinned = viewer.address, viewer.pinned
    assert "&i=0x" in address
    viewer.tab.reload()
    again = Viewer(viewer.tab)
    again.find(".pinned", has_text="line").wait_for()
    assert (again.address, again.pinned) == (address, pinned)
    assert again.tab.get_by_label("Colour by").input_value() == "spills"


def test_back_and_forward(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page)
    first, second = viewer.find("nav .k").all()[:2]
    second.click()
    name = viewer.text(".pick .name")
    viewer.pin("gen", "send.smpl")
    viewer.tab.go_back()
    viewer.find(".pinned", has_text="").wait_for(state="attached")
    viewer.tab.wait_for_function("location.hash.includes('l=') === false")
    viewer.tab.go_back()
    viewer.find(".pick .name", has_not_text=name).wait_for()
    viewer.tab.go_forward()
    viewer.find(".pick .name", has_text=name).wait_for()
    assert first.is_visible()


SCROLLED = """() => [...document.getElementById("kernlens").shadowRoot.querySelectorAll(".cm-scroller")]
  .map(scroller => scroller.scrollTop)"""


def test_a_large_kernel_opens(open_report: Open) -> None:
    """The one that tests.browser.measure measures."""
    viewer = open_report(large())
    assert "25,000" in viewer.text(".facts")
    assert viewer.line("gen", "add").is_visible()
