"""The viewer in WebKitGTK, whose engine is Safari's: ``python -m tests.browser.webkit``.

It needs Debian's packages webkit2gtk-driver and xvfb, darktable's kernels and a compiler, as the tests do. The driver is
asked over HTTP: https://www.w3.org/TR/webdriver2/.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import kernlens
from kernlens.report.explore import explore_document
from kernlens.report.explore.single_file import page, viewer_script
from kernlens.toolchain.toolchains import SYSTEM
from tests.browser.test_share import KERNELS
from tests.browser.walk import walk_through_a_report, walk_through_an_edit
from tests.browser.webdriver import LONG, WebDriver
from tests.corpus.manifest import program
from tests.corpus.packages import fetch
from tests.integration.serve.explorer_fixtures import serving


class WebKit(WebDriver):
    """A page in WebKitGTK's small browser, which its driver at ``port`` has started."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2 * LONG)
        timeouts = {"script": LONG * 1000, "pageLoad": LONG * 1000}
        answer = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": {"timeouts": timeouts}}})
        self.version = f"{answer['capabilities']['browserName']} {answer['capabilities']['browserVersion']}"
        self._session = f"/session/{answer['sessionId']}"
        self._ask("POST", f"{self._session}/window/rect", {"x": 0, "y": 0, "width": 1600, "height": 900})

    def _ask(self, method: str, path: str, words: dict[str, Any] | None = None) -> Any:
        body = None if words is None else json.dumps(words)
        self._connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        value = json.loads(answer.read())["value"]
        assert answer.status == 200, f"{path}: {value['error']}: {value['message']}"
        return value

    def execute(self, script: str, arguments: list[Any]) -> Any:
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": arguments})

    def act(self, actions: list[dict[str, Any]]) -> None:
        self._ask("POST", f"{self._session}/actions", {"actions": actions})

    def goto(self, address: str) -> None:
        self._ask("POST", f"{self._session}/url", {"url": address})

    def picture(self) -> bytes:
        """Return what is seen, as a PNG."""
        return base64.b64decode(self._ask("GET", f"{self._session}/screenshot"))

    def end(self) -> None:
        self._ask("DELETE", self._session)


@contextmanager
def webkit() -> Iterator[WebKit]:
    """Yield WebKitGTK, on a screen that nobody sees."""
    for name, package in (("xvfb-run", "xvfb"), ("WebKitWebDriver", "webkit2gtk-driver")):
        if shutil.which(name) is None:
            sys.exit(f"{name} is missing: apt-get install {package}")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    screen = "-screen 0 1600x1000x24"
    command = ["xvfb-run", "-a", "-s", screen, "WebKitWebDriver", f"--port={port}"]
    driver = subprocess.Popen(command, start_new_session=True)
    try:
        for _ in range(LONG * 10):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        browser = WebKit(port)
        try:
            yield browser
        finally:
            browser.end()
    finally:
        # The screen and the browser are its children.
        os.killpg(driver.pid, signal.SIGTERM)
        driver.wait()


def main() -> None:
    """Walk through a report and through an edit; a fault ends it with a picture of what was seen."""
    package = program("darktable/sharpen").package
    sharpen = fetch([package.name]) / package.name / package.folder / "sharpen.cl"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kernlens-")))
        stages = kernlens.stages(sharpen, "dg2", toolchain=SYSTEM)
        document = explore_document([each for each in stages.programs if each.kernels], title="sharpen.klens")
        (folder / "sharpen.html").write_text("".join(page(document, viewer_script())))
        (folder / "some.cl").write_text(KERNELS)
        server = stack.enter_context(serving(folder / "some.cl", "--device", "dg2"))
        browser = stack.enter_context(webkit())
        walks: list[tuple[Callable[[WebDriver, str], None], str]] = [
            (walk_through_a_report, (folder / "sharpen.html").as_uri()),
            (walk_through_an_edit, f"http://127.0.0.1:{server.port}/#t={server.token}"),
        ]
        for walk, address in walks:
            try:
                walk(browser, address)
            except AssertionError:
                Path("webkit.png").write_bytes(browser.picture())
                print("webkit.png shows what was seen", file=sys.stderr)
                raise
            print(f"{browser.version}: {walk.__name__.replace('_', ' ')}: nothing amiss")


if __name__ == "__main__":
    main()
