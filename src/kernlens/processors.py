"""The number of processors for this process: as many threads, forked copies and compiles run at a time."""

from __future__ import annotations

import os


def processors() -> int:
    """Return how many processors this process may use, which may be fewer than the machine has (``taskset``, containers)."""
    return len(os.sched_getaffinity(0))
