"""The chunk of an ``explore`` document with the compiler's single passes, and what each of them changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernlens.analysis.stage_changes import KnownLines, PassStep, before_pass, difference, pass_steps
from kernlens.errors import KernlensError
from kernlens.model.stage import Snapshot
from kernlens.report.explore.packing import RAW_LIMIT, within

#: Characters of one pass's change, and of all of them: each may take six bytes in JSON.
_OF_ONE, _OF_ALL = RAW_LIMIT // 64, RAW_LIMIT // 8


def passes_document(snapshots: Sequence[Snapshot], redacted: Callable[[str], str] | None) -> dict[str, Any]:
    """What the chunk holds; ``redacted`` leaves source text out of a text.

    Neighbouring passes that changed nothing are one entry. ``diff`` is what a pass changed, as a unified diff; null if
    nothing did, if only a part of the program was dumped, or if it is too much to be shown.
    """
    entries: list[dict[str, Any]] = []
    left = _OF_ALL
    known: KnownLines = {}
    for step in pass_steps(snapshots, known):
        text = _difference(snapshots, step, known) if left > 0 else None
        if text is not None:
            text = within(text if redacted is None else redacted(text), min(_OF_ONE, left))
            left -= len(text)
        entries.append(
            {
                "pass": step.snapshot.stage,
                "attempt": step.snapshot.attempt,
                "names": list(step.names),
                "changed": step.changed,
                "added": step.added,
                "removed": step.removed,
                "diff": text,
            }
        )
    return {"schema": 2, "kind": "passes", "passes": entries}


def _difference(snapshots: Sequence[Snapshot], step: PassStep, known: KnownLines) -> str | None:
    if not step.changed:
        return None
    try:
        return "\n".join(difference(before_pass(snapshots, step.snapshot), step.snapshot, known))
    except KernlensError:
        return None  # the texts are too large to compare; the counts say that there is a change
