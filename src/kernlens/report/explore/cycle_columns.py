"""The waits of a kernel's instructions as columns."""

from __future__ import annotations

from typing import Any

from kernlens.model.kernel import Kernel
from kernlens.model.waits import REASONS
from kernlens.report.explore.packing import deltas


def cycle_columns(kernel: Kernel) -> dict[str, Any] | None:
    """Return who waits how long for whom; None where that is not known."""
    waits = kernel.waits
    if waits is None:
        return None
    rows = sorted(waits.waits)
    each = [waits.waits[row] for row in rows]
    return {
        "start": deltas(waits.starts),
        "issue": list(waits.issue),
        "wait": {
            "row": deltas(rows),
            "back": [wait.row - wait.producer for wait in each],
            "cycles": [wait.cycles for wait in each],
            "why": [REASONS.index(wait.why) for wait in each],
            "reasons": list(REASONS),
        },
    }
