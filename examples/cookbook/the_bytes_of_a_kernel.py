"""The machine code of one kernel as a file, for another disassembler.

https://github.com/oneapi-src/level-zero-spec/issues/247
"""

from __future__ import annotations

from tempfile import TemporaryFile

import kernlens

(program,) = kernlens.compile("examples/kernels/blur.cl", "dg2")
kernel = program.kernels["blur"]
with TemporaryFile() as file:
    print("wrote", file.write(kernel.code), "bytes of", kernel.name)
