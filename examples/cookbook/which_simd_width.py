"""Which SIMD width did the compiler choose, on which device?

https://github.com/intel/intel-graphics-compiler/issues/15
"""

from __future__ import annotations

import kernlens

for program in kernlens.compile("examples/kernels/tone.cl", ["skl", "tgllp", "dg2"]):
    for kernel in program.kernels:
        print(program.device.name if program.device else "?", kernel.name, f"SIMD{kernel.resources.simd}")
