"""The order in which requests wait for each other."""

from __future__ import annotations

import asyncio
from types import TracebackType


class NewestFirst:
    """A lock of one event loop, which of those who wait for it goes to the one who asked last."""

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting: list[asyncio.Future[None]] = []

    async def __aenter__(self) -> None:
        if not self._is_taken:
            self._is_taken = True
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # The lock came in the same moment.
                self._pass_on()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            turn = self._waiting.pop()
            if not turn.done():  # Who waited for it may have been cancelled.
                turn.set_result(None)
                return
        self._is_taken = False
