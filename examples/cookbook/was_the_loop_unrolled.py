"""Was the loop unrolled? Its instructions, for each source line.

https://github.com/intel/intel-graphics-compiler/issues/16
"""

from __future__ import annotations

import kernlens

(program,) = kernlens.compile("examples/kernels/blur.cl", "dg2")
kernel = program.kernels["blur"]
print("loops that are left:", len(kernel.loops.loops) if kernel.loops else "unknown")
assert kernel.source_map is not None, kernel.line_table_reason
for (path, line), code in sorted(kernel.source_map.lines.items()):
    print(f"{path}:{line}", sum(map(len, code)), "instructions")
