"""The guard that every request passes first: who may ask, from where, and with how much.

The server listens on this machine only, but every page in the user's browser and every user of the machine can reach it.
So each request has to name this server as its host (a foreign name that was made to lead here is refused: DNS rebinding),
must not come from another site, and all that holds data needs the token, which only the user's page has. There is no
cookie, as cookies are shared by all ports, and no CORS header ever, so that no other page can send the token's header.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kernlens.explorer.responses import FAULT, RefusedError

#: Bytes of the address, and of all headers, at most.
ADDRESS_LIMIT = HEADER_LIMIT = 8 << 10
#: The addresses that take a POST.
COMPILE, REPORT = "/api/compile", "/api/report"
#: What must come once at most: what the guard reads must be what others read.
_SINGLE = (
    b"host", b"origin", b"authorization", b"content-length", b"content-type", b"sec-fetch-site", b"sec-fetch-mode",
    b"sec-fetch-dest", b"transfer-encoding",
)  # fmt: skip
#: What the page may do: run the server's script, and ask the server.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self'; style-src 'none'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
#: In every answer, unless the answer says otherwise itself.
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """An application before the routes that refuses what may not ask, and gives every answer its headers. ``port`` is
    the server's, ``on_fault`` gets errors of the server itself, which clients get as status 500; ``on_request`` is
    called before each request is looked at."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        port: int,
        token: str,
        on_fault: Callable[[BaseException], None],
        on_request: Callable[[], None] = lambda: None,
    ) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode()}
        self._port = port
        self._token = token.encode()
        self._on_fault = on_fault
        self._on_request = on_request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"this is no HTTP: {scope['type']}")
        self._on_request()
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                own = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(each for each in _HEADERS if each[0] not in own)]
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, receive, send_with_headers)
        except RefusedError as refusal:
            await refusal.response()(scope, receive, send_with_headers)
        except Exception as error:
            self._on_fault(error)
            if started:
                raise
            await FAULT.response()(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
        if len(scope["raw_path"]) + len(scope["query_string"]) > ADDRESS_LIMIT:
            raise RefusedError(414, f"the URL is longer than {ADDRESS_LIMIT} bytes")
        if sum(len(name) + len(value) + 4 for name, value in headers) > HEADER_LIMIT:
            raise RefusedError(431, f"the headers are longer than {HEADER_LIMIT} bytes")
        only: dict[bytes, bytes] = {}
        for name, value in headers:
            if name in only and name in _SINGLE:
                raise RefusedError(400, f"the header {name.decode('ascii', 'replace')} comes twice")
            only[name] = value
        # No preflight is ever answered, so that no other site can send headers of its own.
        if scope["method"] == "OPTIONS":
            allowed = "POST" if scope["path"] in (COMPILE, REPORT) else "GET"
            raise RefusedError(405, "this server does not support OPTIONS requests", None, {"Allow": allowed})
        host = only.get(b"host", b"")
        if host not in self._hosts:
            raise RefusedError(
                403,
                f"the request is for the host {host.decode('ascii', 'replace')!r}, which is not this server",
                f"open http://127.0.0.1:{self._port}/; through ssh, forward the same port:"
                f" ssh -L {self._port}:127.0.0.1:{self._port}",
            )
        is_page = scope["path"] == "/"
        if not _is_own(only, is_page) or only.get(b"origin", b"http://" + host) != b"http://" + host:
            raise RefusedError(403, "cross-origin request rejected")
        if scope["path"].startswith("/api") and not self._has_token(only.get(b"authorization", b"")):
            raise RefusedError(
                401,
                "the request has no token, or not this server's",
                "open the address that kernlens serve printed, with all that follows the #",
                {"WWW-Authenticate": "Bearer"},
            )

    def _has_token(self, authorization: bytes) -> bool:
        scheme, _, token = authorization.partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)


def _is_own(headers: dict[bytes, bytes], is_page: bool) -> bool:
    """Return whether a request comes from the server's own page, or asks for the page itself.

    A link to the page may stand anywhere: in a terminal, or in the file by which ``kernlens serve`` opens the browser. The
    page holds nothing, is in no frame, and is alone in its group of windows.
    """
    site = headers.get(b"sec-fetch-site")
    if site is None or site == b"same-origin":
        return True
    is_opened = headers.get(b"sec-fetch-mode") == b"navigate" and headers.get(b"sec-fetch-dest") == b"document"
    return is_page and (site == b"none" or is_opened)
