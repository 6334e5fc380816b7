"""Figures of code whose loops run as many rounds as a user states (``--trips``): known of those kernels alone.

They are part of the list of ``figures``, where modules that need figures import them from.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import mul
from typing import TYPE_CHECKING

from kernlens.model.figure import Figure, Measured

if TYPE_CHECKING:
    from kernlens.model.trips import TripWeights

WEIGHED_CYCLES, WEIGHED_BYTES = "weighed_cycles", "weighed_bytes"
_SPACES = ("global", "slm", "scratch", "image")


def _of_trips(count: Callable[[Measured, TripWeights], int | None]) -> Callable[[Measured], int | None]:
    def read(kernel: Measured) -> int | None:
        weights = kernel.trip_weights
        return None if weights is None or weights.observed is not None else count(kernel, weights)

    return read


def _cycles(kernel: Measured, weights: TripWeights) -> int | None:
    waits = kernel.waits
    if waits is None:
        return None
    waited: int = sum(wait.cycles * weights.rows[row] for row, wait in waits.waits.items())
    issued: int = sum(map(mul, waits.issue, weights.rows))
    return issued + waited


def _bytes(kernel: Measured, weights: TripWeights) -> int:
    moved = sum(weights.costs[f"{space}_{way}_bytes"] for space in _SPACES for way in ("load", "store"))
    return moved - weights.costs["spill_store_bytes"] - weights.costs["spill_load_bytes"]


_UNKNOWN = "the rounds of its loops were not stated: --trips does"
# fmt: off
#: What a hardware thread does if its loops run as often as stated, and every branch is taken.
OF_TRIPS = (
    Figure(
        "weighed_instructions", "weighed instructions", "instructions",
        "machine instructions, each as often as `--trips` has its loops run", "counted in the machine code, with `--trips`",
        _of_trips(lambda kernel, weights: sum(weights.rows)), unknown=_UNKNOWN, needs_decoding=True,
    ),
    Figure(
        WEIGHED_CYCLES, "weighed cycles", "cycles",
        "cycles to issue and to wait, each as often as `--trips` has its loops run", "IGC's estimate, with `--trips`",
        _of_trips(_cycles), unknown=_UNKNOWN, needs_decoding=True,
    ),
    Figure(
        WEIGHED_BYTES, "weighed bytes", "bytes",
        "bytes that messages access, spills aside, each as often as `--trips` has its loops run",
        "the sum over the decoded messages, with `--trips`, an upper bound: assumes all lanes active",
        _of_trips(_bytes), unknown=_UNKNOWN, needs_decoding=True, is_upper_bound=True,
    ),
    Figure(
        "stated_loops", "stated loops", "loops", "loops of the code that `--trips` states the rounds of",
        "the loops in the machine code, by their lines", _of_trips(lambda kernel, weights: weights.stated),
        unknown=_UNKNOWN, needs_decoding=True, more_is_better=True,
    ),
)
# fmt: on
