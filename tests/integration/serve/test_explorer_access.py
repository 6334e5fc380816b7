"""Who may ask ``kernlens serve``, from where, and with how much."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from kernlens.explorer.server import CONNECTIONS
from tests.integration.serve.explorer_fixtures import MAIN, SOURCE, Server, serving, until

#: Every address that holds data.
DATA = (
    "/api/index",
    "/api/chunk/0123456789abcdef",
    "/api/choices",
    "/api/diff?left=a&right=b",
    "/api/lines?program=a",
    "/api/link",
    "/api/sweep",
)
OPEN = ("/", "/icon.svg")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    source = tmp_path_factory.mktemp("served") / "a.cl"
    source.write_text(SOURCE)
    with serving(source, "--device", "dg2") as started:
        yield started


def raw(server: Server, request: bytes) -> bytes:
    """What the server answers to these very bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(request)
        answer = b""
        while chunk := _received(connection):
            answer += chunk
            head, section, body = answer.partition(b"\r\n\r\n")
            if section and b"content-length: %d\r\n" % len(body) in head.lower() + b"\r\n":
                break
        return answer


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 16)
    except ConnectionResetError:  # It was closed while more was on its way.
        return b""


def test_the_page_is_open_and_holds_nothing(server: Server) -> None:
    page = httpx.get(f"http://127.0.0.1:{server.port}/")
    assert page.status_code == 200
    assert "a.cl" not in page.text
    assert server.token not in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "'unsafe" not in page.headers["content-security-policy"]


@pytest.mark.parametrize("path", DATA)
@pytest.mark.parametrize("authorization", [None, "Bearer wrong", "Bearer", "Basic {token}", "Bearer {token}x"])
def test_data_needs_the_token(server: Server, path: str, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization.format(token=server.token)}
    answer = httpx.get(f"http://127.0.0.1:{server.port}{path}", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert set(answer.json()) == {"error", "next"}


def test_a_token_elsewhere_counts_for_nothing(server: Server) -> None:
    address = f"http://127.0.0.1:{server.port}/api/index"
    assert httpx.get(address, params={"t": server.token}).status_code == 401
    assert httpx.get(address, cookies={"t": server.token}).status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost", "127.0.0.1", "localhost.:{port}", "127.0.0.1:{other}", "[::1]:{port}", "0:{port}",
             "127.1:{port}", "LOCALHOST:{port}", "localhost:{port}.evil.example", ""],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/", "/api/index"])
def test_another_host_is_refused(server: Server, host: str, path: str) -> None:
    named = host.format(port=server.port, other=server.port ^ 1)
    answer = server.get(path, headers={"Host": named})
    assert answer.status_code == 403
    assert f"http://127.0.0.1:{server.port}" in answer.json()["next"]


def test_localhost_is_this_server_too(server: Server) -> None:
    assert server.get("/api/index", headers={"Host": f"localhost:{server.port}"}).status_code == 200


def test_no_host_or_two_are_refused(server: Server) -> None:
    token = f"Authorization: Bearer {server.token}\r\n".encode()
    good = f"Host: 127.0.0.1:{server.port}\r\n".encode()
    assert b" 200 " in raw(server, b"GET /api/index HTTP/1.1\r\n" + good + token + b"\r\n")
    for hosts in (b"", good + b"Host: evil.example\r\n", b"Host: evil.example\r\n" + good):
        for version in (b"1.0", b"1.1"):
            answer = raw(server, b"GET /api/index HTTP/" + version + b"\r\n" + hosts + token + b"\r\n")
            assert answer.split(b" ", 2)[1] in (b"400", b"403"), answer


@pytest.mark.parametrize("name", ["Origin", "Authorization", "Sec-Fetch-Site", "Content-Type"])
def test_what_comes_twice_is_refused(server: Server, name: str) -> None:
    """The guard and whoever reads it later might see different ones."""
    good = {"Origin": f"http://127.0.0.1:{server.port}", "Authorization": f"Bearer {server.token}"}
    good |= {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
    head = f"GET /api/index HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    head += "".join(f"{key}: {value}\r\n" for key, value in good.items())
    assert b" 200 " in raw(server, f"{head}\r\n".encode())
    assert b" 400 " in raw(server, f"{head}{name}: {good[name]}\r\n\r\n".encode())


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://localhost:{port}", ""]
)
def test_another_origin_is_refused(server: Server, origin: str) -> None:
    for path in ("/", "/api/index"):
        assert server.get(path, headers={"Origin": origin.format(port=server.port)}).status_code == 403


def test_the_pages_own_requests_are_answered(server: Server) -> None:
    own = {"Origin": f"http://127.0.0.1:{server.port}", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
    assert server.get("/api/index", headers=own).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "?"])
def test_requests_of_other_sites_are_refused(server: Server, site: str) -> None:
    for headers in ({}, {"Sec-Fetch-Mode": "navigate"}, {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}):
        assert server.get("/api/index", headers={"Sec-Fetch-Site": site, **headers}).status_code == 403
        if site != "none":
            assert server.get("/", headers={"Sec-Fetch-Site": site, **headers}).status_code == 403


def test_a_link_may_open_the_page_but_no_frame_and_no_data(server: Server) -> None:
    opened = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    page = server.get("/", headers=opened)
    assert page.status_code == 200
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert page.headers["cross-origin-opener-policy"] == "same-origin"
    assert server.get("/", headers={**opened, "Sec-Fetch-Dest": "iframe"}).status_code == 403
    assert server.get("/api/index", headers=opened).status_code == 403


@pytest.mark.parametrize("path", [*DATA, *OPEN, "/api/compile", "/nothing"])
def test_no_preflight_is_answered(server: Server, path: str) -> None:
    asked = {"Origin": f"http://127.0.0.1:{server.port}", "Access-Control-Request-Headers": "authorization"}
    answer = server.client.options(path, headers=asked)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", [*DATA, *OPEN, "/nothing", "/api/nothing", "/api/chunk/../../etc/passwd"])
def test_every_answer_has_its_headers(server: Server, path: str) -> None:
    answer = server.get(path)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.headers["cache-control"] == "no-store"
    assert not {"access-control-allow-origin", "set-cookie", "server"} & set(answer.headers)


def test_what_never_changes_may_be_kept(server: Server) -> None:
    entry = server.index()["programs"][0]
    chunk = server.get(f"/api/chunk/{entry['kernels']['chunk'][0]}")
    assert chunk.headers["cache-control"] == "private, max-age=31536000, immutable"
    again = server.get(str(chunk.url), headers={"If-None-Match": chunk.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert httpx.get(chunk.url, headers={"If-None-Match": chunk.headers["etag"]}).status_code == 401


@pytest.mark.parametrize(
    "path", ["/api/chunk/..%2F..%2Fetc%2Fpasswd", "/api/chunk/%00", "/api/chunk//etc/passwd", "/..%2f..%2fetc/passwd",
             "/viewer/../app.py", "/viewer-0.js", "/api/chunk/0123456789ABCDEF", "/%2e%2e/etc/passwd", "//api/index", "/api/"],
)  # fmt: skip
def test_nothing_in_a_request_is_a_path(server: Server, path: str) -> None:
    answer = raw(
        server,
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode(),
    )
    assert answer.startswith(b"HTTP/1.1 404 "), answer
    assert b"root:" not in answer


def test_too_long_an_address_or_header_is_refused(server: Server) -> None:
    assert server.get("/api/index", params={"x": "a" * 8100}).status_code == 200
    assert server.get("/api/index", params={"x": "a" * 8200}).status_code == 414
    assert server.get("/api/index", headers={"X": "a" * 8200}).status_code == 431
    good = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    for size in (40_000, 4_000_000):
        assert raw(server, (good + "X: " + "a" * size + "\r\n\r\n").encode())[9:12] in (b"400", b"431", b"")
    assert server.get("/api/index").status_code == 200


def test_a_body_of_another_kind_is_refused(server: Server) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""):
        answer = server.client.post("/api/compile", content=b"{}", headers={"Content-Type": kind})
        assert answer.status_code == 415
    kind = "application/json; charset=utf-8"
    assert server.client.post("/api/compile", content=b"{}", headers={"Content-Type": kind}).status_code == 400


@pytest.mark.parametrize("is_stated", [True, False])
def test_a_body_of_100_mb_is_refused_with_flat_memory(server: Server, is_stated: bool) -> None:
    before = server.memory()
    size = 100 << 20
    sent = 0
    head = f"POST /api/compile HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
    head += "Content-Type: application/json\r\n"
    head += f"Content-Length: {size}\r\n\r\n" if is_stated else "Transfer-Encoding: chunked\r\n\r\n"
    piece = b" " * (1 << 16)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(head.encode())
        try:
            while sent < size:
                connection.sendall(piece if is_stated else b"10000\r\n" + piece + b"\r\n")
                sent += len(piece)
        except OSError:
            assert sent < size  # The server need not read what it has refused.
        else:
            assert b" 413 " in connection.recv(1 << 16)
    assert server.memory() - before < 16 << 20
    assert server.get("/api/index").status_code == 200


def test_a_body_that_is_too_large_is_told_so(server: Server) -> None:
    request = server.request(" " * (2 << 20))
    answer = server.client.post("/api/compile", json=request)
    assert answer.status_code == 413
    assert "2 MB" in answer.json()["error"]


def test_only_this_machine_can_reach_it(server: Server) -> None:
    local = f"0100007F:{server.port:04X}"
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert [words[1] for words in listening if words[1].endswith(f":{server.port:04X}") and words[3] == "0A"] == [local]


def test_the_browsers_words_hold_no_token(tmp_path: Path) -> None:
    """All users of the machine can read them."""
    told = tmp_path / "told"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$*" >{told}.new && mv {told}.new {told}\n')
    browser.chmod(0o755)
    source = tmp_path / "a.cl"
    source.write_text(SOURCE)
    env = {**os.environ, "DISPLAY": ":0", "BROWSER": f"{browser} %s", "TMPDIR": str(tmp_path)}
    command = [*MAIN, "serve", str(source), "--device", "dg2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        match = re.search(r"#t=(\S+)", process.stdout.readline())
        assert match
        try:
            until(told.exists, "the browser was started")
            words = told.read_text()
            page = Path(words.removeprefix("file://"))
            assert match[1] not in words
            assert match[1] in page.read_text()
            assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        finally:
            process.terminate()
    assert not page.exists()


def test_requests_that_are_sent_by_halves_lock_nobody_out(server: Server) -> None:
    with contextlib.ExitStack() as opened:
        for number in range(CONNECTIONS + 100):
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            # Every other one has asked before, and begins once more.
            whole = f"GET /icon.svg HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n" if number % 2 else ""
            with contextlib.suppress(ConnectionError):
                connection.sendall(f"{whole}GET / HTTP/1.1\r\nHost:".encode())
        for _ in range(3):
            answer = raw(
                server, f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n".encode()
            )
            assert answer.startswith(b"HTTP/1.1 200 ")
