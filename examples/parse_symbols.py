"""Symbols parsing: the line table of one kernel, from the debug data or the binary that holds it.

Without a file, a recording of examples/scale.cl is made and read.

    python examples/parse_symbols.py
    python examples/parse_symbols.py scale.0.dbg --kernel scale
"""

from __future__ import annotations

from setting import arguments, file_to_read

import kernlens

chosen = arguments(__doc__)
(program,) = kernlens.load(file_to_read(chosen.path))
table = program.kernels[chosen.kernel].line_table
assert table is not None, program.kernels[chosen.kernel].line_table_reason
for row in table.rows:
    file = table.files[row.file].path or "(the program's source)"
    print(f"{row.offset:#06x}  {file}:{row.line}:{row.column}{'  end' if row.end_sequence else ''}")
