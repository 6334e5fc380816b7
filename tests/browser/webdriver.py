"""The viewer in a browser that is asked by WebDriver's commands: what a reader does, and what is then to be seen.

Commands are those of https://www.w3.org/TR/webdriver2/. Who sends them, and how, differs by browser.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any

from tests.browser.viewer import AXE

#: Seconds that a page or an answer may take on a busy machine.
LONG = 90
#: Keys as WebDriver names them.
SHIFT, CONTROL, ESCAPE, ENTER, END, BACKSPACE = "\ue008", "\ue009", "\ue00c", "\ue007", "\ue010", "\ue003"
#: A page's root, and what is in it.
_ROOT = "const root = document.getElementById('kernlens')?.shadowRoot ?? null;"
#: The elements of a selector with a text, that can be seen.
_SEEN = """const [selector, text] = arguments;
const isSeen = each => each.checkVisibility() && each.textContent.includes(text);
const seen = [...root?.querySelectorAll(selector) ?? []].filter(isSeen);
"""
#: What axe finds in each theme, with its first elements.
_AXE = """
const words = ({html, any}) => `${html.slice(0, 160)} ${any[0]?.message ?? ""}`;
return (async () => {
  const all = [];
  for (const theme of ["light", "dark"]) {
    document.getElementById("kernlens").dataset.theme = theme;
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    const {violations} = await axe.run(document, {resultTypes: ["violations"]});
    const sentences = violations.map(({id, nodes}) => `${id} (${nodes.length}): ${nodes.slice(0, 3).map(words).join(" | ")}`);
    all.push(...sentences.map(each => `${theme}: ${each}`));
  }
  return all;
})();
"""


class WebDriver(ABC):
    """A browser with a page in it."""

    @abstractmethod
    def execute(self, script: str, arguments: list[Any]) -> Any:
        """Return what the body of a function returns, or what its promise is kept with."""

    @abstractmethod
    def act(self, actions: list[dict[str, Any]]) -> None:
        """Do what a mouse or keys do."""

    @abstractmethod
    def goto(self, address: str) -> None:
        """Open a page."""

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what the body of a function returns; ``root`` is the viewer's."""
        return self.execute(_ROOT + script, list(arguments))

    def until(self, script: str, *arguments: Any) -> Any:
        """Wait until that is true, and return it."""
        value = None
        for _ in range(LONG * 5):
            if value := self.run(script, *arguments):
                return value
            time.sleep(0.2)
        raise AssertionError(f"it did not happen: {script} {arguments}")

    def see(self, selector: str, text: str = "") -> None:
        """Wait until an element with this text is there to be seen."""
        self.until(_SEEN + "return seen.length > 0", selector, text)

    def gone(self, selector: str, text: str = "") -> None:
        """Wait until no element with this text can be seen."""
        self.until(_SEEN + "return seen.length === 0", selector, text)

    def text(self, selector: str) -> str:
        """Return the text of the first such element."""
        self.see(selector)
        return str(self.run(_SEEN + "return seen[0].textContent", selector, ""))

    def click(self, selector: str, text: str = "") -> None:
        """Click the first such element at its left, in the middle of its height."""
        self.see(selector, text)
        x, y = self.run(
            _SEEN
            # A long line of a pane begins behind its gutter, once it was scrolled to.
            + "seen[0].scrollIntoView({block: 'nearest'}); seen[0].closest('.cm-scroller')?.scrollTo({left: 0});"
            + "const {left, top, width, height} = seen[0].getBoundingClientRect();"
            + "return [Math.round(left + Math.min(12, width / 2)), Math.round(top + height / 2)]",
            selector,
            text,
        )
        steps: list[dict[str, Any]] = [{"type": "pointerMove", "x": x, "y": y, "duration": 0}]
        steps += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.act([{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps}])

    def press(self, *keys: str) -> None:
        """Press keys at once, and let them go."""
        steps = [{"type": "keyDown", "value": key} for key in keys]
        steps += [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self.act([{"type": "key", "id": "keys", "actions": steps}])

    def type(self, text: str) -> None:
        """Type a text, a key after the other."""
        steps = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self.act([{"type": "key", "id": "keys", "actions": steps}])

    def choose(self, label: str, value: str) -> None:
        """Choose a value of the list with this label."""
        self.run(
            "const select = root.querySelector(`[aria-label='${arguments[0]}']`); select.value = arguments[1];"
            "select.dispatchEvent(new Event('change', {bubbles: true}))",
            label,
            value,
        )

    def axe(self) -> list[str]:
        """Return what axe-core finds in the light theme and in the dark one."""
        # The page's policy lets no script in: it runs in the driver's world.
        violations: list[str] = self.execute(AXE.read_text() + _AXE, [])
        return violations
