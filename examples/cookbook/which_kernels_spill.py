"""Which kernels spill registers, and how much?

https://github.com/intel/torch-xpu-ops/issues/146
"""

from __future__ import annotations

import kernlens

programs = kernlens.compile(["examples/kernels/blur.cl", "examples/kernels/window.cl"], "dg2", options="-DROWS=64")
for program in programs:
    for kernel in program.kernels:
        print(
            program.name,
            kernel.name,
            kernel.costs["spill_stores"],
            "spill stores,",
            kernel.costs["spill_store_bytes"],
            "bytes",
        )
