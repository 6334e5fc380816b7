"""Axe finds nothing in any state of the page, in either theme: of a report, and of a page that compiles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Open
from tests.browser.edits import LONG, compiled, put_caret
from tests.browser.pictures import PICTURES, all_reports
from tests.browser.test_share import KERNELS
from tests.browser.viewer import IS_WHOLE, Viewer
from tests.integration.serve.explorer_fixtures import serving

#: What a reader does to the page of sharpen_hblur, and what is there then; a key, or a click.
STATES: dict[str, tuple[list[str], str]] = {
    "a pinned line is lit in all colours": (["2"], ".app"),
    "hues": (["4"], ".source .cm-line[class*=' y']"),
    "a list of what is lit": (["1", "L"], "dialog[open] li"),
    "keys and words": (["Escape", "?"], "dialog[open] .help"),
    "a source line is asked for": (["Escape", "g", "l"], "dialog[open] .ask"),
    "IGA's operands": (["Escape", "o"], ".gen .cm-line"),
}


def test_in_a_report(open_report: Open, sharpen_page: Path) -> None:
    viewer = open_report(sharpen_page, at="#k=sharpen_hblur")
    viewer.pin("source", "buffer[rad + lid]")
    for state, (keys, there) in STATES.items():
        viewer.press(*keys)
        viewer.find(there).first.wait_for()
        assert (state, viewer.axe_in_turn()) == (state, [])
    viewer.press("Escape", "/")
    for typed, words in (("op:send", "3 of 3 kernels"), ("nothing at all", "0 of 3 kernels")):
        viewer.find(".find input").fill(typed)
        viewer.find(".results .it", has_text=words).wait_for()
        assert (typed, viewer.axe_in_turn()) == (typed, [])
    viewer.press("Escape", "Escape")
    viewer.find("header button", has_text="Share").click()
    viewer.find(".share[open]").wait_for()
    assert viewer.axe_in_turn() == []


@pytest.mark.parametrize("width", [1024, 390] if IS_WHOLE else [390])
def test_in_a_narrow_window(open_report: Open, sharpen_page: Path, width: int) -> None:
    viewer = open_report(sharpen_page, width=width, height=800, at="#k=sharpen_hblur&l=sharpen.cl:35")
    viewer.find("footer .pinned", has_text="35").wait_for()
    if width < 760:
        viewer.find(".switcher button", has_text="Machine code").click()
    assert viewer.axe_in_turn() == []
    viewer.press("K")
    viewer.find(".app.drawer").wait_for()
    assert viewer.axe_in_turn() == []


#: What opens a view of sharpen_hblur, a view's button or a key, and what is there then.
VIEWS = {
    "panes": ("", ".source .cm-line"),
    "compare": ("", ".compare .message"),
    "passes": ("", ".passes .message"),
    "sweep": ("", ".sweep .message"),
    "blocks": ("b", ".blocks .block"),
    "waits": ("5", ".gen .cm-line"),
    "advice": ("a", "dialog[open]"),
}


@pytest.mark.parametrize("width", [390, 800, 1024, 1280, 1440, 1920] if IS_WHOLE else [1440])
def test_in_each_view_in_colours_that_the_system_forces_too(open_report: Open, sharpen_page: Path, width: int) -> None:
    viewer = open_report(sharpen_page, width=width, height=800, at="#k=sharpen_hblur&l=sharpen.cl:35")
    for view, (key, there) in VIEWS.items():
        viewer.find(f"button[data-view={'panes' if key else view}]").click()
        shown = viewer.find(there).first
        if width <= 760 and view == "blocks":
            viewer.find(".switcher button", has_text="Machine code").click()
        if key:
            viewer.press(key)
        shown.wait_for(state="visible" if width > 760 else "attached")
        assert (view, viewer.axe_in_both_themes()) == (view, [])
        assert (view, viewer.axe_in_forced_colours()) == (view, [])
        viewer.press("Escape")


def test_while_a_source_is_edited(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "some.cl").write_text(KERNELS)
    with serving(tmp_path / "some.cl", "--device", "dg2") as server:
        context = browser.new_context(viewport={"width": 1600, "height": 900})
        tab = context.new_page()
        tab.set_default_timeout(LONG)
        tab.goto(f"http://127.0.0.1:{server.port}/#t={server.token}&k=twice")
        viewer = Viewer(tab)
        viewer.find(".source-pane .opt", has_text="Edit").click()
        assert viewer.axe_in_turn() == []
        put_caret(viewer, "*= 2.0f")
        tab.keyboard.insert_text(" data[1] = missing;")
        viewer.find(".said", has_text="missing").wait_for()
        assert viewer.axe_in_turn() == []
        viewer.press(*["Backspace"] * len("missing;"))
        tab.keyboard.type("sqrt(data[2]);")
        compiled(viewer)
        viewer.find(".badge.up").first.wait_for()
        assert viewer.axe_in_turn() == []
        viewer.press("Escape")
        viewer.find("button[data-view=compare]").click()
        viewer.find(".compare:not([aria-busy]) .lines tr", has_text="sqrt").wait_for()
        assert viewer.axe_in_turn() == []
        viewer.find(".picker input").first.click()
        viewer.find("[role=option]").first.wait_for()
        assert viewer.axe_in_turn() == []
        context.close()


@pytest.fixture(scope="module")
def reports() -> Iterator[Path]:
    """Return the folder of the reports that the documentation's pictures are of."""
    with all_reports() as folder:
        yield folder


@pytest.mark.parametrize("width", [390, 800, 1024, 1280, 1440, 1920] if IS_WHOLE else [1440])
@pytest.mark.parametrize("name", ["passes", "compare", "sweep", "behaviour"])
def test_in_views_that_are_filled(open_report: Open, reports: Path, name: str, width: int) -> None:
    report, address, _, awaited = PICTURES[f"{name}.png"]
    viewer = open_report(reports / f"{report}.html", width=width, height=800, at=address)
    viewer.find(awaited).first.wait_for(state="visible" if width > 760 else "attached")
    assert viewer.axe_in_both_themes() == []
    assert viewer.axe_in_forced_colours() == []
