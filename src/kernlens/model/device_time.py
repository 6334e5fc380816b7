"""The device's time of a kernel's launches, by its own profiling events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernlens.dataclass import dataclass

#: The unit of times.
NANOSECONDS = "nanoseconds"


def duration(nanoseconds: int) -> str:
    """Return a time with three digits: ``812 ns``, ``15.2 us``, ``1.20 s``."""
    for size, unit in ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")):
        if nanoseconds >= size:
            value = nanoseconds / size
            return f"{value:,.{max(0, 3 - len(str(int(value))))}f} {unit}"
    return f"{nanoseconds} ns"


@dataclass(frozen=True, slots=True)
class DeviceTime:
    """The device's time of a kernel's launches: of how many it is known, and in nanoseconds their sum, their median (of the
    first four million), the first launch (of several processes the longest first one), the least and the most; None where that
    is not known. ``share`` is the part that the sum has of that of all kernels of the capture."""

    launches: int
    total_ns: int
    median_ns: int | None
    share: float
    first_ns: int | None = None
    least_ns: int | None = None
    most_ns: int | None = None

    @property
    def document(self) -> dict[str, Any]:
        """It, as documents and recordings have it."""
        return {
            "launches": self.launches,
            "total_ns": self.total_ns,
            "median_ns": self.median_ns,
            "first_ns": self.first_ns,
            "least_ns": self.least_ns,
            "most_ns": self.most_ns,
            "share": round(self.share, 4),
        }

    @property
    def told_first_ns(self) -> int | None:
        """The first launch's, if it took more than twice the median: what it did once more is then worth a column."""
        is_slow = self.first_ns is not None and self.median_ns is not None and self.first_ns > 2 * self.median_ns
        return self.first_ns if is_slow else None


def times_together(times: Sequence[DeviceTime]) -> DeviceTime:
    """Return the time of several captures of a kernel: no median is known, and who adds up all kernels sets the share."""
    firsts, leasts, mosts = (
        [number for each in times if (number := getattr(each, name)) is not None]
        for name in ("first_ns", "least_ns", "most_ns")
    )
    is_whole = len(leasts) == len(mosts) == len(times)  # An earlier kernlens did not note them.
    return DeviceTime(
        launches=sum(each.launches for each in times),
        total_ns=sum(each.total_ns for each in times),
        median_ns=None,
        share=0.0,
        first_ns=max(firsts, default=None),
        least_ns=min(leasts) if is_whole else None,
        most_ns=max(mosts) if is_whole else None,
    )
