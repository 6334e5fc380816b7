"""A running ``kernlens serve``, and a client that asks it as the page does."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx

from tests.explore_reader import unpacked

Result = TypeVar("Result")

MAIN = (sys.executable, "-m", "kernlens")
#: A small kernel, and one with an error in its third line.
SOURCE = """kernel void twice(global float *data)
{
  data[get_global_id(0)] *= 2.0f;
}
"""
WRONG = SOURCE.replace("2.0f;", "missing;")


class Server:
    """A server's process, its address, and what it may be asked."""

    def __init__(self, process: subprocess.Popen[str], port: int, token: str) -> None:
        self.process = process
        self.port = port
        self.token = token
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {token}"},
            timeout=120,
            trust_env=False,
        )
        self._serial = 0

    def get(self, path: str, **words: Any) -> httpx.Response:
        return self.client.get(path, **words)

    def index(self) -> Any:
        return self.get("/api/index").json()

    def chunk(self, chunk: str) -> Any:
        answer = self.get(f"/api/chunk/{chunk}")
        assert answer.status_code == 200, answer.text
        return unpacked(answer.content)

    def request(self, text: str, *, path: str = "a.cl", session: str = "", **configuration: Any) -> dict[str, Any]:
        """Return the body of a compile for one configuration."""
        self._serial += 1
        configuration_ = {"device": "dg2", "toolchain": "system", "options": "", "all_passes": False, **configuration}
        return {
            "session": session or f"session {self._serial}",
            "serial": self._serial,
            "source": {"path": path, "text": text},
            "configurations": [configuration_],
        }

    def events(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return all events of a compile."""
        with self.client.stream("POST", "/api/compile", json=request) as answer:
            assert answer.status_code == 200, answer.read()
            return [json.loads(line) for line in answer.iter_lines()]

    def compiled(self, text: str, **words: Any) -> dict[str, Any]:
        """Return the result of a compile for one configuration."""
        (result,) = [event for event in self.events(self.request(text, **words)) if event["event"] == "result"]
        return result

    def children(self) -> set[int]:
        """Return the processes that the server has started, and those below them."""
        return descendants(self.process.pid)

    def memory(self) -> int:
        """Return the most bytes that the server has had in memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        match = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert match
        return int(match[1]) << 10

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """End the server, and return its status and what it printed to standard error."""
        self.client.close()
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


def in_a_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a thread of its own: in this one a browser's loop may run."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def descendants(process: int) -> set[int]:
    """Return the numbers of all processes below one."""
    children: dict[int, set[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if words[0] != "Z":
            children.setdefault(int(words[1]), set()).add(int(status.parent.name))
    below_all: set[int] = set()
    waiting = [process]
    while waiting:
        below = children.get(waiting.pop(), set()) - below_all
        below_all |= below
        waiting += below
    return below_all


def until(true: Any, what: str) -> None:
    """Wait until something has happened; a minute on a busy machine is not a fault."""
    for _ in range(600):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError(f"it did not happen: {what}")


@contextmanager
def serving(
    *words: str | Path, environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> Iterator[Server]:
    """Yield a server in a process of its own, as users start it."""
    command = [*MAIN, "serve", *map(str, words), "--no-browser"]
    env = {**os.environ, **(environment or {})}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        cwd=folder,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    match = re.search(r"http://127\.0\.0\.1:(\d+)/#t=(\S+)", line)
    if match is None:
        _, errors = process.communicate(timeout=60)
        raise AssertionError(f"the server did not start: {line}{errors}")
    server = Server(process, int(match[1]), match[2])
    try:
        yield server
    finally:
        server.client.close()
        if process.poll() is None:
            process.terminate()
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
