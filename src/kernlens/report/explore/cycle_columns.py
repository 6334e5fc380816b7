"""The waits of a kernel's instructions as columns."""

from __future__ import annotations

from typing import Any

from kernlens.model.kernel import Kernel
from kernlens.model.waits import REASONS, Waits
from kernlens.report.explore.packing import deltas

#: Why a page has no waits that another program simulates.
_ELSEWHERE = "pages show no waits of such code; kernlens annotate --waits has them simulated"


def page_waits(kernel: Kernel) -> Waits | None:
    """Return the waits that a page shows: none that take a process for each kernel."""
    return None if kernel.simulates_waits else kernel.waits


def page_waits_reason(kernel: Kernel) -> str | None:
    """Return why a page has no waits; None if it has."""
    return _ELSEWHERE if kernel.simulates_waits else kernel.waits_reason


def cycle_columns(kernel: Kernel) -> dict[str, Any] | None:
    """Return who waits how long for whom; None where that is not known."""
    waits = page_waits(kernel)
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
