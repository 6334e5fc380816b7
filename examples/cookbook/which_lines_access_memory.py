"""Which lines move most memory?

https://github.com/intel/compute-runtime/issues/290
"""

from __future__ import annotations

import kernlens

lines = kernlens.annotate("examples/kernels/blur.cl", device="dg2").lines
for row in sorted(lines, key=lambda row: -int(row["global_load_bytes"] or 0))[:3]:
    print(row["line"], row["global_load_bytes"], "bytes loaded:", row["source"])
