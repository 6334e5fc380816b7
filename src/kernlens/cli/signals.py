"""The end after SIGTERM, SIGHUP and SIGQUIT, as after Ctrl-C: compilers are stopped, temporary folders removed.

Ctrl-C is Python's own KeyboardInterrupt while a verb runs, and only then if the command (bin/kernlens) gave it its default
action.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

#: The signals that ask a process to end.
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class EndedBySignal(KeyboardInterrupt):
    """The end by a signal, raised in the main thread where it arrived, so that everything unwinds as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


@contextlib.contextmanager
def signals_that_unwind() -> Iterator[None]:
    """Have the signals raise EndedBySignal in this block, and Ctrl-C KeyboardInterrupt; those that are ignored, as under
    nohup, stay ignored. After the block, the first Ctrl-C does nothing: the process is about to end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught = [number for number in ENDING if signal.getsignal(number) == signal.SIG_DFL]

    def unwind(number: int, frame: FrameType | None) -> None:
        # A terminal that closes and a service that stops send several: they must not break the unwinding off.
        for other in caught:
            signal.signal(other, _ignore)
        raise EndedBySignal(number)

    for number in caught:
        signal.signal(number, unwind)
    is_ours = signal.getsignal(signal.SIGINT) == signal.SIG_DFL
    try:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, _ignore_once)
        for number in caught:
            signal.signal(number, signal.SIG_DFL)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing. Unlike SIG_IGN, a handler is not inherited by programs that are started."""


def _ignore_once(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)


def end_by_signal(number: int) -> NoReturn:
    """End this process by the signal, so that its parent sees the signal as the cause."""
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    import resource

    # SIGQUIT asks for a core file; that of a process that has cleaned up shows nothing.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    os.kill(os.getpid(), number)
    os._exit(128 + number)
