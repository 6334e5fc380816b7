"""The actions of tests on the viewer's page, by what a reader sees: names, roles and text."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from tests.tree import ROOT

AXE = ROOT / "viewer/node_modules/axe-core/axe.min.js"

#: The rules that a theme, or colours that the system forces, can break: the others see no colours.
OF_COLOURS = ["color-contrast", "link-in-text-block"]
#: Whether each state is seen in both themes, and in colours that the system forces.
IS_WHOLE = bool(os.environ.get("KERNLENS_WHOLE"))

#: Two frames, in which what changed is drawn.
RESTED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"


class Viewer:
    """The viewer in a tab. Selectors find what is in its shadow root."""

    def __init__(self, tab: Page) -> None:
        self.tab = tab
        self.turn = 0
        self.ready()

    def ready(self) -> None:
        """Wait until panes, or what stands in their place, are there."""
        self.tab.locator(".cm-content:visible, .message:visible, .view:visible").first.wait_for()
        self.tab.locator(".progress:visible").first.wait_for(state="detached")

    def find(self, selector: str, **having: Any) -> Locator:
        return self.tab.locator(selector, **having)

    def text(self, selector: str) -> str:
        """Return a text once what was pressed or chosen before is drawn, however busy the machine is."""
        self.tab.evaluate(RESTED)
        return self.tab.locator(selector).first.inner_text()

    def texts(self, selector: str) -> list[str]:
        """Return all texts once what was pressed or chosen before is drawn, found and read in one go: elements that the page
        draws anew in between, which a locator has found already, are nowhere, and their texts without lines and gaps."""
        elements = "[...document.getElementById('kernlens').shadowRoot.querySelectorAll(selector)]"
        texts: list[str] = self.tab.evaluate(
            f"selector => {RESTED}.then(() => {elements}.map(element => element.innerText))", selector
        )
        return texts

    def press(self, *keys: str) -> None:
        for key in keys:
            self.tab.keyboard.press(key)

    def line(self, pane: str, text: str) -> Locator:
        """Return the first drawn line of a pane (source, stage, gen) with this text."""
        return self.tab.locator(f".{pane} .cm-line", has_text=text).first

    def pin(self, pane: str, text: str) -> None:
        """Click a line where it begins, on no word that has a meaning of its own."""
        line = self.line(pane, text)
        line.scroll_into_view_if_needed()
        box, pane_box = line.bounding_box(), self.tab.locator(f".{pane} .cm-scroller").bounding_box()
        assert box is not None
        assert pane_box is not None
        self.tab.mouse.click(pane_box["x"] + 12, box["y"] + box["height"] / 2)

    def kernel(self, name: str) -> Locator:
        """Return a kernel's row in the list, scrolled to: rows out of sight are not drawn."""
        heard = self.tab.locator(".heard", has_text=re.compile(f"^{re.escape(name)}, "))
        rows = self.tab.locator("nav .k", has=heard)
        scroller = self.tab.locator("nav .nl")
        # The list scrolls by itself too, to the kernel that is shown, when its height changes: it must have come to rest.
        for _ in range(20):
            self.tab.evaluate(RESTED)
            if rows.count() > 0:
                return rows.first
            scroller.evaluate("element => element.scrollTop = 0")
            self.tab.evaluate(RESTED)
            while rows.count() == 0:
                before = scroller.evaluate("element => element.scrollTop")
                scroller.evaluate("element => element.scrollBy(0, element.clientHeight / 2)")
                self.tab.evaluate(RESTED)
                assert scroller.evaluate("element => element.scrollTop") != before, f"no kernel {name} in the list"
        raise AssertionError(f"the list of kernels does not come to rest at {name}")

    @property
    def pinned(self) -> str:
        return self.text(".pinned")

    @property
    def address(self) -> str:
        return str(self.tab.evaluate("location.hash"))

    @property
    def spoken(self) -> str:
        """The last thing that a screen reader was told."""
        return str(self.tab.locator(".spoken").text_content())

    def background(self, locator: Locator) -> str:
        return str(locator.evaluate("element => getComputedStyle(element).backgroundColor"))

    def focused(self) -> str:
        """Return the accessible name of what has the focus."""
        return str(
            self.tab.evaluate(
                """() => {
                  const element = document.getElementById("kernlens").shadowRoot.activeElement;
                  return element === null ? "" : element.getAttribute("aria-label") ?? element.textContent;
                }"""
            )
        )

    def axe(self, *, only_colours: bool = False) -> list[str]:
        """Return what axe-core finds, rule by rule with the first elements: in the theme that is shown."""
        # Through the debugger's protocol: the page's policy lets no other script in.
        if not AXE.exists():
            if missing := os.environ.get("KERNLENS_AXE_MISSING"):
                pytest.skip(f"axe-core: {missing}")
            pytest.fail("axe-core is missing, which comes with what the viewer is built with: bash scripts/viewer.sh")
        session = self.tab.context.new_cdp_session(self.tab)
        if session.send("Runtime.evaluate", {"expression": "typeof axe"})["result"]["value"] == "undefined":
            session.send("Runtime.evaluate", {"expression": AXE.read_text()})
        options = {"resultTypes": ["violations"], **({"runOnly": OF_COLOURS} if only_colours else {})}
        answer: dict[str, Any] = session.send(
            "Runtime.evaluate",
            {
                "expression": f"axe.run(document, {json.dumps(options)})"
                + """.then(found => JSON.stringify(found.violations
                  .map(({id, nodes}) => `${id} (${nodes.length}): ` + nodes.slice(0, 3).map(({html, any}) =>
                    html.slice(0, 160) + " " + (any[0]?.message ?? "").slice(0, 160)).join(" | "))))""",
                "awaitPromise": True,
            },
        )
        session.detach()
        violations: list[str] = json.loads(answer["result"]["value"])
        return violations

    def axe_in_both_themes(self) -> list[str]:
        """Return what axe-core finds in the light theme and, of colours, in the dark one."""
        violations = []
        for theme in ("light", "dark"):
            self.tab.emulate_media(color_scheme=theme)
            violations += [f"{theme}: {each}" for each in self.axe(only_colours=theme == "dark" and not IS_WHOLE)]
        return violations + (self.axe_in_forced_colours() if IS_WHOLE else [])

    def axe_in_turn(self) -> list[str]:
        """Return what axe-core finds in the theme whose turn it is; in every way under ``KERNLENS_WHOLE``."""
        if IS_WHOLE:
            return self.axe_in_both_themes()
        self.turn += 1
        self.tab.emulate_media(color_scheme="light" if self.turn % 2 else "dark")
        return self.axe()

    def axe_in_forced_colours(self) -> list[str]:
        """Return what axe-core finds of colours that the system forces, as for readers who need more contrast."""
        self.tab.emulate_media(forced_colors="active")
        violations = [f"forced: {each}" for each in self.axe(only_colours=True)]
        self.tab.emulate_media(forced_colors="none")
        return violations

    def cut_texts(self) -> list[str]:
        """Return the labels whose text is wider than they are, and that neither end in dots with a title nor scroll."""
        result: list[str] = self.tab.evaluate(
            """() => {
              const root = document.getElementById("kernlens").shadowRoot;
              const cut = [];
              const zones = ["header", ".build", "nav", ".head", ".note", "aside", "footer", ".switcher", ".message",
                "dialog[open]"];
              for (const element of root.querySelectorAll(zones.map(zone => zone + " *").join())) {
                if (element.children.length > 0 || element.textContent.trim() === "") continue;
                if (element.closest("option, .spoken, .heard, .cm-editor")) continue;
                if (element.checkVisibility({visibilityProperty: true}) === false) continue;
                const {left, right} = element.getBoundingClientRect();
                let wrong = right > innerWidth + 1 || left < -1 ? "outside" : "";
                // Dots are fine where a title says the rest; buttons are never cut.
                const dots = at => getComputedStyle(at).textOverflow === "ellipsis" && at.closest("[title]") !== null;
                if (element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1 && !dots(element)) wrong = "wide";
                for (let at = element.parentElement; at !== null; at = at.parentElement) {
                  const {overflowX} = getComputedStyle(at);
                  if (overflowX === "visible" || right <= at.getBoundingClientRect().right + 1) continue;
                  const isFine = (dots(at) || dots(element)) && element.tagName !== "BUTTON";
                  wrong = overflowX === "hidden" && !isFine ? "clipped" : "";
                  break;
                }
                if (wrong) cut.push(`${wrong}: ${element.tagName} ${element.className} ${element.textContent.slice(0, 60)}`);
              }
              return cut;
            }"""
        )
        return result

    def scrolls_sideways(self) -> bool:
        return bool(
            self.tab.evaluate(
                """() => {
                  const app = document.getElementById("kernlens").shadowRoot.querySelector(".app");
                  return document.documentElement.scrollWidth > innerWidth || app.scrollWidth > app.clientWidth;
                }"""
            )
        )
