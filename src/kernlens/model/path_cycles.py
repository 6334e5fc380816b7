"""The cheapest and the dearest way through a kernel, in cycles by pipe."""

from __future__ import annotations

from collections.abc import Mapping

from kernlens.dataclass import dataclass

#: The pipes that cycles are counted in: the in-order ones as the assembly's distances name them (``F@2``), the math unit,
#: the systolic array, messages, and the rest, such as ``sync``.
PIPES = ("F", "I", "L", "S", "math", "dpas", "send", "other")


@dataclass(frozen=True, slots=True)
class PathCycles:
    """The cycles of a way through the code by PIPES: those in which its instructions issue, and those in which others wait for
    them, as ``Waits`` has them: an estimate of one thread alone."""

    cycles: Mapping[str, int]

    @property
    def total(self) -> int:
        """All cycles together."""
        return sum(self.cycles.values())

    @property
    def bound(self) -> str:
        """The pipe with most cycles; empty if there are none."""
        pipe = max(PIPES, key=lambda each: self.cycles.get(each, 0))
        return pipe if self.cycles.get(pipe, 0) else ""


@dataclass(frozen=True, slots=True)
class Paths:
    """The cycles of all code, each instruction once, and of the shortest and the longest way of a lane from the kernel's begin
    to an end, on which each loop runs at most once. ``origin`` are the words on what the cycles are."""

    whole: PathCycles
    shortest: PathCycles
    longest: PathCycles
    origin: str
