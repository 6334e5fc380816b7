"""CSV with one row per instruction and its source place; and what all tables in CSV share."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import repeat

from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.program import Program

COLUMNS = ("program", "device", "kernel", "offset", "size", "opcode", "text", "path", "line", "column", "line_origin")


def csv_lines(
    program: Program,
    kernel: Kernel,
    only: LineChoice | None = None,
    more: Iterable[Iterable[object]] = repeat(()),
) -> Iterator[str]:
    """Yield a line per instruction of a kernel, below the ``HEADING``; unknown paths, lines and columns are empty. ``more`` are
    further cells of each instruction."""
    only = program.meant_line(only)
    device = program.device.name if program.device else ""
    names = spreadsheet_safe(program.name), device, spreadsheet_safe(kernel.name)
    source_map, instructions = kernel.source_map, kernel.instructions
    parts = zip(instructions.offsets, instructions.sizes, instructions.opcodes, instructions.texts, strict=True)
    for index, (instruction, further) in enumerate(zip(parts, more, strict=False)):
        place = source_map.place(index) if source_map else None
        if only is not None and not only.holds(place):
            continue
        where = (spreadsheet_safe(place.path), place.line, place.column or "") if place else ("", "", "")
        origin = source_map.origin(index) if source_map else ""
        yield csv_line((*names, *instruction, *where, origin, *further))


def spreadsheet_safe(text: str) -> str:
    """Return a text out of a file as it may stand in a cell: spreadsheets take one that begins with = + - @ for a
    formula, and run it, unless a quote comes first."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def csv_line(cells: Iterable[object]) -> str:
    """Return one line of CSV, without its end."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()


#: The line above all others.
HEADING = csv_line(COLUMNS)
