"""The body of a request: JSON, and not too much of it."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request

from kernlens.explorer.responses import JSON, RefusedError

#: Bytes of a request's body, at most.
BODY_LIMIT = 2 << 20
#: Seconds in which a body has to come.
BODY_TIME = 30.0


async def json_body(request: Request) -> Any:
    """Return a request's body, which has to be JSON and of limited size; more is not read.

    Raises RefusedError 415, 413, 408 or 400.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise RefusedError(415, f"the request's Content-Type is {kind or 'missing'}; it has to be {JSON}")
    too_large = RefusedError(
        413, f"the request contains more than {BODY_LIMIT >> 20} MB", "send a smaller source", {"Connection": "close"}
    )
    stated = request.headers.get("content-length", "")
    if stated.isdigit() and int(stated[:20]) > BODY_LIMIT:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIME):
            async for chunk in request.stream():
                if len(body) + len(chunk) > BODY_LIMIT:
                    raise too_large
                body += chunk
    except TimeoutError:
        raise RefusedError(408, "the request's body did not come in time", None, {"Connection": "close"}) from None
    except ClientDisconnect:
        raise RefusedError(400, "the request's body ended early") from None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RefusedError(400, f"the request is no JSON: {error}") from None
