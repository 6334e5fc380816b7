"""CSV: one row per instruction, with the place that it came from."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.program import Program

COLUMNS = ("program", "device", "kernel", "offset", "size", "opcode", "text", "path", "line", "column", "line_origin")


def csv_lines(program: Program, kernel: Kernel, only: LineChoice | None = None) -> Iterator[str]:
    """A line per instruction of a kernel, below the ``HEADING``; path, line and column are empty where they are not
    known."""
    device = program.device.name if program.device else ""
    source_map, instructions = kernel.source_map, kernel.instructions
    parts = zip(instructions.offsets, instructions.sizes, instructions.opcodes, instructions.texts, strict=True)
    for index, instruction in enumerate(parts):
        place = source_map.place(index) if source_map else None
        if only is not None and not only.holds(place):
            continue
        where = (place.path, place.line, place.column or "") if place else ("", "", "")
        origin = source_map.origin(index) if source_map else ""
        yield _line((program.name, device, kernel.name, *instruction, *where, origin))


def _line(cells: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()


#: The line above all others.
HEADING = _line(COLUMNS)
