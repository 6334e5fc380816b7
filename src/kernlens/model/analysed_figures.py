"""Figures that take an analysis of a kernel's code: how many registers it needs, what IGC estimates of its waits; and what an
interpreter counted of it on data, which is known of few kernels.

They are part of the list of ``figures``, where modules that need figures import them from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernlens.model.figure import Figure, Measured

PEAK = "live_grfs"
#: The figures of ``WAITS`` that instructions, and so source lines, have too.
WAIT = "wait"  # As an order of lines.
WAIT_SHARE = "wait_share"
#: The unit of shares.
PERCENT = "%"
CYCLES = ISSUE_CYCLES, WAIT_CYCLES = ("issue_cycles", "wait_cycles")


def _analysed(part: str, attribute: str, **words: Any) -> Figure:
    """Return a figure that is one of a part of the kernel, which takes an analysis; it is unknown where that is."""

    def read(kernel: Measured) -> int | None:
        known = getattr(kernel, part)
        return None if known is None else getattr(known, attribute)

    return Figure(read=read, needs_decoding=True, **words)


_PRESSURE = {
    "unit": "registers per hardware thread",
    "unknown": "the decoder does not tell what the instructions do to registers, or their branches are too many to follow",
    "caused_by": (PEAK,),
}
# fmt: off
#: How many registers the code needs.
PRESSURES = (
    _analysed(
        "pressure", "peak", key=PEAK, heading="live GRFs", former=("peak_registers",), **_PRESSURE,
        meaning="peak register pressure: the most general registers that are live at once",
        origin="liveness over the decoded code, for active lanes; in a function, for all its callers together",
    ),
    _analysed(
        "pressure", "named", key="referenced_grfs", heading="referenced GRFs", former=("named_registers",), **_PRESSURE,
        meaning="general registers that at least one instruction reads or writes", origin="decoded operands",
    ),
)
_WAITS = {
    "origin": "IGC's estimate, one thread alone, loops once",
    "unknown": "before Xe-LP the code does not state who waits for whom, and kernlens does not decode messages of Xe3P",
}
#: What IGC estimates of issuing and waiting: it is computed only where it is asked for.
WAITS = (
    _analysed(
        "waits", ISSUE_CYCLES, key=ISSUE_CYCLES, heading="issue cycles", unit="cycles", caused_by=(ISSUE_CYCLES,), **_WAITS,
        meaning="cycles for which instructions occupy their pipes, all blocks added up", words="{} issue cycle(s)",
    ),
    _analysed(
        "waits", WAIT_CYCLES, key=WAIT_CYCLES, heading="wait cycles", unit="cycles", caused_by=(WAIT_CYCLES,), **_WAITS,
        meaning="cycles that instructions wait for others of their block, all blocks added up", words="{} wait cycle(s)",
    ),
    _analysed(
        "waits", WAIT_SHARE, key=WAIT_SHARE, heading="wait share", unit=PERCENT, caused_by=(WAIT_CYCLES,), **_WAITS,
        meaning="`wait_cycles` in percent of these and `issue_cycles` together, rounded up", words="{}% waits",
    ),
)
# fmt: on
UNITS, WASTE, WAVES, FAULTS = "units_per_request", "excess_units", "waves_per_request", "observed_faults"
#: What lines can be ordered by where a kernel was observed: bytes that they move, those above the ideal, runs of sub-groups.
OBSERVED_ORDERS = MOVED, EXCESS, RUNS = ("moved", "excess", "runs")
_NOT_OBSERVED = "it was not observed: kernlens observe -o FILE runs it on data, and saves what it does"


#: Launches are read by their attributes: ``behaviour`` has tables, which show figures.
def _observed(count: Callable[[Any], int]) -> Callable[[Measured], int | None]:
    """Return the reader of the most that a launch has; unknown if nothing was counted of any."""

    def read(kernel: Measured) -> int | None:
        return max((count(each) for each in kernel.behaviours if each.is_counted), default=None)

    return read


def _faults(kernel: Measured) -> int | None:
    """Return the faults of all launches: they are recorded of those too of which nothing was counted."""
    from kernlens.model.fault import merged_faults

    known = [each for each in kernel.behaviours if each.is_counted or each.faults]
    return len(merged_faults(fault for each in known for fault in each.faults)) if known else None


def _units(observed: Any) -> int:
    chosen = {32: 0, 64: 1, 128: 2}[observed.unit]
    moved = (each for each in observed.accesses if each.requests and each.space in ("global", "constant"))
    return max((-(-each.units[chosen] // each.requests) for each in moved), default=0)


def _waste(observed: Any) -> int:
    chosen = {32: 0, 64: 1, 128: 2}[observed.unit]
    moved = [each for each in observed.accesses if each.requests and each.space in ("global", "constant")]
    units, least = (sum(getattr(each, name)[chosen] for each in moved) for name in ("units", "least"))
    return -(-100 * (units - least) // least) if least else 0


def _waves(observed: Any) -> int:
    local = (each for each in observed.accesses if each.requests and each.space == "local")
    return max((-(-(each.wavefronts or 0) // each.requests) for each in local), default=0)


# fmt: off
OBSERVED = (
    Figure(
        key=UNITS, heading="units per request", unit="units of memory", read=_observed(_units),
        meaning="units of global memory that a request of a sub-group touches, on average, at the access that has most; rounded"
        " up; a unit has the size in which the device moves memory",
        origin="counted in an interpreter, on data", unknown=_NOT_OBSERVED, is_observed=True,
    ),
    Figure(
        key=WASTE, heading="excess units", unit=PERCENT, read=_observed(_waste),
        meaning="units of global memory that all requests of a launch touch above the fewest that would do, in percent of"
        " these; rounded up: 0 if neighbouring work-items access neighbouring addresses, 100 if it is twice as many",
        origin="counted in an interpreter, on data", unknown=_NOT_OBSERVED, is_observed=True,
    ),
    Figure(
        key=WAVES, heading="waves per request", unit="wavefronts", read=_observed(_waves),
        meaning="wavefronts that a request to local memory takes, on average, at the access that has most; rounded up",
        origin="counted in an interpreter, on data", unknown=_NOT_OBSERVED, is_observed=True,
    ),
    Figure(
        key=FAULTS, heading="observed faults", unit="faults", read=_faults,
        meaning="different accesses out of bounds, data races and other faults that the interpreter saw",
        origin="counted in an interpreter, on data", unknown=_NOT_OBSERVED, is_observed=True,
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
    return f"only {partial.groups_done:,} of {partial.groups:,} work-groups ran: allow more with --seconds"
