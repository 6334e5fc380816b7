"""The machine code of a kernel, with the source line of each instruction.

https://github.com/intel/opencl-intercept-layer/issues/310
"""

from __future__ import annotations

import kernlens

(program,) = kernlens.compile("examples/kernels/blur.cl", "dg2")
kernel = program.kernels["blur"]
for instruction in kernel.instructions:
    place = kernel.source_map.place_at(instruction.offset) if kernel.source_map else None
    print(f"{instruction.offset:#06x} {place.line if place else '':>4} {instruction.text}")
