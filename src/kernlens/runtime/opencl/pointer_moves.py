"""Addresses of allocations that a launch had, and has when it runs again: pointers in its memory are changed from one to the
other, and back before results are compared.

A word of 8 bytes, at a place that 8 divides, whose value lies in an allocation is taken for a pointer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

_WORD = 8


class PointerMoves:
    """Allocations by their old address, size and new address."""

    def __init__(self, moves: Sequence[tuple[int, int, int]]) -> None:
        self._moves = sorted(moves)
        self._starts = [start for start, _, _ in self._moves]
        self._end = max((start + size for start, size, _ in self._moves), default=-1)

    def back(self) -> PointerMoves:
        """Return the moves from the new addresses to the old ones."""
        return PointerMoves([(new, size, old) for old, size, new in self._moves])

    def moved(self, address: int) -> int | None:
        """Return the new address; None if it lies in no allocation. The end of one counts as in it."""
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        start, size, new = self._moves[place]
        return new + address - start if address <= start + size else None

    def apply(self, content: bytearray) -> None:
        """Change the pointers in a content."""
        if not self._moves or len(content) < _WORD:
            return
        first, last = self._starts[0], self._end
        with memoryview(content)[: len(content) // _WORD * _WORD].cast("Q") as words:
            places = [place for place, word in enumerate(words) if first <= word <= last]
            for place in places:
                moved = self.moved(words[place])
                if moved is not None:
                    words[place] = moved
