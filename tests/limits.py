"""Limits that do not depend on how busy the machine is: processor time, and memory."""

from __future__ import annotations

import resource
import signal
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def processor_time(seconds: float = 10.0) -> Iterator[None]:
    """Fail what needs more processor time than this: input made to take quadratic time would need minutes or hours."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"it took more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def memory(size: int) -> Iterator[None]:
    """Fail what has more than ``size`` bytes of Python's memory in use at a time, beyond what was in use before."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= size, f"it needed {peak:,} bytes"


@contextmanager
def address_space(size: int) -> Iterator[None]:
    """Refuse this process more than ``size`` bytes beyond what it has: what needs them gets a MemoryError.

    Unlike ``memory`` it costs no time, and counts what C code takes.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", "rb") as file:
        pages = int(file.read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
