"""Symbols parsing: the line table of one kernel, from the debug data or the binary that holds it.

python examples/parse_symbols.py scale.0.dbg --kernel scale
"""

from __future__ import annotations

from setting import arguments

import kernlens

chosen = arguments(__doc__)
(program,) = kernlens.load(chosen.path)
table = program.kernels[chosen.kernel].line_table
assert table is not None, program.kernels[chosen.kernel].line_table_reason
for row in table.rows:
    file = table.files[row.file].path or "(the program's source)"
    print(f"{row.offset:#06x}  {file}:{row.line}:{row.column}{'  end' if row.end_sequence else ''}")
