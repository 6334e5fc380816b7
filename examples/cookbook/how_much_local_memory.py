"""How much local memory does a kernel take, and how large may its work-groups be?

https://github.com/intel/compute-runtime/issues/186
"""

from __future__ import annotations

import kernlens

(program,) = kernlens.compile("examples/kernels/blur.cl", "dg2")
for kernel in program.kernels:
    print(kernel.name, kernel.resources.slm_bytes, "bytes of local memory,", end=" ")
    print("work-groups of at most", kernel.launch_limits.max_work_group)
