"""The loops of a kernel's code, as its branches make them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cached_property

from kernlens.dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop, by the indexes of its instructions.

    ``header`` are the rows of the block that every round begins with, ``back_rows`` the branches (or last rows of
    blocks) that lead back to it. ``depth`` is 1 for an outermost loop; ``parent`` is the number of the loop around it,
    None for an outermost one; the loops inside it have the numbers behind its own up to ``last``, its own if there are
    none. ``is_irreducible``: lanes also enter it at other rows than the header, which is the entry that code comes to first.
    """

    header: range
    back_rows: tuple[int, ...]
    parent: int | None
    depth: int
    last: int
    is_irreducible: bool = False


@dataclass(frozen=True)
class Loops:
    """The loops of a kernel, each before those inside it.

    A loop is one of a function's own code: a call in it is one of its rows, the called function's rows are not.
    ``innermost`` is for each row the number of the innermost loop that holds it, -1 outside loops. ``blocks`` are the
    rows of each basic block in the order of the code.
    """

    loops: Sequence[Loop]
    innermost: Sequence[int] = field(repr=False)
    blocks: Sequence[range] = field(repr=False)

    @cached_property
    def depths(self) -> array[int]:
        """The number of loops around each row."""
        depth_of = [*(loop.depth for loop in self.loops), 0]  # -1 counts from the list's end.
        return array("I", map(depth_of.__getitem__, self.innermost))

    def holds(self, number: int, row: int) -> bool:
        """Return whether ``row`` is in the loop ``number``."""
        return number <= self.innermost[row] <= self.loops[number].last

    def rows(self, number: int) -> list[range]:
        """Return the rows of the loop ``number``, those of the loops inside it too, as ascending ranges that do not touch."""
        ranges: list[range] = []
        for block in self.blocks:
            if not self.holds(number, block.start):
                continue
            if ranges and ranges[-1].stop == block.start:
                ranges[-1] = range(ranges[-1].start, block.stop)
            else:
                ranges.append(block)
        return ranges
