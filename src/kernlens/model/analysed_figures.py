"""Figures that take an analysis of a kernel's code: how many registers it needs, and what IGC estimates of its waits.

They are part of the list of ``figures``, where modules that need figures import them from.
"""

from __future__ import annotations

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
