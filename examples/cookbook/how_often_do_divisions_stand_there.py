"""Which costs does a kernel have: integer arithmetic, mathematical functions, messages?

https://github.com/Genoil/cpp-ethereum/issues/75
"""

from __future__ import annotations

import kernlens

(program,) = kernlens.compile("examples/kernels/blur.cl", "dg2")
for name, number in program.kernels["blur"].costs.items():
    if number:
        print(name, number)
