"""A search for any of many lines in a text, in time that grows with the text and not with the number of lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

#: Of so many first characters each place of a text is looked up; of as many as the shortest line has, if that has fewer.
_FIRST = 8


class LineSearch:
    """The lines that are looked for: bytes, each in the spelling of the text."""

    def __init__(self) -> None:
        self._new: set[bytes] = set()
        self._sorted: list[bytes] = []
        #: Of each the longest other that it begins with, and one that is shorter by far, by their places; -1: none. Of
        #: thousands that begin alike, any is some steps away.
        self._shorter: list[int] = []
        self._much_shorter: list[int] = []
        self._first: set[bytes] = set()
        self._size = self._longest = 0

    def add(self, line: bytes) -> None:
        """Look for this line too; it is not empty."""
        self._new.add(line)

    def places(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Yield where lines begin and end in the text, but for those that are within one before them."""
        if self._new:
            self._sort()
        first, size, longest, last = self._first, self._size, self._longest, 0
        for start in range(len(text) - size + 1 if first else 0):
            if text[start : start + size] in first:
                end = start + self._length(text[start : start + longest])
                if end > last:
                    last = end
                    yield start, end

    def _length(self, text: bytes) -> int:
        """Return the length of the longest line that the text begins with; 0 if there is none."""
        # What the text begins with is before it in order, and the nearest before it begins with that.
        place = bisect_right(self._sorted, text) - 1
        while place >= 0 and not text.startswith(self._sorted[place]):
            far = self._much_shorter[place]
            place = self._shorter[place] if far < 0 or text.startswith(self._sorted[far]) else far
        return len(self._sorted[place]) if place >= 0 else 0

    def _sort(self) -> None:
        self._sorted = sorted({*self._sorted, *self._new})
        self._new.clear()
        self._size, self._longest = min(_FIRST, *map(len, self._sorted)), max(map(len, self._sorted))
        self._first = {line[: self._size] for line in self._sorted}
        self._shorter, self._much_shorter = [], []
        above: list[int] = []
        for place, line in enumerate(self._sorted):
            while above and not line.startswith(self._sorted[above[-1]]):
                above.pop()
            self._shorter.append(above[-1] if above else -1)
            depth = len(above)
            self._much_shorter.append(above[depth & (depth - 1)] if above else -1)
            above.append(place)
