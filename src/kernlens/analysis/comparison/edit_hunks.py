"""The hunks of an edit: the places of a file that differ, and its text with one of them alone or without it."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.analysis.comparison.kernel_changes import KernelChange
from kernlens.analysis.comparison.matching import common_pairs
from kernlens.analysis.comparison.pairs import Pairing
from kernlens.dataclass import dataclass

#: Equal lines between two hunks of ``git diff``, which are one if there are no more.
_CONTEXT = 6


@dataclass(frozen=True, slots=True, order=True)
class Hunk:
    """A place of a file that differs: ``path`` is the file on the new side, and the indexes of lines, from 0, are those of its
    first line and behind its last one on each side."""

    path: str
    new_start: int
    new_end: int
    old_start: int
    old_end: int

    @property
    def line(self) -> int:
        """Its first line on the new side; where it only removes lines, the line behind these."""
        return self.new_start + 1


@dataclass(frozen=True, slots=True)
class HunkChange:
    """The effect of a hunk by itself: ``changes`` are the kernels that differ between the old side and the same with this hunk
    alone or, if that does not compile, between the new side without this hunk and the new side (``is_left_out``), the
    worst first; ``pairing`` has the kernels that it adds and removes. ``failure`` says why nothing was compared."""

    hunk: Hunk
    changes: tuple[KernelChange, ...] = ()
    pairing: Pairing = Pairing((), (), ())
    is_left_out: bool = False
    failure: str = ""

    @property
    def is_silent(self) -> bool:
        """True if it changes no kernel."""
        return not (self.changes or self.pairing.only_old or self.pairing.only_new or self.failure)


def hunks_between(path: str, old: str, new: str, most: int) -> list[Hunk]:
    """Return the hunks of a file, line by line. If there are more than ``most``, those near each other are one, as ``git diff``
    has them."""
    sides = old.split("\n"), new.split("\n")
    every = _hunks(path, *sides, 0)
    return every if len(every) <= most else _hunks(path, *sides, _CONTEXT)


def _hunks(path: str, old: Sequence[str], new: Sequence[str], context: int) -> list[Hunk]:
    stripped = [[line.rstrip() for line in side] for side in (old, new)]
    hunks: list[Hunk] = []
    before = (-1, -1)
    for both in [*common_pairs(*stripped), (len(old), len(new))]:
        start = before[0] + 1, before[1] + 1
        before = both
        if start == both:
            continue
        if hunks and start[1] - hunks[-1].new_end <= context:
            last = hunks.pop()
            start = last.old_start, last.new_start
        hunks.append(Hunk(path, start[1], both[1], start[0], both[0]))
    return hunks


def text_with(hunk: Hunk, old: str, new: str) -> str:
    """Return the old text with this hunk alone."""
    before, after = old.split("\n"), new.split("\n")
    return "\n".join([*before[: hunk.old_start], *after[hunk.new_start : hunk.new_end], *before[hunk.old_end :]])


def text_without(hunk: Hunk, old: str, new: str) -> str:
    """Return the new text without this hunk."""
    before, after = old.split("\n"), new.split("\n")
    return "\n".join([*after[: hunk.new_start], *before[hunk.old_start : hunk.old_end], *after[hunk.new_end :]])
