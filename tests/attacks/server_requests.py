"""Requests to ``kernlens serve`` from other sites, from other users of the machine, and of any size."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.attacks.attack import KERNEL, SERVER, Attack
from tests.writers import programs

_GOOD = {"Host": "127.0.0.1:{port}", "Authorization": "Bearer {token}"}
_DATA = ("/api/index", "/api/choices", "/api/link", "/api/changes")
#: Headers in place of good ones, or beside them; None: left out.
_HEADERS: dict[str, dict[str, str | None]] = {
    "another host": {"Host": "evil.example"},
    "another port": {"Host": "127.0.0.1:1"},
    "no port": {"Host": "localhost"},
    "a host behind": {"Host": "localhost:{port}.evil.example"},
    "a number": {"Host": "2130706433:{port}"},
    "another origin": {"Origin": "http://evil.example"},
    "no origin": {"Origin": "null"},
    "a secure origin": {"Origin": "https://127.0.0.1:{port}"},
    "an origin's other name": {"Origin": "http://localhost:{port}"},
    "cross-site": {"Sec-Fetch-Site": "cross-site"},
    "same-site": {"Sec-Fetch-Site": "same-site"},
    "navigated": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    "no token": {"Authorization": None},
    "a wrong token": {"Authorization": "Bearer 0"},
    "a longer token": {"Authorization": "Bearer {token}0"},
    "another scheme": {"Authorization": "Basic {token}"},
    "a cookie": {"Authorization": None, "Cookie": "t={token}"},
    "long headers": {"X-Long": "x" * 9000},
}


def attacks(folder: Path, private: Mapping[str, Path]) -> Iterator[Attack]:
    """Yield the attacks; their words are a request."""
    folder.mkdir(parents=True)
    (folder / "a.bin").write_bytes(programs.binary(kernel=KERNEL))
    for path in _DATA:
        for name, headers in _HEADERS.items():
            yield Attack(f"server {name} {path}", folder, (_request("GET", path, headers),), SERVER)
    for name, headers in _HEADERS.items():
        asked = _request("POST", "/api/compile", headers, _compile(name))
        yield Attack(f"server {name} compiles", folder, (asked,), SERVER)
    no_token = _HEADERS["no token"]
    for name, path in (
        ("escaped", "/%61pi/index"), ("slash", "/api%2findex"), ("token in the address", "/api/index?t={token}"),
    ):  # fmt: skip
        yield Attack(f"server {name}", folder, (_request("GET", path, no_token),), SERVER)
    yield Attack("server long address", folder, (_request("GET", f"/api/index?{'x' * 9000}", {}),), SERVER)
    padded = _compile("large body") + " " * (16 << 20)
    yield Attack("server large body", folder, (_request("POST", "/api/compile", {}, padded),), SERVER)


def _compile(session: str) -> str:
    configuration = {"device": "dg2", "toolchain": "system", "options": "", "all_passes": False}
    source = {"path": "a.cl", "text": programs.SOURCE}
    return json.dumps({"session": session, "serial": 1, "source": source, "configurations": [configuration]})


def _request(method: str, path: str, headers: Mapping[str, str | None], body: str = "") -> str:
    own: dict[str, str | None] = {**_GOOD, **headers}
    if body:
        own |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    lines = [f"{name}: {value}" for name, value in own.items() if value is not None]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "Connection: close", "", body])


def answered(attack: Attack, address: tuple[int, str]) -> str:
    """Send the request; return what it was answered, "" if it was refused."""
    port, token = address
    request = attack.words[0].replace("{port}", str(port)).replace("{token}", token)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        answer = b""
        with suppress(ConnectionError):
            connection.sendall(request.encode())
        with suppress(ConnectionError):
            while piece := connection.recv(1 << 16):
                answer += piece
    status = answer.split(b" ", 2)[1:2]
    return f"was answered {answer[:60]!r}" if status == [b"200"] else ""


@contextmanager
def serving(folder: Path, start: int) -> Iterator[tuple[int, str]]:
    """Yield the port and the token of the server in this child process, and end it."""
    output = folder / "command.said"
    try:
        for _ in range(600):
            text = output.read_text() if output.exists() else ""
            if match := re.search(r"http://127\.0\.0\.1:(\d+)/#t=(\S+)", text):
                yield int(match[1]), match[2]
                return
            time.sleep(0.1)
        raise AssertionError(f"the server did not start: {text}")
    finally:
        os.kill(start, signal.SIGTERM)
        os.waitpid(start, 0)
