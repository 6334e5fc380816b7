"""Samples of a profiler: how often hardware found threads at each instruction of a kernel, counted by reason.

The shape is not one profiler's. A reader in ``formats/samples/`` states the reasons that its file has columns for, and for
each kernel the counts at each offset. unitrace has a row for each address; Nsight Compute's source page and rocprofv3's
thread traces have one for each instruction, with other reasons.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernlens.dataclass import dataclass, in_short

#: What a thread waits for under a reason that names another instruction: the scoreboard's token, or an in-order distance.
TOKEN, DISTANCE = "token", "distance"

#: Counts by reason, in the order of ``Samples.reasons``.
Counts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason that samples are counted by, as the profiler names it (``SbidStall``). ``is_stall``: the thread did not issue.
    ``awaits``: ``TOKEN`` or ``DISTANCE`` if it waited for another instruction through the scoreboard, else None."""

    name: str
    is_stall: bool = True
    awaits: str | None = None


@dataclass(frozen=True, slots=True)
class SampledKernel:
    """The samples of one kernel on one device. ``name`` is as the profiler prints it, C++ names demangled; ``device`` is the
    profiler's number of the device, None if the file does not state it. ``counts`` has the counts at each byte offset from
    the kernel's start; what a file has several rows for is summed."""

    name: str
    device: int | None
    counts: Mapping[int, Counts]

    def __repr__(self) -> str:
        return in_short(f"<SampledKernel {self.name} addresses={len(self.counts):,}>")

    @property
    def total(self) -> int:
        """The number of its samples, under any reason."""
        return sum(map(sum, self.counts.values()))


@dataclass(frozen=True, slots=True)
class Samples:
    """The content of a file of samples: ``profiler`` wrote it, ``kernels`` are in the file's order."""

    profiler: str
    reasons: tuple[Reason, ...]
    kernels: tuple[SampledKernel, ...]

    def __repr__(self) -> str:
        return in_short(f"<Samples of {self.profiler} kernels={len(self.kernels):,} samples={self.total:,}>")

    @property
    def total(self) -> int:
        """The number of all samples, under any reason."""
        return sum(kernel.total for kernel in self.kernels)


def summed(left: Counts, right: Counts) -> Counts:
    """Return the counts of both together."""
    return tuple(map(int.__add__, left, right))
