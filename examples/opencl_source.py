"""Source capture: ask a live OpenCL program for its source, and show the lines that one kernel was made from.

CL_PROGRAM_SOURCE gives the text of the whole program; which of its lines belong to a kernel, the line table tells.

    python examples/opencl_source.py --simulate dg2 --kernel scale
"""

from __future__ import annotations

from setting import arguments, opencl_program

import kernlens

chosen = arguments(__doc__)
(program,) = kernlens.from_opencl(opencl_program(chosen.path))
(source,) = program.sources
kernel = program.kernels[chosen.kernel]
assert kernel.source_map is not None, kernel.line_table_reason
used = {line for _, line in kernel.source_map.lines}
for number, text in enumerate(source.text.splitlines(), 1):
    print(f"{'>' if number in used else ' '} {number:4}  {text}")
