"""The counts of an interpreter on a kernel's source lines, as columns."""

from __future__ import annotations

from typing import Any

from kernlens.analysis.observed_code import observed_code
from kernlens.model.kernel import Kernel
from kernlens.report.behaviour_words import count_words, fault_sentence, line_sentences, observed_sentences
from kernlens.report.explore.packing import deltas
from kernlens.report.explore.places import Places


def observed_columns(kernel: Kernel, places: Places, *, is_redacted: bool) -> dict[str, Any] | None:
    """Return the ``observed`` of a kernel: null if nothing was observed.

    ``sentences`` say what the counts are; ``faults`` are sentences, left out where the source is redacted. ``file``, ``line``
    and the counts have an entry for each line that ran: ``runs`` by work-items, ``moved`` bytes of global memory, ``idle``
    lanes of a sub-group on average, 0 where they are not known. ``words`` has the sentences on each line.
    """
    observed = observed_code(kernel)
    if observed is None:
        return None
    lines = [(file, counts) for key, counts in observed.lines.items() if (file := places.file(key[0])) is not None]
    faults = [] if is_redacted else list(map(fault_sentence, observed.faults))
    return {
        "sentences": list(observed_sentences(observed)),
        "faults": faults,
        "file": [file for file, _ in lines],
        "line": deltas(counts.place.line for _, counts in lines),
        "runs": [counts.runs for _, counts in lines],
        "moved": [counts.units * observed.unit for _, counts in lines],
        "idle": [0 if counts.lanes is None else round(observed.machine.width - counts.lanes, 1) for _, counts in lines],
        "words": [
            [count_words(counts, observed), *line_sentences(observed, (counts.place.path, counts.place.line))]
            for _, counts in lines
        ],
    }
