"""Fail if a kernel spills: no registers may be spilled.

https://github.com/tinygrad/tinygrad/pull/3641
"""

from __future__ import annotations

import kernlens

verdict = kernlens.check("examples/kernels/blur.cl", device="dg2", max_spill_bytes=0)
for finding in verdict.findings:
    print(finding.kernel.name, finding.figure.key, finding.value, finding.state)
assert verdict.ok
