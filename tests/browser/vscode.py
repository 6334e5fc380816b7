"""The extension for VS Code in a real host: code-server (npm) in Debian's Chromium. It is tried before a release:

    npm install code-server@4.100.3                   in a folder of its own, with Node 20
    bash scripts/vscode.sh
    .venv/bin/python -m tests.browser.vscode FOLDER/node_modules/code-server/out/node/entry.js [--pictures FOLDER]

Each step waits for what a user would see, and says what it has seen.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Frame, Page, expect, sync_playwright

from tests.integration.serve.explorer_fixtures import descendants, until
from tests.tree import ROOT

#: Milliseconds in which the next thing has to be seen, on a machine that does other things too.
PATIENCE = 60_000
KERNLENS = Path(sys.executable).with_name("kernlens")
SETTINGS = {
    "kernlens.path": str(KERNLENS),
    "kernlens.device": "dg2",
    "workbench.startupEditor": "none",
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
}


@contextmanager
def hosting(entry: str, folder: Path, workspace: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Yield code-server's process, with the extension installed, and its address."""
    (package,) = (ROOT / "dist").glob("kernlens-*.vsix")
    places = ["--user-data-dir", str(folder / "data"), "--extensions-dir", str(folder / "extensions")]
    (folder / "data/User").mkdir(parents=True)
    (folder / "data/User/settings.json").write_text(json.dumps(SETTINGS))
    environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config")}
    subprocess.run(["node", entry, *places, "--install-extension", str(package)], check=True, env=environment)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry", "--disable-update-check"]
    with (folder / "host.log").open("w") as log:
        host = subprocess.Popen(
            ["node", entry, *words, *places, str(workspace)], env=environment, stdout=log, stderr=log
        )
    try:
        until(lambda: _answers(port), "code-server answers")
        yield host, f"http://127.0.0.1:{port}/?folder={workspace}"
    finally:
        host.terminate()
        host.wait(60)


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def servers(host: subprocess.Popen[bytes]) -> list[int]:
    """Return the processes of ``kernlens serve`` below the host."""
    return [number for number in descendants(host.pid) if b"\0serve\0" in _words(number)]


def _words(number: int) -> bytes:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return b""


class Editor:
    """VS Code's window as a user sees it."""

    def __init__(self, page: Page, pictures: Path | None) -> None:
        self.page = page
        self._pictures = pictures
        self._count = 0

    def seen(self, what: str) -> None:
        """Say what was seen, with a picture of it."""
        self._count += 1
        print(f"{time.strftime('%H:%M:%S')} seen: {what}", flush=True)
        if self._pictures is not None:
            self.page.screenshot(path=self._pictures / f"{self._count:02} {what}.png")

    def open(self, name: str) -> None:
        self.page.locator(".explorer-folders-view").get_by_text(name, exact=True).dblclick()

    def run(self, command: str) -> None:
        """Run a command by its name. A list of commands that is opened early lacks those of extensions: it is opened again."""
        row = self.page.locator(f'.quick-input-list .monaco-list-row[aria-label^="{command}"]').first

        def is_listed() -> bool:
            self.page.keyboard.press("F1")
            self.page.locator(".quick-input-widget input").fill(f">{command}")
            self.page.wait_for_timeout(2000)
            if row.is_visible():
                return True
            self.page.keyboard.press("Escape")
            return False

        until(is_listed, f"the command {command}")
        self.page.keyboard.press("Enter")

    def viewer(self) -> Frame:
        """Return the frame with the viewer in it, when its code is there."""
        frames: list[Frame] = []

        def is_there() -> bool:
            frames[:] = [frame for frame in self.page.frames if _has_code(frame)]
            self.page.wait_for_timeout(200)
            return bool(frames)

        until(is_there, "the viewer shows code")
        return frames[-1]


def _has_code(frame: Frame) -> bool:
    try:
        return frame.locator(".cm-line").count() > 5
    except Exception as error:  # A frame that goes away while it is asked.
        return "detached" in str(error) and False


def main() -> None:
    """Try it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("entry", help="out/node/entry.js of code-server")
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of each step")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, workspace = Path(name), Path(name) / "workspace"
        workspace.mkdir()
        for source in ("tone.cl", "blur.cl"):
            shutil.copy(ROOT / "examples/kernels" / source, workspace)
        command = [str(KERNLENS), "compile", "blur.cl", "--device", "dg2", "-o", "blur.klens"]
        subprocess.run(command, cwd=workspace, check=True, stdout=subprocess.DEVNULL)
        with hosting(words.entry, folder, workspace) as (host, address), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1700, "height": 950})
            page.set_default_timeout(PATIENCE)
            expect.set_options(timeout=PATIENCE)
            page.goto(address, wait_until="commit")
            editor = Editor(page, words.pictures)
            try:
                for step in (
                    source_beside,
                    follows_both_ways,
                    errors,
                    dead_server,
                    ended_with_the_tab,
                    recording,
                    no_command,
                ):
                    step(editor, host, workspace)
            except BaseException:
                editor.seen("failure")
                raise
            browser.close()
        until(lambda: not servers(host), "all servers have ended with the host")


def source_beside(editor: Editor, host: subprocess.Popen[bytes], workspace: Path) -> None:
    editor.open("tone.cl")
    editor.page.locator(".view-lines").first.wait_for()
    editor.run("kernlens: Open in the explorer")
    expect(editor.page.get_by_text("749 instructions · waits 788 cycles")).to_be_visible()
    editor.viewer()
    assert len(servers(host)) == 1
    editor.seen("a source with its counts, and the viewer beside it")


def follows_both_ways(editor: Editor, host: subprocess.Popen[bytes], workspace: Path) -> None:
    viewer = editor.viewer()
    editor.page.get_by_text("749 instructions").click()
    expect(viewer.get_by_text("Pinned line 6")).to_be_visible()
    editor.seen("a click on counts pins the line")
    editor.page.locator(".view-line", has_text="exposure;").first.click()
    expect(viewer.get_by_text("Pinned line 12")).to_be_visible()
    editor.seen("a click on a source line pins it")
    # In a narrow panel there is room for one pane.
    viewer.locator(".switcher").get_by_text("Source", exact=True).click()
    line = viewer.locator(".source .cm-line", has_text="out[i] = curve").first.bounding_box()
    pane = viewer.locator(".source .cm-scroller").first.bounding_box()
    assert line is not None
    assert pane is not None
    # Where the line's number stands: in the text a click puts the cursor.
    editor.page.mouse.click(pane["x"] + 12, line["y"] + line["height"] / 2)
    expect(editor.page.locator(".line-numbers.active-line-number").first).to_have_text("13")
    editor.seen("a click in the viewer moves the editor")


def _edit(editor: Editor, line: int, text: str) -> None:
    """Write a text at a line's end, and save."""
    editor.page.locator(".monaco-editor .view-line").first.click()
    editor.page.keyboard.press("Control+g")
    editor.page.locator(".quick-input-widget input").fill(f":{line}")
    editor.page.keyboard.press("Enter")
    editor.page.keyboard.press("End")
    editor.page.keyboard.type(text)
    editor.page.keyboard.press("Control+s")


def errors(editor: Editor, host: subprocess.Popen[bytes], workspace: Path) -> None:
    _edit(editor, 12, " missing(i);")
    expect(editor.page.locator(".squiggly-error")).to_be_visible()
    editor.run("View: Toggle Problems")
    expect(editor.page.get_by_text("implicit declaration of function 'missing'").first).to_be_visible()
    editor.seen("what the compiler says of a saved text")
    editor.run("View: Toggle Problems")
    for _ in " missing(i);":
        editor.page.keyboard.press("Backspace")
    _edit(editor, 12, " out[0] = exp2(light);")
    expect(editor.page.locator(".squiggly-error")).to_have_count(0)
    expect(editor.page.get_by_text("10 instructions · waits 115 cycles")).to_have_count(0)
    editor.seen("counts of an edited text")


def dead_server(editor: Editor, host: subprocess.Popen[bytes], workspace: Path) -> None:
    (server,) = servers(host)
    os.kill(server, signal.SIGKILL)
    expect(editor.page.get_by_text("The server of tone.cl has ended; what is shown stays.").first).to_be_visible()
    editor.seen("a server that was killed")
    editor.page.get_by_text("Start Again", exact=True).click()
    until(lambda: len(servers(host)) == 1, "another server")
    editor.viewer()
    editor.seen("a server that was started again")


def ended_with_the_tab(editor: Editor, host: subprocess.Popen[bytes], workspace: Path) -> None:
    editor.page.locator(".tab", has_text="tone.cl").last.click(button="middle")
    until(lambda: not servers(host), "the server ends with its tab")
    expect(editor.page.locator(".codelens-decoration")).to_have_count(0)
    editor.seen("a closed viewer takes its server and its counts with it")


def recording(editor: Editor, host: subprocess.Popen[bytes], workspace: Path) -> None:
    editor.open("blur.klens")
    editor.viewer()
    editor.seen("a recording as an editor of its own")
    editor.run("View: Close All Editors")
    until(lambda: not servers(host), "the server ends with the editor")


def no_command(editor: Editor, host: subprocess.Popen[bytes], workspace: Path) -> None:
    (workspace / ".vscode").mkdir()
    (workspace / ".vscode/settings.json").write_text(json.dumps({"kernlens.path": "kernlens-that-is-not-there"}))
    editor.open("blur.cl")
    editor.page.wait_for_timeout(3000)
    editor.run("kernlens: Open in the explorer")
    expect(editor.page.get_by_text("There is no command kernlens-that-is-not-there").first).to_be_visible()
    editor.seen("no such command, and what to do")


if __name__ == "__main__":
    main()
