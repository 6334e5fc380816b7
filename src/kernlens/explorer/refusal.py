"""What the server answers in place of what was asked for: a status, a sentence, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from kernlens.explorer.answers import JSON, json_bytes


class RefusedError(Exception):
    """An answer that is none. ``next`` says what to do about it, None if nothing can be done."""

    def __init__(
        self, status: int, error: str, next: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.status = status
        self.error = error
        self.next = next
        self.headers = dict(headers or {})
        super().__init__(error)

    def response(self) -> Response:
        """The answer as every client gets it."""
        content = json_bytes({"error": self.error, "next": self.next})
        return Response(content, self.status, self.headers, JSON)


#: What clients hear of a fault; the terminal hears more.
FAULT = RefusedError(500, "a fault of kernlens itself", "the terminal that kernlens serve runs in says more")
