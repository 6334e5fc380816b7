"""A child process that is always known, however it is interrupted, and that can be ended with all that it started."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess


class Child:
    """A running child process with, where the platform has them, its process group."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def kill(self) -> None:
        """Kill the process and everything that it started; does nothing if it has ended already."""
        # start_new_session gave the group the child's number, which stays taken while any member lives.
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()


class Starter:
    """The start of a process in a thread of its own. A signal makes the main thread raise wherever it is, also within
    Popen when the child runs already and nobody could end it. This thread is not interrupted, so that the child is
    always known. Nothing relies on joining it: in CPython 3.9 to 3.12 a join that a signal interrupts marks a thread as
    ended that still runs."""

    def __init__(self, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self._start_process = start
        self._is_over = threading.Event()
        # Held while the process is being started.
        self._lock = threading.Lock()
        self._is_unwanted = False
        self._process: subprocess.Popen[bytes] | None = None
        self._error: BaseException | None = None

    def _run(self) -> None:
        with self._lock:
            if self._is_unwanted:
                return
            try:
                self._process = self._start_process()
            except BaseException as error:
                self._error = error
            # A second signal may have broken off the wait of ``end``.
            if self._is_unwanted and self._process is not None:
                Child(self._process).kill()
        self._is_over.set()

    def process(self) -> subprocess.Popen[bytes]:
        """Start the process and return it. Raises what starting it raised."""
        # The interpreter waits for this thread before it ends, as it is no daemon.
        thread = threading.Thread(target=self._run)
        thread.start()
        self._is_over.wait()
        thread.join()  # It ends now. Whoever forks next shall be the only thread.
        if self._process is None:
            assert self._error is not None
            raise self._error
        return self._process

    def end(self) -> None:
        """Kill the process and all that it started, now or as soon as it is started; or never start it."""
        self._is_unwanted = True
        with self._lock:
            process = self._process
        if process is not None:
            Child(process).kill()
            process.wait()
