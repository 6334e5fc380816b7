"""The statements of a binary on a kernel's code, apart from the code and the debug data."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class StatedCode:
    """The statements of a binary on the code of one kernel, its functions included.

    ``end`` is where the last of its symbols ends, None if none has a size. ``sites`` are the offsets at which the driver
    fills something in, each with the places in an instruction at which such a field may be. ``copy`` is the code as the
    debug data keeps it, None if it keeps none. ``has_nop``: its compilers may put a ``nop`` behind the end of the thread.
    ``ends_differ``: some of the binary's kernels end with a ``nop``, others do not, which no compiler does.
    """

    end: int | None = None
    sites: Sequence[tuple[int, tuple[int, ...]]] = ()
    copy: memoryview | None = None
    has_nop: bool = True
    ends_differ: bool = False
