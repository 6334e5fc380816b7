"""Work shared among processes: this one does the first share, forked ones the others, and the order stays.

Python runs on one processor at a time, so that rendering is shared by processes. A worker is a copy of this process that
writes its pieces to an unlinked temporary file, which is read when it has ended: nobody can make it wait. It ends with this
process, however that ends: the pipe that this process alone holds open for writing then sends it SIGIO.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import IO, NoReturn, TypeVar

from kernlens import log
from kernlens.errors import ToolError
from kernlens.processors import processors

Item = TypeVar("Item")
Piece = TypeVar("Piece")
#: Answers for some neighbouring items, with so many threads (None: as many as there are processors).
Answer = Callable[[Sequence[Item], "int | None"], Iterator[Piece]]

#: Bytes of machine code below which a share costs more than it saves, and those of one worker's share at most: what it
#: makes of them, twenty times as much, waits in a temporary file.
LEAST, MOST = 128 << 10, 8 << 20

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGIO)


def in_shares(items: Sequence[Item], weights: Sequence[int], answer: Answer[Item, Piece]) -> Iterator[Piece]:
    """Yield what ``answer`` does of all items, in their order. ``weights`` are the bytes of each item's machine code.

    Raises what ``answer`` raises, at the place where it does; ToolError if a worker is killed.
    """
    # With --verbose, messages come in the order of the work.
    may_fork = threading.active_count() == 1 and not log.is_on("loading")
    workers = processors() if may_fork else 1
    start = 0
    while start < len(items):
        end = _reach(weights, start, len(items), MOST * workers)
        total = sum(weights[start:end])
        count = min(workers, total // LEAST)
        if count < 2:
            yield from answer(items[start:end], None)
        else:
            shares = []
            for left in range(count, 0, -1):
                stop = _reach(weights, start, end, sum(weights[start:end]) // left) if left > 1 else end
                shares.append(items[start:stop])
                start = stop
            yield from _side_by_side(shares, answer)
        start = end


def _reach(weights: Sequence[int], start: int, end: int, most: int) -> int:
    """Return how far before ``end`` the items from ``start`` on go that weigh about ``most``: one item at least."""
    total = 0
    for index in range(start, end):
        total += weights[index]
        if total - weights[index] // 2 > most and index > start:
            return index
    return end


def _side_by_side(shares: Sequence[Sequence[Item]], answer: Answer[Item, Piece]) -> Iterator[Piece]:
    workers: list[_Worker] = []
    try:
        for share in shares[1:]:
            workers.append(_Worker(answer, share, [worker.lifeline for worker in workers]))
        yield from answer(shares[0], 1)
        for worker in workers:
            yield from worker.pieces()
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process that answers for one share. ``lifeline`` is the end of a pipe that its parent holds open."""

    def __init__(self, answer: Answer[Item, Piece], share: Sequence[Item], others: Sequence[int]) -> None:
        import pickle
        from tempfile import TemporaryFile

        self._load = pickle.load
        self._file: IO[bytes] = TemporaryFile(prefix="kernlens-")  # noqa: SIM115  # ``end`` closes it
        watched, self.lifeline = os.pipe()
        parent = os.getpid()
        # A signal must not find the child with its parent's handlers: it would go on as if it were the parent.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            self._process: int | None = os.fork()
            if not self._process:
                _work(lambda: answer(share, 1), self._file, watched, [*others, self.lifeline], parent)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(watched)

    def pieces(self) -> Iterator[Piece]:
        """Yield what the process answered, when it has ended. Raises what it raised."""
        assert self._process is not None
        _, status = os.waitpid(self._process, 0)
        self._process = None
        if status:
            code = os.waitstatus_to_exitcode(status)
            how = signal.Signals(-code).name if code < 0 else f"status {code}"
            raise ToolError(f"a worker process ended early ({how})")
        self._file.seek(0)
        with suppress(EOFError):
            while True:
                piece = self._load(self._file)
                if isinstance(piece, BaseException):
                    raise piece
                yield piece

    def end(self) -> None:
        """End the process if it still runs."""
        os.close(self.lifeline)
        self._file.close()
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
            self._process = None


def _work(
    answer: Callable[[], Iterator[Piece]], file: IO[bytes], watched: int, lifelines: Sequence[int], parent: int
) -> NoReturn:
    """Answer, and end the process, in place of all that its parent would do."""
    import fcntl
    import pickle

    status = 1
    try:
        for lifeline in lifelines:
            os.close(lifeline)
        for number in _ENDING:
            signal.signal(number, signal.SIG_DFL)
        fcntl.fcntl(watched, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(watched, fcntl.F_SETFL, os.O_ASYNC)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        if os.getppid() == parent:  # Otherwise it ended before it could be watched.
            try:
                for piece in answer():
                    pickle.dump(piece, file, pickle.HIGHEST_PROTOCOL)
            except BaseException as error:
                pickle.dump(_sendable(error), file)
            file.flush()
            status = 0
    finally:
        os._exit(status)


def _sendable(error: BaseException) -> BaseException:
    """Return the error, or one with its words if it cannot be sent; with its traceback for --debug."""
    import pickle
    from traceback import format_exception

    words = "".join(format_exception(error))
    try:
        error.__traceback__ = error.__cause__ = error.__context__ = None
        error.add_note(words)
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return RuntimeError(words)
