"""The bond of a child process to this one, so that it ends with it, whatever ends this one.

That needs no parent that tells it: the child inherits the reading end of a pipe whose writing end only this process has.
When that is closed, the kernel sends the child's process group the signal that F_SETSIG chose: SIGKILL. (PR_SET_PDEATHSIG
would look at the thread that started the child, not at the process.)
"""

from __future__ import annotations

import os
from typing import IO


class Lifeline:
    """The line that a child hangs on: it must inherit the descriptors ``inherited``, and lead a process group of its own."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self._files: list[IO[bytes]] = [os.fdopen(writing, "wb", 0), os.fdopen(reading, "rb", 0)]

    @property
    def inherited(self) -> tuple[int, ...]:
        """The descriptors that the child inherits."""
        return tuple(file.fileno() for file in self._files[1:])

    def fasten(self, process: int) -> None:
        """Have the child's process group end when this process does, or ``cut`` is called."""
        import fcntl
        import signal

        held = self._files.pop()
        fcntl.fcntl(held, fcntl.F_SETOWN, -process)
        fcntl.fcntl(held, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(held, fcntl.F_SETFL, os.O_ASYNC)
        held.close()

    def cut(self) -> None:
        """End what is left of the child's process group. May be called again."""
        while self._files:
            self._files.pop().close()
