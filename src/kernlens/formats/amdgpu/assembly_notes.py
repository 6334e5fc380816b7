"""Notes that LLVM's code generator writes behind a kernel in its assembly for AMD's GPUs, as comments.

Source: LLVM's ``llvm/lib/Target/AMDGPU/AMDGPUAsmPrinter.cpp``.
"""

from __future__ import annotations

import re

_KERNEL_OR_NOTE = re.compile(r'^[ \t]*(?:\.amdhsa_kernel[ \t]+"?([^\s"]+)|; Occupancy: (\d{1,3})[ \t]*$)', re.MULTILINE)


def stated_occupancies(assembly: str) -> dict[str, int]:
    """Return the wavefronts that fit on a SIMD beside one another, as the compiler states them of each kernel that it does."""
    occupancies = dict[str, int]()
    kernel = None
    for name, count in _KERNEL_OR_NOTE.findall(assembly):
        if name:
            kernel = name
        elif kernel is not None:
            occupancies.setdefault(kernel, int(count))
            kernel = None
    return occupancies
