"""Times of runs: the middle and the scatter, and whether one of two builds is faster."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from statistics import median, quantiles

from kernlens.dataclass import dataclass

#: How sure the interval is to hold the median of all pairs that could have been run. With 95 of 100, equal builds were told to
#: differ in one of 22 trials: too often for an answer that a person acts on.
CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class Times:
    """Nanoseconds of runs: the median, and the quartiles, between which half of all runs are."""

    runs: int
    median: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """The speed of the other build, as a multiple of the recorded one's: the median of the pairs' ratios, and the interval that
    holds the true median in 99 of 100 such experiments. None where the pairs are too few for an interval."""

    pairs: int
    median: float
    low: float | None
    high: float | None

    @property
    def is_different(self) -> bool:
        """True if the interval does not hold 1."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


def times_of(nanoseconds: Sequence[int | None]) -> Times | None:
    """Return the times of runs; None if the device measured none."""
    known = [each for each in nanoseconds if each is not None]
    if not known:
        return None
    lower, _, upper = quantiles(known, n=4, method="inclusive") if len(known) > 1 else (known[0],) * 3
    return Times(len(known), median(known), lower, upper)


def ratio_of(recorded: Sequence[int | None], other: Sequence[int | None]) -> Ratio | None:
    """Return how many times as fast ``other`` is, from runs in pairs; None if the device measured none."""
    pairs = [first / second for first, second in zip(recorded, other, strict=True) if first and second]
    if not pairs:
        return None
    ordered = sorted(pairs)
    rank = _rank(len(ordered))
    if rank is None:
        return Ratio(len(ordered), median(ordered), None, None)
    return Ratio(len(ordered), median(ordered), ordered[rank], ordered[-1 - rank])


def _rank(count: int) -> int | None:
    """Return how many values may lie below the interval, by order statistics: the true median lies below the value of rank k
    with the chance that of ``count`` fair coins at most k show heads. None if even all values are no such interval."""
    chance, rank = 0.0, None
    for place in range(count // 2):
        chance += comb(count, place) / 2**count
        if 2 * chance > 1 - CONFIDENCE:
            break
        rank = place
    return rank
