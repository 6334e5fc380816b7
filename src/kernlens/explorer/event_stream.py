"""An answer that goes on: a line of JSON for each event of a compile, as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kernlens.explorer.compile_queue import Event, Submission
from kernlens.explorer.responses import NDJSON, json_bytes

#: Seconds without an event after which a line says that the server is alive; writing it shows a client that is gone.
ALIVE = 15.0


class EventStream(Response):
    """The events of a submission. ``on_end`` is called when the client has gone, or has got all of them."""

    media_type = NDJSON

    def __init__(self, submission: Submission, on_end: Callable[[], None]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._events = submission.events
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events. A handler is not told that its client has gone: it has to listen for that itself."""
        tasks = {asyncio.create_task(self._tell(send)), asyncio.create_task(_gone(receive))}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self._on_end()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _tell(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        while True:
            event: Event | None
            try:
                event = await asyncio.wait_for(self._events.get(), ALIVE)
            except TimeoutError:
                event = {"event": "alive"}
            if event is None:
                break
            await send({"type": "http.response.body", "body": json_bytes(event) + b"\n", "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
