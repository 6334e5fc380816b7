"""Ranges of variables in words: the place, and what the code does to it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from kernlens.model.kernel import Kernel
from kernlens.model.variable import HELD, OVERWRITTEN, STATED, THREAD_START, UPDATED, StatedRange
from kernlens.report.describe import plural
from kernlens.report.place_words import place_words

#: The instructions that a range names.
_MOST_WRITERS = 3


class RangeWords:
    """The words for the ranges of one kernel's variables."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def of(self, each: StatedRange) -> str:
        """Return the place of a range, and what was written there."""
        return "  ".join(filter(None, (place_words(each.location.lanes, self._register_bytes), self._state(each))))

    def _state(self, each: StatedRange) -> str:
        if each.state == STATED:
            return self._stated(each)
        if each.state == HELD and each.origin == THREAD_START:
            return "set before the code runs"
        if each.state == OVERWRITTEN:
            return self._overwritten(each)
        return f"perhaps a new value, by {self._writers(each.writers)}" if each.state == UPDATED else ""

    def _stated(self, each: StatedRange) -> str:
        how = "" if each.changed == each.size else f" for {each.changed} of its {plural(each.size, 'byte')}"
        words = f"stated by the compiler, not found in the code{how}"
        if not each.writers:
            return words
        return f"{words}: there is what {self._writers(each.writers)} wrote, which may be another value"

    def _overwritten(self, each: StatedRange) -> str:
        offsets, location = self._kernel.instructions.offsets, each.location
        within = [row for row in each.writers if location.low <= offsets[row] < location.high]
        outside = [row for row in each.writers if row not in within]
        how = "" if each.changed == each.size else f"{each.changed} of its {plural(each.size, 'byte')} "
        if not outside:
            return f"{how}overwritten by {self._writers(within)}"
        unwritten = f"on some way {how}still what {self._writers(outside)} wrote"
        return f"overwritten by {self._writers(within)}, or {unwritten}" if within else unwritten

    def _writers(self, rows: Sequence[int]) -> str:
        parts = [self._writer(row) for row in rows[:_MOST_WRITERS]]
        more = len(rows) - len(parts)
        return ", ".join(parts) + (f" and {more} more" if more else "") if parts else "what was there before"

    def _writer(self, row: int) -> str:
        instructions, source_map = self._kernel.instructions, self._kernel.source_map
        place = source_map.place(row) if source_map else None
        line = f", line {place.line}" if place else ""
        return f"{instructions.offsets[row]:#06x} ({instructions.opcodes[row]}{line})"

    @cached_property
    def _register_bytes(self) -> int | None:
        effects = self._kernel.instructions.effects
        return effects.register_bytes if effects else None
