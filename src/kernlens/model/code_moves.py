"""Where a kernel's instructions went when its code was edited."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from kernlens.dataclass import dataclass, field


@dataclass(frozen=True, eq=False)
class CodeMoves:
    """The rows of old code and of new. ``origins`` has for each new row the old one that it is, or was changed from; None for
    a new instruction. Sizes are in bytes, offsets from the code's start; ``old_offsets`` and ``new_offsets`` end with the
    code's size."""

    old_offsets: Sequence[int] = field(repr=False)
    new_offsets: Sequence[int] = field(repr=False)
    origins: Sequence[int | None] = field(repr=False)

    @property
    def old_size(self) -> int:
        """The bytes of the old code."""
        return self.old_offsets[-1]

    @property
    def new_size(self) -> int:
        """The bytes of the new code."""
        return self.new_offsets[-1]

    @cached_property
    def is_still(self) -> bool:
        """True if every instruction is where it was, and no other."""
        return list(self.origins) == list(range(len(self.old_offsets) - 1)) and (
            list(self.old_offsets) == list(self.new_offsets)
        )

    def boundary(self, offset: int) -> int:
        """Return where the place before the old instruction at ``offset`` is now. What was inserted there stands before it;
        of what has another order now, what was moved does not count. The code's start stays its start."""
        if offset <= 0:
            return offset
        if offset >= self.old_size:
            return offset - self.old_size + self.new_size
        olds, news = self._in_order
        at = bisect_left(olds, offset)
        return news[at] if at < len(olds) else self.new_size

    def row_of(self, offset: int) -> int | None:
        """Return the old row whose bytes ``offset`` is one of, None if none has it."""
        if not 0 <= offset < self.old_size:
            return None
        at = bisect_left(self.old_offsets, offset)
        return at if self.old_offsets[at] == offset else at - 1

    @cached_property
    def new_row_of(self) -> dict[int, int]:
        """Old row -> the first new row that it is."""
        rows: dict[int, int] = {}
        for row, origin in enumerate(self.origins):
            if origin is not None:
                rows.setdefault(origin, row)
        return rows

    @cached_property
    def _in_order(self) -> tuple[list[int], list[int]]:
        """The old and new offsets of the longest run of rows that are still in their order."""
        tails: list[int] = []  # The least old row that ends a run of each length.
        ends: list[int] = []  # The new row of each of these.
        before: dict[int, int] = {}
        for row, origin in enumerate(self.origins):
            if origin is None:
                continue
            at = bisect_left(tails, origin)
            if at == len(tails):
                tails.append(origin)
                ends.append(row)
            else:
                tails[at], ends[at] = origin, row
            if at:
                before[row] = ends[at - 1]
        rows = []
        row_or_none = ends[-1] if ends else None
        while row_or_none is not None:
            rows.append(row_or_none)
            row_or_none = before.get(row_or_none)
        rows.reverse()
        olds = [self.old_offsets[origin] for row in rows if (origin := self.origins[row]) is not None]
        return olds, [self.new_offsets[row] for row in rows]
