"""Binary parsing: from a program binary, whatever its format, to the machine code of one kernel by name.

python examples/parse_binary.py scale.0.bin --kernel scale --output scale.code
"""

from __future__ import annotations

from pathlib import Path

from setting import arguments

import kernlens

chosen = arguments(__doc__)
(program,) = kernlens.load(chosen.path)
kernel = program.kernels[chosen.kernel]
Path(chosen.output or f"{kernel.name}.code").write_bytes(kernel.code)
print(f"{program.name} is {program.format} for {program.device}, with the kernels {', '.join(program.kernels)}")
print(f"{kernel.name}: {kernel.code_size} bytes of code, {len(kernel.heap)} with padding, SIMD{kernel.resources.simd}")
