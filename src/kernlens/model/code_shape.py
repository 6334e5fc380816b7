"""The guard of all rankings of compiles of one kernel: which of them counts of code can tell from each other.

Counts of code, and cycles estimated from it, have each loop once and each memory alike. Where two compiles have different
numbers of loops, one of them unrolled what the other did not; where one has more private memory, its arrays went there from
registers, and each access waits for memory. Then the smaller count may be the slower code, and nothing is ranked.
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


@dataclass(frozen=True, slots=True)
class CodeShape:
    """Those traits of a compiled kernel that two compiles must have in common; None is not known.

    ``width`` are the work-items of a thread, ``loops`` those in its code. ``private_bytes`` and ``stack_bytes`` are the
    thread's, ``accessed_bytes`` those of ``accessed_bytes``.
    """

    width: int | None
    loops: int | None
    private_bytes: int | None
    stack_bytes: int | None
    accessed_bytes: int | None

    def difference(self, other: CodeShape) -> str:
        """Return in words why counts of the ``other`` code cannot be compared with this one's; empty if they can."""
        if not self.width or not other.width or None in (self.loops, other.loops):
            return "loops or width are unknown"
        if self.loops != other.loops:
            return f"{other.loops} loop{'' if other.loops == 1 else 's'}, not {self.loops}"
        if bool(self.stack_bytes) != bool(other.stack_bytes):
            return "it calls functions on a stack" if other.stack_bytes else "it calls no functions on a stack"
        return self._other_memory(other, self.width, other.width)

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
