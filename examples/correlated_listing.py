"""Binary and source correlated: each line of a live program's source with the instructions that it became.

python examples/correlated_listing.py
python examples/correlated_listing.py --simulate dg2 --kernel scale
"""

from __future__ import annotations

from setting import arguments, opencl_program

import kernlens

chosen = arguments(__doc__)
(program,) = kernlens.from_opencl(opencl_program(chosen.path))
kernel = program.kernels[chosen.kernel]
assert kernel.source_map is not None, kernel.line_table_reason
texts = {source.path: source.text.splitlines() for source in program.sources}
for (path, line), ranges in sorted(kernel.source_map.lines.items()):
    text = texts[path][line - 1] if path in texts else ""
    print(f"{path or 'source'}:{line}: {text.strip()}")
    for index in (index for each in ranges for index in each):
        instruction = kernel.instructions[index]
        print(f"    {instruction.offset:#06x}  {instruction.text.rstrip()}")
