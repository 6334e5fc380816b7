"""Binary parsing: from a program binary, whatever its format, to the machine code of one kernel by name.

Without a file, a recording of examples/scale.cl is made and read.

    python examples/parse_binary.py
    python examples/parse_binary.py scale.0.bin --kernel scale --output scale.code
"""

from __future__ import annotations

from pathlib import Path

from setting import arguments, file_to_read

import kernlens

chosen = arguments(__doc__)
(program,) = kernlens.load(file_to_read(chosen.path))
kernel = program.kernels[chosen.kernel]
Path(chosen.output or f"{kernel.name}.code").write_bytes(kernel.code)
print(f"{program.name} is {program.format} for {program.device}, with the kernels {', '.join(program.kernels.keys())}")
print(f"{kernel.name}: {kernel.code_size} bytes of code, {len(kernel.heap)} with padding, SIMD{kernel.resources.simd}")
