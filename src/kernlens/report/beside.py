"""Figures beside the lines and instructions of a listing: a profiler's samples, the compiler's estimate of waits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Beside(Protocol):
    """Further things known of a kernel: sentences above its lines, a column beside them, lines below them, and notes behind
    instructions. ``heading`` is that of the column, empty if there is none; ``meaning`` explains its numbers."""

    @property
    def heading(self) -> str: ...

    @property
    def meaning(self) -> str: ...

    def above(self) -> Iterable[str]:
        """Return the lines below the kernel's heading."""
        ...

    def of_line(self, path: str, line: int) -> str:
        """Return the column's cell of a source line, as wide as the heading."""
        ...

    def below(self, path: str, line: int) -> Iterable[str]:
        """Return the lines below a source line, before its instructions."""
        ...

    def rows(self) -> Iterable[tuple[int, str]]:
        """Return the indexes of instructions that have a note, with the note."""
        ...
