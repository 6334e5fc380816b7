"""The counts of an interpreter on a kernel's source lines, as columns."""

from __future__ import annotations

from typing import Any

from kernlens.analysis.observed_code import observed_code
from kernlens.model.kernel import Kernel
from kernlens.report.behaviour_words import fault_sentence, line_sentences, observed_sentences
from kernlens.report.explore.packing import deltas
from kernlens.report.explore.places import Places


def observed_columns(kernel: Kernel, places: Places, *, is_redacted: bool) -> dict[str, Any] | None:
    """Return the ``observed`` of a kernel: null if nothing was observed.

    ``sentences`` say what the counts are; ``faults`` are sentences, left out where the source is redacted. ``file``, ``line``
    and the counts have an entry for each line that ran; -1: not known. ``words`` has the sentences on each line's accesses.
    """
    observed = observed_code(kernel)
    if observed is None:
        return None
    lines = [(file, counts) for key, counts in observed.lines.items() if (file := places.file(key[0])) is not None]
    faults = [] if is_redacted else [fault_sentence(each) for launch in observed.launches for each in launch.faults]
    return {
        "sentences": list(observed_sentences(observed)),
        "faults": faults,
        "width": observed.machine.width if observed.launches else None,
        "unit": observed.unit if observed.launches else None,
        "file": [file for file, _ in lines],
        "line": deltas(counts.place.line for _, counts in lines),
        "runs": [counts.runs for _, counts in lines],
        "lanes": [-1 if counts.lanes is None else round(counts.lanes, 1) for _, counts in lines],
        "requests": [counts.requests for _, counts in lines],
        "units": [counts.units for _, counts in lines],
        "ideal_units": [counts.least for _, counts in lines],
        "local_requests": [counts.local_requests for _, counts in lines],
        "waves": [_known(counts.wavefronts) for _, counts in lines],
        "ideal_waves": [_known(counts.least_wavefronts) for _, counts in lines],
        "words": [list(line_sentences(observed, (counts.place.path, counts.place.line))) for _, counts in lines],
    }


def _known(number: int | None) -> int:
    return -1 if number is None else number
