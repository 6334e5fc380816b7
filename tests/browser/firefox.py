"""Debian's Firefox, asked by its own protocol (Marionette: a TCP connection, messages of JSON with their lengths).

The driver of ``playwright`` takes no Firefox but the one that it brings, or a newer one than Debian has. Commands are those
of WebDriver: https://www.w3.org/TR/webdriver2/.
"""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

#: Seconds that a page or an answer may take on a busy machine.
LONG = 90
_SETTINGS: dict[str, Any] = {
    "marionette.port": 0,  # any that is free; Firefox says which in a file of its profile
    "browser.download.folderList": 2,
    "browser.download.useDownloadDir": True,
    "browser.download.always_ask_before_handling_new_types": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}
#: A page's root, and what is in it.
_ROOT = "const root = document.getElementById('kernlens')?.shadowRoot ?? null;"
#: The elements of a selector with a text, that can be seen.
_SEEN = """const [selector, text] = arguments;
const isSeen = each => each.checkVisibility() && each.textContent.includes(text);
const seen = [...root?.querySelectorAll(selector) ?? []].filter(isSeen);
"""


class Firefox:
    """A Firefox with a new profile in ``folder``, where what it saves goes too; a context manager."""

    def __init__(self, folder: Path) -> None:
        self.downloads = folder / "downloads"
        self.downloads.mkdir(parents=True)
        profile = folder / "profile"
        profile.mkdir()
        settings = _SETTINGS | {"browser.download.dir": str(self.downloads)}
        lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items())
        (profile / "user.js").write_text("".join(lines))
        program = shutil.which("firefox-esr") or shutil.which("firefox") or "firefox-esr"
        words = [program, "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._connection = self._connected(profile / "MarionetteActivePort")
            self._number = 0
            self._message()  # which greets
            self.ask("WebDriver:NewSession", capabilities={"alwaysMatch": {"timeouts": {"script": LONG * 1000}}})
        except BaseException:
            self._process.kill()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _connected(self, port: Path) -> socket.socket:
        for _ in range(LONG * 10):
            if port.is_file() and (number := port.read_text().strip()):
                return socket.create_connection(("127.0.0.1", int(number)), timeout=2 * LONG)
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError("Firefox does not start: apt-get install firefox-esr")

    def _message(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self._connection.recv(1)
        content = b""
        while len(content) < int(length[:-1]):
            content += self._connection.recv(int(length[:-1]) - len(content))
        return json.loads(content)

    def ask(self, command: str, **words: Any) -> Any:
        """Return what a command answers."""
        self._number += 1
        content = json.dumps([0, self._number, command, words]).encode()
        self._connection.sendall(b"%d:%s" % (len(content), content))
        _, _, error, answer = self._message()
        assert error is None, f"{command}: {error['message']}"
        return answer["value"] if isinstance(answer, dict) and set(answer) == {"value"} else answer

    def goto(self, address: str) -> None:
        self.ask("WebDriver:Navigate", url=address)

    def tab(self) -> None:
        """Open another tab, and go on in it."""
        self.ask("WebDriver:SwitchToWindow", handle=self.ask("WebDriver:NewWindow", type="tab")["handle"])

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what the body of a function returns; ``root`` is the viewer's."""
        return self.ask("WebDriver:ExecuteScript", script=_ROOT + script, args=list(arguments))

    def until(self, script: str, *arguments: Any) -> Any:
        """Wait until that is true, and return it."""
        value = None
        for _ in range(LONG * 5):
            if value := self.run(script, *arguments):
                return value
            time.sleep(0.2)
        raise AssertionError(f"it did not happen: {script}")

    def see(self, selector: str, text: str = "") -> None:
        """Wait until an element with this text is there to be seen."""
        self.until(_SEEN + "return seen.length > 0", selector, text)

    def click(self, selector: str, text: str = "") -> None:
        """Click the first such element at its left, in the middle of its height."""
        self.see(selector, text)
        x, y = self.run(
            _SEEN
            + "seen[0].scrollIntoView({block: 'nearest'}); const {left, top, width, height} = seen[0].getBoundingClientRect();"
            + "return [Math.round(left + Math.min(12, width / 2)), Math.round(top + height / 2)]",
            selector,
            text,
        )
        steps: list[dict[str, Any]] = [{"type": "pointerMove", "x": x, "y": y, "duration": 0}]
        steps += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.ask("WebDriver:PerformActions", actions=[{"type": "pointer", "id": "mouse", "actions": steps}])

    def press(self, *keys: str) -> None:
        """Press keys at once, and let them go."""
        steps = [{"type": "keyDown", "value": key} for key in keys]
        steps += [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self.ask("WebDriver:PerformActions", actions=[{"type": "key", "id": "keys", "actions": steps}])

    def pdf(self) -> bytes:
        """Return what would be printed."""
        return base64.b64decode(self.ask("WebDriver:Print"))


#: Keys as WebDriver names them.
SHIFT, ESCAPE, ENTER = "\ue008", "\ue00c", "\ue007"
