"""What does pow cost, and what would a native function?

https://github.com/darktable-org/darktable/pull/3797
"""

from __future__ import annotations

import kernlens

for piece in kernlens.advise("examples/kernels/tone.cl", device="dg2").table:
    print(piece["path"], piece["line"], piece["sentence"])
