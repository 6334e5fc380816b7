"""The guard of all rankings of compiles of one kernel: which of them counts of code can tell from each other.

Counts of code, and cycles estimated from it, have each loop once and each memory alike. Where two compiles have different
numbers of loops, or a loop accesses more in a round, one of them unrolled what the other did not; where one has more private
memory, its arrays went there from registers, and each access waits for memory; where a work-item stores more, it may make more
results. Then the smaller count may be the slower code, and nothing is ranked. Nor is it where one issues fewer cycles and the
other waits for fewer: which is faster depends on how many threads hide the waits.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernlens.dataclass import dataclass
from kernlens.model.kernel_resources import KernelResources

_WAYS = ("load_bytes", "store_bytes")
#: The costs of a kernel that are bytes of global memory and of the thread's own, where private memory lies.
_ACCESSES = tuple(f"{space}_{way}" for space in ("global", "scratch") for way in _WAYS)
_SPILLS = tuple(f"spill_{way}" for way in _WAYS)
#: Private memory and stack of a thread, and the bytes of ``accessed_bytes``.
Memory = tuple[int | None, int | None, int | None]
#: The cycles of a work-item to issue, and with those to wait.
Cycles = tuple[float, float]


@dataclass(frozen=True, slots=True)
class CodeShape:
    """Those traits of a compiled kernel that two compiles must have in common; None is not known.

    ``width`` are the work-items of a thread, ``loops`` those in its code. ``private_bytes`` and ``stack_bytes`` are the
    thread's, ``accessed_bytes`` those of ``accessed_bytes``. ``nest`` is what ``analysis.loop_shapes`` says of its loops, ""
    where nobody asked it.
    """

    width: int | None
    loops: int | None
    private_bytes: int | None
    stack_bytes: int | None
    accessed_bytes: int | None
    nest: str = ""

    def difference(self, other: CodeShape) -> str:
        """Return in words why counts of the ``other`` code cannot be compared with this one's; empty if they can."""
        if not self.width or not other.width or None in (self.loops, other.loops):
            return "loops or width are unknown"
        if self.loops != other.loops:
            return f"{other.loops} loop{'' if other.loops == 1 else 's'}, not {self.loops}"
        if bool(self.stack_bytes) != bool(other.stack_bytes):
            return "it calls functions on a stack" if other.stack_bytes else "it calls no functions on a stack"
        return self._other_memory(other, self.width, other.width) or self._other_nest(other, self.width, other.width)

    def _other_nest(self, other: CodeShape, width: int, other_width: int) -> str:
        """Return in words which loop runs other rounds, or that a work-item stores more; empty if that is not so."""
        if not self.nest or not other.nest:
            return ""
        own, others = _parts(self.nest), _parts(other.nest)
        (before,), (after,) = own[0], others[0]
        if before * other_width != after * width:
            each, was = after / other_width, before / width
            return f"a work-item stores {each:,.0f} bytes outside loops, not {was:,.0f}: it may make more results, or fewer"
        for number, (loop, new) in enumerate(zip(own[1:], others[1:], strict=True), 1):
            (depth, accessed, code), (new_depth, new_accessed, new_code) = loop, new
            if depth != new_depth:
                return f"loop {number} is inside {new_depth - 1} others, not {depth - 1}"
            if accessed * other_width != new_accessed * width:
                each, was = new_accessed / other_width, accessed / width
                return f"loop {number} accesses {each:,.0f} bytes per work-item in a round, not {was:,.0f}: rounds may differ"
            # Twice a smaller body can have as many instructions as another one; for half the width it has as many for each
            # work-item. What computes is the same in no other number of rounds.
            if not accessed and (code != new_code or width != other_width):
                return f"loop {number} accesses no memory, and it computes otherwise: rounds may differ"
        return ""

    def _other_memory(self, other: CodeShape, width: int, other_width: int) -> str:
        if self.private_bytes is not None and other.private_bytes is not None:
            before, after = self.private_bytes / width, other.private_bytes / other_width
            return "" if before == after else f"{after:,.0f} bytes of private memory per work-item, not {before:,.0f}"
        # Where the binary has one sum of spills and private memory, an array that went to memory shows in the messages.
        if self.accessed_bytes is None or other.accessed_bytes is None:
            return "private memory is unknown"
        before, after = self.accessed_bytes / width, other.accessed_bytes / other_width
        if before == after:
            return ""
        return f"its messages access {after:,.0f} bytes per work-item, not {before:,.0f}, and private memory is unknown"


def _parts(nest: str) -> list[tuple[int, ...]]:
    """Return the numbers of a nest: the bytes stored outside loops, then for each loop its depth, bytes and arithmetic."""
    return [tuple(map(int, part.split(","))) for part in nest.split(";")]


def undecided(before: Cycles | None, after: Cycles | None) -> str:
    """Return in words why neither of two compiles is known to be the faster one, by the cycles of a work-item; empty if the
    order is the same with threads that hide all waits and with none, or cycles are not known."""
    if before is None or after is None:
        return ""
    (issue, cycles), (new_issue, new_cycles) = before, after
    if (new_issue - issue) * (new_cycles - cycles) >= 0:
        return ""
    waits, new_waits = cycles - issue, new_cycles - new_issue
    return (
        f"it issues for {new_issue:,.1f} cycles per work-item, not {issue:,.1f}, and waits for {new_waits:,.1f}, not"
        f" {waits:,.1f}: which is faster depends on the threads"
    )


def accessed_bytes(costs: Mapping[str, int | None]) -> int | None:
    """Return the bytes of global and own memory that a thread's messages access at most, spills aside; None if the costs do
    not tell."""
    accesses, spills = [costs.get(key) for key in _ACCESSES], [costs.get(key) for key in _SPILLS]
    if None in accesses or None in spills:
        return None
    return sum(value or 0 for value in accesses) - sum(value or 0 for value in spills)


def memory_of(resources: KernelResources, costs: Mapping[str, int | None]) -> Memory:
    """Return the memory of a kernel's thread, as its ``CodeShape`` has it."""
    return resources.private_bytes, resources.stack_bytes, accessed_bytes(costs)
