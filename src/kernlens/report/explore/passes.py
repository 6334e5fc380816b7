"""The single passes of a compile, where they were saved: what each changed of a kernel, as the difference of two texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any

from kernlens.analysis.line_passes import VALUE_NUMBER
from kernlens.analysis.pass_times import NO_TIMES, pass_times
from kernlens.analysis.stage_changes import CodeLine, KnownLines, code_lines, line_counts
from kernlens.errors import KernlensError
from kernlens.model.stage import Snapshot
from kernlens.model.stage_text import PassPart, StageTexts
from kernlens.report.explore.packing import RAW_LIMIT

#: Passes whose texts have more bytes than this together are not compared: that would take minutes.
MOST_BYTES = 128 << 20
#: Differences of more lines than this, of one pass and of all passes of a kernel together, are left out.
_MOST_LINES, _ALL_LINES = 3000, 60_000
_CONTEXT = 3
_HUNK = re.compile(r"^@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@$")
_TOO_LARGE = "the difference is too large for this document; kernlens stages PATH --diff {pass_name} prints it"

#: A line, and its instructions: how often each stands in each function.
_Instructions = dict[tuple[str, int], Counter[tuple[str, str]]]


def passes_documents(
    texts: StageTexts, snapshots: Sequence[Snapshot], kernels: Sequence[str]
) -> Mapping[str, dict[str, Any]]:
    """Return the content of the chunk of each kernel's passes. What cannot be compared says why in ``missing``."""
    size = sum(snapshot.size or 0 for snapshot in snapshots if snapshot.is_pass)
    missing = None
    passes = {kernel: _KernelPasses() for kernel in kernels}
    if size > MOST_BYTES:
        missing = f"the passes have {size:,} bytes, too many to compare; kernlens stages --all-passes does"
    else:
        try:
            for text in texts.passes(kernels):
                for kernel, part in text.parts.items():
                    passes[kernel].add(text.name, text.attempt, part if text.is_whole else None)
        except KernlensError as error:
            missing = str(error)
    times = pass_times(snapshots)
    return {
        kernel: {
            "schema": 2,
            "kind": "passes",
            **of_kernel.document(),
            "times": times,
            "no_times": None if times else NO_TIMES,
            "missing": missing,
        }
        for kernel, of_kernel in passes.items()
    }


class _KernelPasses:
    """The passes of one kernel, as they come."""

    def __init__(self) -> None:
        self._known: KnownLines = {}
        self._part: PassPart | None = None
        self._before: list[CodeLine] = []
        self._instructions: _Instructions = {}
        self._unchanged: list[str] = []
        self._attempt = 0
        self._entries: list[dict[str, Any]] = []
        self._files: dict[str, int] = {}
        self._lines, self._characters = _ALL_LINES, RAW_LIMIT // 8

    def document(self) -> dict[str, Any]:
        """Return what is known of them by now."""
        self._fold()
        return {"files": list(self._files), "passes": self._entries}

    def add(self, name: str, attempt: int, part: PassPart | None) -> None:
        """Add the kernel as a pass left it; None if that was not dumped."""
        self._attempt = attempt
        if part is None:
            self._fold()
            self._entries.append(_entry(name, attempt, None))
            return
        if part is self._part:  # To the letter what it was.
            self._unchanged.append(name)
            return
        before, instructions = self._before, self._instructions
        self._part, self._before = part, code_lines(part.rows, self._known)
        self._instructions = _of_lines(part)
        if not name:
            return
        added, removed = line_counts(before, self._before)
        if not added and not removed and before == self._before:
            self._unchanged.append(name)
            return
        self._fold()
        diff, compared = _difference(before, self._before, min(self._lines, _MOST_LINES))
        self._lines -= compared
        self._characters -= len(diff or "")
        missing = None
        if diff is None or self._characters < 0:
            diff, missing = None, _TOO_LARGE.format(pass_name=name)
        lines = sorted(
            (self._files.setdefault(path, len(self._files)), line)
            for path, line in instructions.keys() | self._instructions.keys()
            if instructions.get((path, line)) != self._instructions.get((path, line))
        )
        self._entries.append(
            _entry(name, attempt, True)
            | {"added": added, "removed": removed, "lines": [list(line) for line in lines]}
            | {"diff": diff, "missing": missing}
        )

    def _fold(self) -> None:
        """Add the passes without effect that came one after the other as one entry."""
        if self._unchanged:
            names, self._unchanged = self._unchanged, []
            self._entries.append(_entry(names[-1], self._attempt, False) | {"names": names, "added": 0, "removed": 0})


def _entry(name: str, attempt: int, changed: bool | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"pass": name, "attempt": attempt, "names": [name], "changed": changed}
    return entry | {"added": None, "removed": None, "lines": [], "diff": None, "missing": None}


def _of_lines(part: PassPart) -> _Instructions:
    lines: _Instructions = {}
    for path, line, function, text in part.instructions:
        counts = lines.setdefault((path, line), Counter())
        counts[function, VALUE_NUMBER.sub("", text).strip()] += 1
    return lines


def _difference(old: Sequence[CodeLine], new: Sequence[CodeLine], most: int) -> tuple[str | None, int]:
    """Return the lines that a pass changed, with those around them, and how many were compared; None if these are more
    than ``most``. Passes leave most of a kernel as it was: what is alike at both ends is not compared."""
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
