"""Timing of commands against each other, in turn, so that a drift of the machine's speed hits both sides alike."""

from __future__ import annotations

import os
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
    """Medians in seconds of whole processes, and the median of the ratios round by round."""

    ours: float
    theirs: float
    ratio: float


def compare(ours: Callable[[], None], theirs: Callable[[], None], rounds: int = ROUNDS) -> Comparison:
    """Run both in turn ``rounds`` times, after one round that does not count."""
    pairs = []
    for number in range(rounds + 1):
        pair = (seconds(ours), seconds(theirs))
        if number:
            pairs.append(pair)
    return Comparison(
        statistics.median(mine for mine, _ in pairs),
        statistics.median(other for _, other in pairs),
        statistics.median(mine / other for mine, other in pairs),
    )


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def running(commands: Commands, environment: dict[str, str] | None = None) -> Callable[[], None]:
    """Return what runs the commands one after the other, without their output; it raises CalledProcessError if one fails."""
    full = os.environ | (environment or {})

    def run() -> None:
        for command in commands:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=full)

    return run
