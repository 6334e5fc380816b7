"""JSON as all routes answer it."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from kernlens.report.json_text import encoded

JSON = "application/json"
#: A line of JSON for each event.
NDJSON = "application/x-ndjson"


def json_bytes(document: Any) -> bytes:
    """A document as JSON on one line, in ASCII."""
    return encoded(document).encode()


def json_response(document: Any) -> Response:
    """An answer."""
    return Response(json_bytes(document), media_type=JSON)
