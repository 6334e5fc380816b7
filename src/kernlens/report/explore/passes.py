"""The single passes of a compile, where they were saved: the change that each made, as the difference of two texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import unified_diff
from typing import Any

from kernlens.analysis.stage_changes import KnownLines, PassStep, before_pass, pass_steps, program_lines
from kernlens.errors import KernlensError
from kernlens.model.stage import Snapshot
from kernlens.report.explore.packing import RAW_LIMIT

#: Passes whose texts have more bytes than this together are not compared: that would take minutes.
MOST_BYTES = 128 << 20
#: Differences of more lines than this, of one pass and of all together, are left out.
_MOST_LINES, _ALL_LINES = 3000, 60_000
_CONTEXT = 3
_HUNK = re.compile(r"^@@ -(\d+)(\S*) \+(\d+)(\S*) @@$")
_TOO_LARGE = "the difference is too large for this document; kernlens stages PATH --diff {pass_name} prints it"


def passes_document(snapshots: Sequence[Snapshot]) -> dict[str, Any]:
    """Return the content of the chunk of a program's passes. What cannot be compared says why in ``missing``."""
    document: dict[str, Any] = {"schema": 2, "kind": "passes", "passes": [], "missing": None}
    size = sum(snapshot.size or 0 for snapshot in snapshots if snapshot.is_pass)
    if size > MOST_BYTES:
        document["missing"] = f"the passes have {size:,} bytes, too many to compare; kernlens stages --all-passes does"
        return document
    lines, characters = _ALL_LINES, RAW_LIMIT // 8
    known: KnownLines = {}
    try:
        for step in pass_steps(snapshots, known):
            diff, missing = None, None
            if step.changed:
                diff, compared = _difference(snapshots, step.snapshot, known, min(lines, _MOST_LINES))
                lines -= compared
                characters -= len(diff or "")
                if diff is None or characters < 0:
                    diff, missing = None, _TOO_LARGE.format(pass_name=step.snapshot.stage)
            document["passes"].append(_pass(step) | {"diff": diff, "missing": missing})
    except KernlensError as error:
        document["missing"] = str(error)
    return document


def _pass(step: PassStep) -> dict[str, Any]:
    return {
        "pass": step.snapshot.stage,
        "attempt": step.snapshot.attempt,
        "names": list(step.names),
        "seconds": step.snapshot.seconds,
        "changed": step.changed,
        "added": None if step.changed is None else step.added,
        "removed": None if step.changed is None else step.removed,
    }


def _difference(
    snapshots: Sequence[Snapshot], changed: Snapshot, known: KnownLines, most: int
) -> tuple[str | None, int]:
    """Return the lines that a pass changed, with those around them, and how many were compared; None if these are more
    than ``most``. Passes leave most of a program as it was: what is alike at both ends is not compared."""
    old, new = program_lines(before_pass(snapshots, changed), known), program_lines(changed, known)
    first, room = 0, min(len(old), len(new))
    while first < room and old[first] == new[first]:
        first += 1
    last = 0
    while last < room - first and old[-1 - last] == new[-1 - last]:
        last += 1
    start, end = max(0, first - _CONTEXT), max(0, last - _CONTEXT)
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    count = max(len(old), len(new))
    if count > most:
        return None, 0
    _, _, *lines = [*unified_diff(old, new, n=_CONTEXT, lineterm="")] or ["", ""]
    return "\n".join(_HUNK.sub(lambda numbers: _moved(numbers, start), line) for line in lines), count


def _moved(numbers: re.Match[str], start: int) -> str:
    """Return the head of a group of changes, with the lines before the first one compared counted too."""
    return f"@@ -{int(numbers[1]) + start}{numbers[2]} +{int(numbers[3]) + start}{numbers[4]} @@"
