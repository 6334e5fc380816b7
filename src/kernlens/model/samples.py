"""Samples of a profiler: how often hardware found threads at each instruction of a kernel, counted by reason.

The shape is not one profiler's. A reader in ``formats/samples/`` states the reasons that its file has columns for, and for
each kernel the counts at each offset. unitrace has a row for each address; Nsight Compute's source page and rocprofv3's
thread traces have one for each instruction, with other reasons.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernlens.dataclass import dataclass, field, in_short

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
    the kernel's start; what a file has several rows for is summed. ``measured`` has further counts at each offset, in the order
    of ``Samples.measures``. ``texts`` are the instructions as the profiler prints them, empty if it prints none; offsets count
    from the first of them, which was loaded at ``address``."""

    name: str
    device: int | None
    counts: Mapping[int, Counts]
    measured: Mapping[int, Counts] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)
    address: int = 0

    def __repr__(self) -> str:
        return in_short(f"<SampledKernel {self.name} addresses={len(self.counts):,}>")

    def moved(self, start: int) -> SampledKernel:
        """Return it with offsets from ``start`` bytes before its first instruction."""
        counts = {start + offset: each for offset, each in self.counts.items()}
        measured = {start + offset: each for offset, each in self.measured.items()}
        texts = {start + offset: text for offset, text in self.texts.items()}
        return SampledKernel(self.name, self.device, counts, measured, texts, self.address - start)

    @property
    def total(self) -> int:
        """The number of its samples, under any reason."""
        return sum(map(sum, self.counts.values()))


@dataclass(frozen=True, slots=True)
class Samples:
    """The content of a file of samples: ``profiler`` wrote it, ``kernels`` are in the file's order. ``measures`` are the
    profiler's names of what it counted beside samples."""

    profiler: str
    reasons: tuple[Reason, ...]
    kernels: tuple[SampledKernel, ...]
    measures: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return in_short(f"<Samples of {self.profiler} kernels={len(self.kernels):,} samples={self.total:,}>")

    @property
    def total(self) -> int:
        """The number of all samples, under any reason."""
        return sum(kernel.total for kernel in self.kernels)


def summed(left: Counts, right: Counts) -> Counts:
    """Return the counts of both together."""
    return tuple(map(int.__add__, left, right))


def padded(counts: Counts, width: int) -> Counts:
    """Return counts with zeros for further columns."""
    return counts + (0,) * (width - len(counts))
