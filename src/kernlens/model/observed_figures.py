"""Figures of what a kernel did on data, as an interpreter counted it: not of its code, and not known of most kernels.

They are part of the list of ``figures``, where modules that need figures import them from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kernlens.model.figure import Figure, Measured

if TYPE_CHECKING:
    from kernlens.model.behaviour import Behaviour

UNITS = "units_per_request"
#: What lines can be ordered by where a kernel was observed: bytes that they move, those above the ideal, runs of sub-groups.
OBSERVED_ORDERS = MOVED, EXCESS, RUNS = ("moved", "excess", "runs")
_NOT_OBSERVED = "it was not observed: kernlens observe -o FILE runs it on data, and saves what it does"


def _observed(count: Callable[[Behaviour], int]) -> Callable[[Measured], int | None]:
    """Return the reader of the most that a launch has; unknown if nothing was counted of any."""

    def read(kernel: Measured) -> int | None:
        return max((count(each) for each in kernel.behaviours if each.is_counted), default=None)

    return read


def _units(observed: Behaviour) -> int:
    chosen = {32: 0, 64: 1, 128: 2}[observed.unit]
    moved = (each for each in observed.accesses if each.requests and each.space in ("global", "constant"))
    return max((-(-each.units[chosen] // each.requests) for each in moved), default=0)


def _waves(observed: Behaviour) -> int:
    local = (each for each in observed.accesses if each.requests and each.space == "local")
    return max((-(-(each.wavefronts or 0) // each.requests) for each in local), default=0)


# fmt: off
OBSERVED = (
    Figure(
        key=UNITS, heading="units per request", unit="units of memory", read=_observed(_units),
        meaning="units of global memory that a request of a sub-group touches, on average, at the access that has most; rounded"
        " up; a unit has the size in which the device moves memory",
        origin="counted in an interpreter, on data", unknown=_NOT_OBSERVED,
    ),
    Figure(
        key="waves_per_request", heading="waves per request", unit="wavefronts", read=_observed(_waves),
        meaning="wavefronts that a request to local memory takes, on average, at the access that has most; rounded up",
        origin="counted in an interpreter, on data", unknown=_NOT_OBSERVED,
    ),
    Figure(
        key="observed_faults", heading="observed faults", unit="faults", read=_observed(lambda observed: len(observed.faults)),
        meaning="different accesses out of bounds, data races and other faults that the interpreter saw",
        origin="counted in an interpreter, on data", unknown=_NOT_OBSERVED,
    ),
)
# fmt: on


def unobserved_words(kernel: Measured) -> str | None:
    """Return what of a kernel's launches was not counted, as the end of a sentence; None if all of them were whole."""
    behaviours = kernel.behaviours
    if not behaviours:
        return _NOT_OBSERVED
    refused = [each for each in behaviours if not each.is_counted]
    if refused:
        return f"nothing was counted of {len(refused):,} of {len(behaviours):,} launches: {refused[0].reason}"
    partial = next((each for each in behaviours if each.groups_done < each.groups), None)
    if partial is None:
        return None
    return f"only the first {partial.groups_done:,} of {partial.groups:,} work-groups ran: allow more with --seconds"
