"""Timing of commands against each other, in turn, so that a drift of the machine's speed hits both sides alike."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ROUNDS = 5

#: One side of a comparison: commands that are run one after the other.
Commands = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Comparison:
    """Medians of whole processes, in seconds by the clock and of processor time, and of their ratios round by round."""

    ours: float
    theirs: float
    ratio: float
    our_work: float
    their_work: float
    work_ratio: float


def compare(ours: Callable[[], None], theirs: Callable[[], None], rounds: int = ROUNDS) -> Comparison:
    """Run both in turn ``rounds`` times, after one round that does not count."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds + 1)][1:]
    medians = []
    for kind in range(2):
        both = [(mine[kind], other[kind]) for mine, other in pairs]
        medians += [
            statistics.median(mine for mine, _ in both),
            statistics.median(other for _, other in both),
            statistics.median(mine / other for mine, other in both),
        ]
    return Comparison(*medians)


def seconds(work: Callable[[], None]) -> tuple[float, float]:
    """Return how long the work takes, and the processor time of its processes: a busy machine has no second core to hide it."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def running(commands: Commands, environment: dict[str, str] | None = None) -> Callable[[], None]:
    """Return what runs the commands one after the other, without their output; it raises CalledProcessError if one fails."""
    full = os.environ | (environment or {})

    def run() -> None:
        for command in commands:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=full)

    return run
