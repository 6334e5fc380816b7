"""The server's life: one address on this machine, from a token that nobody knows to a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import secrets
import signal
import socket
import time
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kernlens.errors import KernlensError
from kernlens.explorer.app import Explorer
from kernlens.explorer.compile_queue import CAPACITY
from kernlens.explorer.guard import HEADER_LIMIT, Guard

HOST = "127.0.0.1"
#: Connections at a time: those of compiles that wait, and some for all else.
CONNECTIONS = CAPACITY + 64
#: Seconds in which the first byte of a request, and then all its headers, have to come.
_HEADER_TIME = 10.0
_KEEP_ALIVE = 5
#: Seconds that answers get to end when the server does.
_GRACE = 2
#: What ends the server as Ctrl-C does.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def listening(port: int) -> socket.socket:
    """Return a socket on this machine's own address; ``port`` 0: any that is free. Raises KernlensError if there is none."""
    # asyncio only sends small pieces at once (TCP_NODELAY) where the protocol is stated.
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind((HOST, port))
    except OSError as error:
        server.close()
        raise KernlensError(
            f"the port {port} is not available: {error.strerror}; choose another port, or omit --port for any free port"
        ) from error
    return server


class Server:
    """A server of an explorer until a signal or, after ``idle`` seconds without a request (0: never), by itself."""

    def __init__(
        self, explorer: Explorer, listener: socket.socket, *, idle: float, on_fault: Callable[[BaseException], None]
    ) -> None:
        self._explorer = explorer
        self._listener = listener
        self._idle = idle
        self._on_fault = on_fault
        self._asked = time.monotonic()
        self._signal: int | None = None
        self.token = secrets.token_urlsafe(16)
        self.port: int = listener.getsockname()[1]

    @property
    def address(self) -> str:
        """The address to open: with the token, in the part that browsers send to nobody."""
        return f"http://{HOST}:{self.port}/#t={self.token}"

    def run(self, on_ready: Callable[[], None]) -> int | None:
        """Serve; ``on_ready`` is called when requests are taken. Return the signal that ended it, None if it was idle."""
        guard = Guard(
            self._explorer.app(), port=self.port, token=self.token, on_fault=self._on_fault, on_request=self._note
        )
        config = uvicorn.Config(
            guard,
            http=_Protocol,
            ws="none",
            lifespan="off",
            loop="asyncio",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=_GRACE,
            h11_max_incomplete_event_size=2 * HEADER_LIMIT,
            backlog=CONNECTIONS,
        )
        # What it would say on standard error is said here, or is a client's fault.
        logging.getLogger("uvicorn").addHandler(logging.NullHandler())
        logging.getLogger("uvicorn").propagate = False
        server = _Uvicorn(config)
        with _signals(lambda number: self._end(server, number)):
            asyncio.run(self._serve(server, on_ready))
        return self._signal

    async def _serve(self, server: uvicorn.Server, on_ready: Callable[[], None]) -> None:
        asyncio.get_running_loop().set_exception_handler(self._tell_fault)
        watch = asyncio.create_task(self._watch(server, on_ready))
        try:
            await server.serve(sockets=[self._listener])
        finally:
            watch.cancel()
            self._explorer.close()

    async def _watch(self, server: uvicorn.Server, on_ready: Callable[[], None]) -> None:
        while not server.started:
            await asyncio.sleep(0.01)
        on_ready()
        while not server.should_exit:
            await asyncio.sleep(0.1)
            is_idle = self._explorer.queue.is_idle and not server.server_state.tasks
            if self._idle and is_idle and time.monotonic() - self._asked > self._idle:
                server.should_exit = True
        # Streams of compiles end with a word of their own, before the connections are closed.
        self._explorer.queue.end_all()

    def _end(self, server: uvicorn.Server, number: int) -> None:
        self._signal = number
        server.should_exit = True

    def _note(self) -> None:
        self._asked = time.monotonic()

    def _tell_fault(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        if isinstance(error, Exception) and not isinstance(error, ConnectionError):
            self._on_fault(error)


class _Uvicorn(uvicorn.Server):
    """A server that leaves signals to ``Server``."""

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()


class _Protocol(H11Protocol):
    """A protocol that holds no more connections than it can serve, and ends those from which no request comes.

    When there are too many, the one that has been without a whole request for longest makes way: who sends requests by
    halves, however many, locks nobody else out.
    """

    _waiting: asyncio.TimerHandle | None = None
    _numbers = itertools.count()
    _number = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._number = next(self._numbers)
        if len(self.connections) > CONNECTIONS:
            others = [each for each in self.connections if isinstance(each, _Protocol) and each._is_unused]
            # Without any other it is this one.
            oldest = min(others, key=lambda each: each._number)
            oldest.transport.abort()
            self.connections.discard(oldest)
            if oldest is self:
                return
        self._waiting = self.loop.call_later(_HEADER_TIME, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        super().connection_lost(exc)

    @property
    def _is_unused(self) -> bool:
        """True if nothing is being answered: a first or a further request is awaited."""
        return self.cycle is None or self.cycle.response_complete

    def _give_up(self) -> None:
        if self.cycle is None:
            self.transport.abort()


@contextlib.contextmanager
def _signals(end: Callable[[int], None]) -> Iterator[None]:
    """Have signals call ``end`` in this block, but those that are ignored, as under nohup."""

    def obey(number: int, frame: FrameType | None) -> None:
        end(number)

    before = {number: signal.getsignal(number) for number in _ENDING}
    caught = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in caught:
        signal.signal(number, obey)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, before[number])
