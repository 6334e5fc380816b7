"""Clicks and keys in ``kernlens serve`` change no source: *Edit*, ``e`` and Enter on a pinned line alone begin to edit.

A random walk takes 200 steps; KERNLENS_WALK=10000 makes it longer, KERNLENS_SEED another one.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

from playwright.sync_api import Request

from tests.browser.edits import LONG, versions
from tests.browser.test_serve import OpenServed, open_served, server
from tests.integration.serve.explorer_fixtures import SOURCE, Server, serving

__all__ = ["open_served", "server"]

#: Keys that the help sheet teaches, letters first; Ctrl+Enter compiles what is there, which takes its time.
KEYS = [
    *"jknNwWsSbfglpKoxiaLcC/?e[]123456789", "Enter", "Escape", "F4", "Tab", "Shift+Tab", "ArrowDown", "ArrowUp", "Alt+Enter",
    "Control+Alt+ArrowLeft", "Control+Alt+ArrowRight", "Backspace", "Delete", "Space",
]  # fmt: skip
#: After which steps the page is loaded anew.
FRESH = 250
#: Where a point is: what a click there would reach. Lists of a browser's own and what compiles with other options are left out.
IS_FREE = """([x, y]) => document.getElementById("kernlens").shadowRoot.elementFromPoint(x, y)
  ?.closest(".fields, .trials, .offers, select") === null"""
IS_TYPED_IN = """() => document.getElementById("kernlens").shadowRoot.querySelector(".typed-in") !== null"""

LARGER = (
    SOURCE
    + "".join(
        f"kernel void other{number}(global float *data)\n{{\n  size_t i = get_global_id(0);\n"
        f"  for (int n = 0; n < {number + 3}; n++)\n    data[i] = data[i] / (data[n] + 1.0f);\n}}\n"
        for number in range(6)
    )
)  # fmt: skip


def test_no_walk_of_clicks_and_keys_changes_a_source(tmp_path: Path, open_served: OpenServed) -> None:
    (tmp_path / "larger.cl").write_text(LARGER)
    steps, chance = (
        int(os.environ.get("KERNLENS_WALK", "200")),
        random.Random(int(os.environ.get("KERNLENS_SEED", "51"))),
    )
    done: list[str] = []
    changed: list[str] = []

    def heard(request: Request) -> None:
        if not request.url.endswith("/api/compile"):
            return
        source = json.loads(request.post_data or "{}")["source"]
        if source["text"] != LARGER or source.get("others"):
            changed.append(f"after {done[-12:]}")

    with serving(tmp_path / "larger.cl", "--device", "dg2") as server:
        viewer = open_served(server)
        tab = viewer.tab
        address = tab.url
        tab.on("request", heard)
        errors: list[str] = []
        tab.on("pageerror", lambda error: errors.append(f"{error} after {done[-3:]}"))
        # A request that fails is written on the console, too.
        tab.on("console", lambda told: errors.append(f"{told.text} {told.location} after {done[-3:]}"))
        clicks = edits = 0
        # Each view has been seen, as few clicks by chance hit these buttons.
        for view in ("compare", "passes", "sweep", "panes"):
            viewer.find(f"button[data-view={view}]").click()
            tab.wait_for_timeout(300)
        for step in range(steps):
            if step % FRESH == FRESH - 1:
                tab.goto("about:blank")
                tab.goto(f"{address.partition('#')[0]}#t={server.token}")
                viewer.ready()
            if chance.random() < 0.5:
                point = [chance.randrange(1440), chance.randrange(44, 900)]
                if tab.evaluate(IS_FREE, point):
                    tab.mouse.click(*point)
                    clicks += 1
                    done.append(str(point))
            else:
                done.append(chance.choice(KEYS))
                tab.keyboard.press(done[-1])
            if tab.evaluate(IS_TYPED_IN):
                # Who asked for the editor sees it, and leaves it.
                edits += 1
                assert done[-1] in ("e", "Enter", "Space") or done[-1].startswith("["), done[-12:]
                done.append("Escape")
                tab.keyboard.press("Escape")
                assert not tab.evaluate(IS_TYPED_IN)
        tab.wait_for_timeout(1_000)
    assert changed == []
    assert errors == []
    assert clicks > steps / 4
    assert edits > 0


def test_a_click_pins_and_letters_are_keys(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    line = viewer.line("source", "*= 2.0f")
    line.click()
    assert viewer.pinned == "● Pinned line 3"
    viewer.press("o", "x", "Backspace", "Delete")
    viewer.tab.keyboard.type("missing")
    assert viewer.find(".typed-in").count() == 0
    assert line.inner_text() == "  data[get_global_id(0)] *= 2.0f;"
    # A click on the same line again lets it go.
    viewer.press("Escape")
    line.click()
    assert viewer.pinned == "● Pinned line 3"
    for way in ("Enter", "e", "Edit"):
        if way == "Edit":
            viewer.find(".source-pane .opt", has_text="Edit").click()
        else:
            viewer.press(way)
        viewer.find(".typed-in").wait_for()
        assert viewer.find(".source-pane .opt.edit").inner_text() == "Done"
        assert viewer.find("footer .typing").is_visible()
        assert viewer.axe_in_both_themes() == []
        viewer.press("Escape")
        viewer.find(".typed-in").wait_for(state="detached")
        # The pin stays for what is pressed next.
        assert viewer.pinned == "● Pinned line 3"
    viewer.find(".source-pane .opt", has_text="Edit").click()
    viewer.press("End")
    viewer.tab.keyboard.type("// e")
    viewer.find(".version", has_text="line 3").wait_for(timeout=LONG)
    # Whoever goes elsewhere has left the editor; what was typed is there, and can be undone in it.
    viewer.find(".gen .cm-line").first.click()
    viewer.find(".typed-in").wait_for(state="detached")
    line.click()
    viewer.tab.keyboard.type("ow")
    assert line.inner_text().endswith("2.0f;// e")
    viewer.find(".source-pane .opt", has_text="Edit").click()
    viewer.press("Control+z")
    viewer.find(".version[aria-current=true]", has_text="as read").wait_for(timeout=LONG)
    assert len(versions(viewer)) == 2
    viewer.find(".source-pane .opt", has_text="Done").click()
    viewer.find(".typed-in").wait_for(state="detached")


def test_letters_in_the_open_editor_are_seen_as_letters(server: Server, open_served: OpenServed) -> None:
    viewer = open_served(server)
    viewer.press("e")
    # The next key is a letter already.
    viewer.press("c")
    assert viewer.find(".compare").filter(visible=True).count() == 0
    frame = viewer.find(".source.typed-in").evaluate("element => getComputedStyle(element, '::after').borderTopWidth")
    bar = viewer.find(".source.typed-in").evaluate("element => getComputedStyle(element, '::before').content")
    assert (frame, bar) == ("4px", '"Editing: what you type is compiled · Esc leaves"')
    viewer.tab.emulate_media(forced_colors="active")
    assert viewer.axe() == []
