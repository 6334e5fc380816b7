"""The time that the passes of a compile took, as the compiler itself measured it.

IGC 2 adds up the time of each pass by its phase and name: all runs of a pass in a phase are one figure. The figures are
of a compile of their own, since dumping the program after each pass is counted with the next one.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernlens.model.stage import Snapshot
from kernlens.model.stages import PASS_TIMES

NO_TIMES = "the compile has no times of its passes: IGC 1 cannot tell them, and IGC 2 does with --all-passes"
_MOST_PASSES = 10_000


def pass_times(snapshots: Iterable[Snapshot]) -> dict[str, float]:
    """Return the seconds of each pass by phase and name (``cg-EmitPass``), of the whole program; empty if nothing has them."""
    times: dict[str, float] = {}
    for snapshot in snapshots:
        if snapshot.stage != PASS_TIMES or snapshot.failure is not None:
            continue
        for line in snapshot.text.split("\n")[:_MOST_PASSES]:
            name, _, seconds = line.partition(",")
            try:
                times[name] = float(seconds)
            except ValueError:
                continue
    return {name: seconds for name, seconds in times.items() if 0 <= seconds < 1e6}
