"""The statements of a binary on a kernel's code, apart from the code and the debug data."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class StatedCode:
    """The statements of a binary on the code of one kernel, its functions included.

    ``end`` is where the last of its symbols ends, None if none has a size. ``sites`` are the offsets at which the driver
    fills something in. ``copy`` is the code as the debug data keeps it, None if it keeps none. ``ends_thread``: a thread
    ends where it ends, as in all kernels.
    """

    end: int | None = None
    sites: Sequence[int] = ()
    copy: memoryview | None = None
    ends_thread: bool = True
