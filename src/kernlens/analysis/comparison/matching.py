"""The items that two sequences have in common, in time that no input can stretch.

Texts and machine code are matched as ``git diff --patience`` does it: at what stands once in both, and between those
places by Myers's algorithm ("An O(ND) Difference Algorithm and Its Variations", 1986). ``difflib`` takes quadratic time
and more where items repeat, as instructions do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence

#: Items that may be looked at, for each item of both sequences and for any; what is not matched by then counts as
#: changed. Honest kernels need five for each.
_STEPS_PER_ITEM = 64
_FREE_STEPS = 20_000
#: The most insertions and deletions that Myers's algorithm looks for between two places.
_MOST_EDITS = 256

Pair = tuple[int, int]
#: From and up to which index, of the old and of the new sequence.
_Segment = tuple[int, int, int, int]


def common_pairs(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Pair]:
    """Return pairs of indexes at which the sequences hold equal items, both ascending."""
    return _Matching(old, new).pairs


class _Matching:
    def __init__(self, old: Sequence[Hashable], new: Sequence[Hashable]) -> None:
        numbers: dict[Hashable, int] = {}
        self._old = [numbers.setdefault(item, len(numbers)) for item in old]
        self._new = [numbers.setdefault(item, len(numbers)) for item in new]
        self._steps = _FREE_STEPS + _STEPS_PER_ITEM * (len(old) + len(new))
        self.pairs: list[Pair] = []
        waiting = [(0, len(old), 0, len(new))]
        while waiting:
            waiting += self._match(waiting.pop())
        self.pairs.sort()

    def _match(self, segment: _Segment) -> list[_Segment]:
        """Match what can be matched at once, and return the segments that are left to do."""
        old_start, old_end, new_start, new_end = self._trimmed(segment)
        self._steps -= old_end - old_start + new_end - new_start
        if old_start == old_end or new_start == new_end or self._steps < 0:
            return []
        anchors = self._anchors(old_start, old_end, new_start, new_end)
        if not anchors:
            self.pairs += self._fewest_edits(old_start, old_end, new_start, new_end)
            return []
        self.pairs += anchors
        starts = [(old_start, new_start), *((before + 1, after + 1) for before, after in anchors)]
        ends = [*anchors, (old_end, new_end)]
        return [(start[0], end[0], start[1], end[1]) for start, end in zip(starts, ends, strict=True)]

    def _trimmed(self, segment: _Segment) -> _Segment:
        """Match what a segment begins and ends with on both sides, and return the rest."""
        old, new = self._old, self._new
        old_start, old_end, new_start, new_end = segment
        while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
            self.pairs.append((old_start, new_start))
            old_start += 1
            new_start += 1
        while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
            old_end -= 1
            new_end -= 1
            self.pairs.append((old_end, new_end))
        return old_start, old_end, new_start, new_end

    def _anchors(self, old_start: int, old_end: int, new_start: int, new_end: int) -> list[Pair]:
        """Return the longest ascending run of what stands once in both."""
        old, new = self._old, self._new
        old_counts, new_counts = Counter(old[old_start:old_end]), Counter(new[new_start:new_end])
        place_of = {new[index]: index for index in range(new_start, new_end) if new_counts[new[index]] == 1}
        both = [
            (index, place_of[old[index]])
            for index in range(old_start, old_end)
            if old_counts[old[index]] == 1 and old[index] in place_of
        ]
        lengths: list[int] = []  # the lowest place at which a run of each length ends
        ends: list[int] = []
        before: list[int] = []
        for number, (_, place) in enumerate(both):
            length = bisect_left(lengths, place)
            lengths[length : length + 1] = [place]
            ends[length : length + 1] = [number]
            before.append(ends[length - 1] if length else -1)
        run: list[Pair] = []
        number = ends[-1] if ends else -1
        while number >= 0:
            run.append(both[number])
            number = before[number]
        return run[::-1]

    def _fewest_edits(self, old_start: int, old_end: int, new_start: int, new_end: int) -> list[Pair]:
        """Return the pairs that the fewest insertions and deletions leave; none if they are too many."""
        old, new = self._old, self._new
        old_size, new_size = old_end - old_start, new_end - new_start
        reach = {1: 0}
        trace: list[dict[int, int]] = []
        for edits in range(min(old_size + new_size, _MOST_EDITS) + 1):
            trace.append(dict(reach))
            for diagonal in range(-edits, edits + 1, 2):
                x = _next_x(reach, diagonal, edits)
                begun = x
                y = x - diagonal
                while x < old_size and y < new_size and old[old_start + x] == new[new_start + y]:
                    x += 1
                    y += 1
                self._steps -= 1 + x - begun
                reach[diagonal] = x
                if x >= old_size and diagonal == old_size - new_size:
                    return _path(trace, old_start, old_size, new_start, new_size)
            if self._steps < 0:
                break
        return []


def _next_x(reach: dict[int, int], diagonal: int, edits: int) -> int:
    down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
    return reach[diagonal + 1] if down else reach[diagonal - 1] + 1


def _path(trace: list[dict[int, int]], old_start: int, x: int, new_start: int, y: int) -> list[Pair]:
    """Return the matches on the way back from the end."""
    pairs: list[Pair] = []
    for edits in range(len(trace) - 1, -1, -1):
        reach, diagonal = trace[edits], x - y
        begun = _next_x(reach, diagonal, edits)
        while x > begun:
            x -= 1
            y -= 1
            pairs.append((old_start + x, new_start + y))
        if edits:
            came_down = begun == reach.get(diagonal + 1) and (
                diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
            )
            x, y = (x, y - 1) if came_down else (x - 1, y)
    return pairs
