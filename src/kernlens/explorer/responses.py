"""The JSON of all routes, and what the server answers in place of what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from kernlens.report.json_text import encoded

JSON = "application/json"
#: A line of JSON for each event.
NDJSON = "application/x-ndjson"


def json_bytes(document: Any) -> bytes:
    """Return a document as JSON on one line, in ASCII."""
    return encoded(document).encode()


def json_response(document: Any) -> Response:
    """Return a document as an answer."""
    return Response(json_bytes(document), media_type=JSON)


class RefusedError(Exception):
    """An answer that refuses: a status and a sentence. ``next`` says what to do about it, None if nothing can be done."""

    def __init__(
        self, status: int, error: str, next: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.status = status
        self.error = error
        self.next = next
        self.headers = dict(headers or {})
        super().__init__(error)

    def response(self) -> Response:
        """Return the answer as every client gets it."""
        content = json_bytes({"error": self.error, "next": self.next})
        return Response(content, self.status, self.headers, JSON)


def unknown_program(program: str) -> RefusedError:
    """Return the answer about a program that is neither served nor among the results of compiles."""
    what = f"there is no program {program} among those that are served, nor among the newest results of compiles"
    return RefusedError(404, what, "choose one of the page's list; what was compiled earlier has to be compiled again")


#: What clients hear of a fault; the terminal hears more.
FAULT = RefusedError(500, "a fault of kernlens itself", "the terminal that kernlens serve runs in says more")
