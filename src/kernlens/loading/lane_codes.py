"""The code of a program's kernels as it concerns addresses, from the SPIR-V module that the program was made from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from kernlens.formats.spirv.magic import is_spirv
from kernlens.loading.context import Context

if TYPE_CHECKING:
    from kernlens.model.lane_code import LaneCode


def lane_codes(context: Context) -> Callable[[str], LaneCode | None]:
    """Return what reads a kernel's code; the module is read when it is called first. It returns None where there is no such
    module or kernel, and raises FormatError for a damaged module."""

    @cache
    def read() -> Callable[[str], LaneCode | None]:
        from kernlens.formats.spirv.kernel_code import KernelCodes

        spirv = memoryview(context.build.spirv)
        return KernelCodes(spirv).code if is_spirv(spirv) else lambda kernel: None

    # Several answers ask for a kernel's code one after the other.
    return lru_cache(maxsize=1)(lambda kernel: read()(kernel))
