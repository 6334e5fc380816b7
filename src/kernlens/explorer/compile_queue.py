"""The queue of compiles: one request of a page supersedes the one before it, and each compile tells how it goes.

All of it runs on the event loop, but the work itself: that runs in a few threads, and comes to be stopped from here.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from functools import partial
from typing import Any, Protocol

from kernlens.dataclass import dataclass
from kernlens.explorer.responses import FAULT, RefusedError

#: Compiles that wait, at most.
CAPACITY = 128
#: Pages whose newest serial number is remembered.
_SESSIONS = 1024
#: Seconds after which a client that is refused may try again.
_RETRY = 5

Event = Mapping[str, Any]
Tell = Callable[[Event], None]


class Work(Protocol):
    """One compile. ``run``, in a thread, tells events, the last of them its result; ``stop``, from any, makes it end soon."""

    def run(self, tell: Tell) -> None: ...
    def stop(self) -> None: ...


@dataclass(eq=False)
class Submission:
    """The compiles of one request. ``events`` gets what they tell, and ``None`` at the end."""

    session: str
    serial: int
    events: asyncio.Queue[Event | None] = field(default_factory=asyncio.Queue)
    left: int = 0
    is_over: bool = False


@dataclass(eq=False)
class _Job:
    submission: Submission
    configuration: int
    work: Work


class CompileQueue:
    """A queue that runs up to ``workers`` compiles at a time. ``on_fault`` gets errors that are no compiler's."""

    def __init__(self, workers: int, on_fault: Callable[[BaseException], None], capacity: int = CAPACITY) -> None:
        self._workers = workers
        self._capacity = capacity
        self._on_fault = on_fault
        self._waiting: deque[_Job] = deque()
        self._running: set[_Job] = set()
        self._newest: OrderedDict[str, Submission] = OrderedDict()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="compile")
        self._is_closed = False

    @property
    def is_idle(self) -> bool:
        """True if nothing runs or waits."""
        return not self._running and not self._waiting

    def submit(self, session: str, serial: int, works: Sequence[tuple[int, Work]]) -> Submission:
        """Enqueue compiles, each with the number of its configuration; older ones of the session are superseded.

        Raises RefusedError: 409 if the session has sent a newer one already, 429 if too many wait, 503 when the server ends.
        """
        if self._is_closed:
            raise RefusedError(503, "the server is ending")
        before = self._newest.get(session)
        if before is not None and serial <= before.serial:
            raise RefusedError(409, f"superseded: this page has sent serial {before.serial} already")
        # What is superseded leaves its place.
        freed = sum(job.submission is before for job in self._waiting) if before is not None else 0
        if len(self._waiting) - freed + len(works) > self._capacity:
            raise RefusedError(
                429,
                f"{len(self._waiting)} compiles wait already",
                f"try again in {_RETRY} seconds",
                {"Retry-After": str(_RETRY)},
            )
        if before is not None:
            self.end(before, {"event": "superseded"})
        submission = Submission(session, serial, left=len(works))
        self._newest[session] = submission
        self._newest.move_to_end(session)
        while len(self._newest) > _SESSIONS:
            self._newest.popitem(last=False)
        for configuration, work in works:
            self._waiting.append(_Job(submission, configuration, work))
            place = len(self._waiting)
            submission.events.put_nowait({"event": "queued", "configuration": configuration, "place": place})
        if not works:
            self._finish(submission)
        self._start_waiting()
        return submission

    def end(self, submission: Submission, event: Event | None = None) -> None:
        """Drop what waits of these compiles, stop what runs, and tell the event as the last one."""
        if submission.is_over:
            return
        submission.is_over = True
        self._waiting = deque(job for job in self._waiting if job.submission is not submission)
        for job in self._running:
            if job.submission is submission:
                job.work.stop()
        if event is not None:
            submission.events.put_nowait(event)
        submission.events.put_nowait(None)

    def end_all(self) -> None:
        """Stop everything and take nothing more; whoever waits is told so."""
        self._is_closed = True
        jobs = [*self._waiting, *self._running]
        for submission in {id(job.submission): job.submission for job in jobs}.values():
            self.end(submission, {"event": "closing"})

    def close(self) -> None:
        """Do as ``end_all``, and return when all work has ended."""
        self.end_all()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _start_waiting(self) -> None:
        while self._waiting and len(self._running) < self._workers and not self._is_closed:
            job = self._waiting.popleft()
            self._running.add(job)
            loop = asyncio.get_running_loop()
            job.submission.events.put_nowait({"event": "started", "configuration": job.configuration})
            future = loop.run_in_executor(self._pool, job.work.run, self._teller(job, loop))
            future.add_done_callback(partial(self._ended, job))

    def _teller(self, job: _Job, loop: asyncio.AbstractEventLoop) -> Tell:
        def put(event: Event) -> None:
            if not job.submission.is_over:
                job.submission.events.put_nowait({**event, "configuration": job.configuration})

        def tell(event: Event) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(put, event)

        return tell

    def _ended(self, job: _Job, done: asyncio.Future[None]) -> None:
        self._running.discard(job)
        error = None if done.cancelled() else done.exception()
        submission = job.submission
        if error is not None and not submission.is_over:
            self._on_fault(error)
            result = no_result(f"{FAULT.error}; {FAULT.next}")
            submission.events.put_nowait({**result, "configuration": job.configuration})
        submission.left -= 1
        if not submission.left:
            self._finish(submission)
        self._start_waiting()

    def _finish(self, submission: Submission) -> None:
        self.end(submission, {"event": "end"})


def no_result(reason: str, log: str = "", command: str | None = None) -> dict[str, Any]:
    """Return the result of a compile that could not be done at all: it has every key that a result has."""
    answer = {"event": "result", "ok": False, "reason": reason, "log": log, "seconds": 0.0, "command": command}
    return {**answer, "diagnostics": [], "index": None}
