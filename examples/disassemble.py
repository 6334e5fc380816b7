"""Binary decoding: a kernel's instructions, from a program binary or from a live program.

python examples/disassemble.py
python examples/disassemble.py scale.0.bin --kernel scale
"""

from __future__ import annotations

from setting import arguments, opencl_program

import kernlens

chosen = arguments(__doc__)
if chosen.path.endswith(".cl"):
    (program,) = kernlens.from_opencl(opencl_program(chosen.path))
else:
    (program,) = kernlens.load(chosen.path)
for instruction in program.kernels[chosen.kernel].instructions:
    print(f"{instruction.offset:#06x}  {instruction.text.rstrip()}")
