"""Is the large register file worth the threads that it costs?

https://github.com/intel/intel-xpu-backend-for-triton/issues/388
"""

from __future__ import annotations

import kernlens

sets = ["-DROWS=64", "-DROWS=64 -cl-intel-256-GRF-per-thread"]
for row in kernlens.sweep("examples/kernels/window.cl", "dg2", options=sets).table:
    print(row["options"], row["grf_count"], "registers,", row["spill_stores"], "spill stores")
