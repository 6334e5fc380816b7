"""Debian's Firefox, asked by its own protocol (Marionette: a TCP connection, messages of JSON with their lengths).

The driver of ``playwright`` takes no Firefox but the one that it brings, or a newer one than Debian has.
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

from tests.browser.webdriver import LONG, WebDriver

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


class Firefox(WebDriver):
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
            self.ask("WebDriver:SetWindowRect", x=0, y=0, width=1700, height=1000)
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

    def execute(self, script: str, arguments: list[Any]) -> Any:
        return self.ask("WebDriver:ExecuteScript", script=script, args=arguments)

    def act(self, actions: list[dict[str, Any]]) -> None:
        self.ask("WebDriver:PerformActions", actions=actions)

    def pdf(self) -> bytes:
        """Return what would be printed."""
        return base64.b64decode(self.ask("WebDriver:Print"))
