"""A reader's way through the page, the same in each browser; axe finds nothing wherever it leads."""

from __future__ import annotations

from tests.browser.webdriver import CONTROL, END, ESCAPE, WebDriver


def walk_through_a_report(browser: WebDriver, address: str) -> None:
    """Click a line and a register; search; look at a stage and the blocks; compare two kernels: of darktable's sharpen.cl."""
    browser.goto(address)
    browser.see(".gen .cm-line")
    browser.see(".stage .cm-line")
    browser.click(".source .cm-line", "buffer[rad + lid]")
    browser.see("footer .pinned", "Pinned line 35")
    lit = browser.run("return root.querySelectorAll('.gen .cm-line').length")
    assert lit > 10
    assert browser.axe() == []
    browser.click(".gen .cm-line:not(.header) .t-r", "r")
    browser.see("aside .register", "Register r")
    assert browser.axe() == []
    browser.press(ESCAPE)
    browser.press("/")
    browser.type("op:send")
    browser.see(".results .it", "instructions")
    browser.see("nav h2", "3 of 3 kernels")
    assert browser.axe() == []
    browser.press(ESCAPE)
    browser.gone(".results")
    browser.choose("Stage of the compile", "visa")
    browser.see(".stage .cm-line", "(M")
    browser.press("5")
    browser.press("b")
    browser.see(".blocks .block", "B0")
    assert browser.axe() == []
    browser.press("b")
    browser.press("4")
    assert browser.axe() == []
    browser.click("button[data-view=compare]")
    browser.click(".compare .tool", "Choose the new side")
    browser.click("[role=option]", "sharpen_vblur")
    browser.see(".compare:not([aria-busy]) .differences", "Kernel sharpen_hblur → sharpen_vblur")
    browser.see(".compare .sides .row")
    assert browser.axe() == []


def walk_through_an_edit(browser: WebDriver, address: str) -> None:
    """Edit a line so that it does not compile, mend it, and compare both versions: of the sources of test_share."""
    browser.goto(address)
    browser.click("nav .all > [role=treeitem]", "twice")
    browser.click(".source-pane .edit")
    # It is the chosen kernel's source, once that is there.
    browser.see(".source.typed-in")
    browser.click(".source .cm-line", "2.0f")
    browser.press(END)
    browser.type(" data[1] = missing;")
    browser.see(".said", "missing")
    assert browser.axe() == []
    browser.press(CONTROL, "z")
    browser.gone(".source .cm-line", "missing")
    browser.press(END)
    browser.type(" data[1] = sqrt(data[2]);")
    browser.see(".app:not(.stale) .standing.done")
    browser.see(".badge.up")
    assert "→" in browser.text(".facts")
    assert browser.axe() == []
    browser.press(ESCAPE)
    browser.click("button[data-view=compare]")
    browser.see(".compare:not([aria-busy]) .lines tr", "sqrt")
    browser.see('.compare .card[data-figure="instructions"]', "→")
    assert browser.axe() == []
