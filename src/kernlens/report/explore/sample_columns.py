"""A profiler's samples on a kernel's rows, as columns."""

from __future__ import annotations

from typing import Any

from kernlens.analysis.placed_samples import PlacedSamples
from kernlens.report.explore.packing import deltas


def sample_columns(placed: PlacedSamples | None) -> dict[str, Any] | None:
    """Return the ``samples`` of a kernel's code: null without a file of samples, and if it has none of the kernel.

    ``reasons``: ``{"name": "SbidStall", "stall": true}`` each; ``rows``: ``{"row": Δ, "counts": [[a count for each reason],
    ...]}``, only rows that have samples; ``blamed``: ``{"row": Δ, "back": [], "samples": []}``: so many samples of a row's
    waits are laid on the row so many rows before it, several where lanes may have come several ways; ``unblamed``: samples of
    waits for what the code does not tell; ``unplaced``: ``{"offset": Δ, "samples": []}`` where no instruction begins;
    ``devices``: numbers of the profiler's devices, which may be null; ``profiler``; ``total``: the samples on rows.
    """
    if placed is None or not (placed.counts or placed.unplaced):
        return None
    return {
        "profiler": placed.profiler,
        "devices": list(placed.devices),
        "reasons": [{"name": reason.name, "stall": reason.is_stall} for reason in placed.reasons],
        "total": placed.total,
        "rows": {"row": deltas(placed.counts), "counts": list(map(list, placed.counts.values()))},
        "blamed": {
            "row": deltas(blame.waiter for blame in placed.blames),
            "back": [blame.waiter - blame.producer for blame in placed.blames],
            "samples": [blame.samples for blame in placed.blames],
        },
        "unblamed": placed.unblamed,
        "unplaced": {
            "offset": deltas(placed.unplaced),
            "samples": list(map(sum, placed.unplaced.values())),
        },
    }
