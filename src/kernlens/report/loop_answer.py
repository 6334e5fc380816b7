"""Loops and their stated trips, in the words and keys that listings and documents share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernlens.model.kernel import Kernel
from kernlens.model.line_code import LineCode
from kernlens.report.describe import plural


class LineCounts:
    """The numbers that stand before a kernel's source lines: instructions, weighed ones where trips are stated, their share,
    how many of them are certain, if not all are, and the depth of the deepest loop, if the kernel has loops."""

    def __init__(self, kernel: Kernel) -> None:
        self._loops = kernel.loops if kernel.loops and kernel.loops.loops else None
        self._weights = weights_of(kernel)
        self._total = len(kernel.instructions) if self._weights is None else sum(self._weights)
        source_map = kernel.source_map
        self._is_uncertain = source_map is not None and source_map.uncertainty is not None
        weighed, loop = "" if self._weights is None else f" {'weighed':>12}", f" {'loop':>4}" if self._loops else ""
        certain = f" {'certain':>7}" if self._is_uncertain else ""
        self.heading = f"{'instr':>5}{weighed} {'%':>6}{certain}{loop}"
        self.blank = " " * len(self.heading)

    def of(self, code: LineCode) -> str:
        """Return the numbers of a line, whose own instructions are ``code``."""
        count = counted = code.count
        weighed = ""
        if self._weights is not None:
            counted = sum(sum(self._weights[run.start : run.stop]) for run in code)
            weighed = f" {counted:12,}"
        certain = f" {code.certain:7}" if self._is_uncertain else ""
        loop = f" {self._loops.depth_of(code) or '':>4}" if self._loops else ""
        return f"{count:5}{weighed} {100 * counted / self._total:5.1f}%{certain}{loop}"


def weights_of(kernel: Kernel) -> Sequence[int] | None:
    """Return how often each instruction runs by the stated trips; None where none are stated."""
    return kernel.trip_weights.rows if kernel.trip_weights else None


def trips_words(kernel: Kernel) -> list[str]:
    """Return what is said of the stated trips above the weighed counts, nothing where none are stated."""
    weights = kernel.trip_weights
    if weights is None:
        return []
    if weights.observed is not None:
        words = f"weighed by the runs of {plural(weights.observed.sub_groups, 'sub-group')}, as observed"
        return [f"  {each}" for each in (words, *weights.observed.notes)]
    if (kernel.loops is None or not kernel.loops.loops) and not any(weight > 1 for weight in weights.rows):
        why = "its loops are not known" if kernel.loops is None else "the kernel has no loops"
        return [f"  the trips {weights.trips} weigh nothing: {why}"]
    words = f"  weighed by the trips {weights.trips}, if every branch is taken"
    if weights.unstated:
        words += (
            f"; {plural(weights.unstated, 'loop')} without trips {'counts' if weights.unstated == 1 else 'count'} once"
        )
    return [words]


def trips_document(kernel: Kernel) -> dict[str, Any]:
    """Return the keys that say which trips are stated; none where none are."""
    weights = kernel.trip_weights
    if weights is None:
        return {}
    lines = [
        {"path": choice.path, "line": choice.line, "count": count, "is_loop": choice in weights.matched}
        for choice, count in weights.trips.of_lines
    ]
    executions = weights.observed
    return {
        "trips": {"lines": lines, "depth": weights.trips.of_others, "unstated_loops": weights.unstated},
        **(
            {"executions": {"sub_groups": executions.sub_groups, "notes": list(executions.notes)}} if executions else {}
        ),
    }
