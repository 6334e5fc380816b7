"""Register pressure: the peak, and which lines' values hold the registers there, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from typing import Any

from kernlens.analysis.flow.register_peak import HeldValues, held_at, line_of, why_unknown
from kernlens.analysis.line_texts import source_line
from kernlens.model.figures import PRESSURES, figures_of
from kernlens.model.kernel import Kernel
from kernlens.model.pressure import Pressure
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace
from kernlens.report.describe import plural, short_names
from kernlens.report.json_text import attributes, encoded
from kernlens.report.listing import heading, uncertainty_lines
from kernlens.report.program_document import kernel_document
from kernlens.report.table import Cell, table


def unknown_pressure(kernel: Kernel) -> list[str]:
    """Return the lines of a kernel whose pressure is not known."""
    return ["  Register pressure is not known:", f"  {why_unknown(kernel.instructions)}.", ""]


def pressure_document(kernel: Kernel, *, has_live: bool) -> dict[str, Any] | None:
    """Return the ``pressure`` of a kernel in the document; ``has_live``: with the count of each instruction."""
    pressure = kernel.pressure
    if pressure is None:
        return None
    return {
        **figures_of(kernel, PRESSURES),
        **attributes(pressure, "register_bytes", "has_calls", "is_lower_bound"),
        "peak": _peak(kernel, pressure),
        "held": [
            attributes(held, "path", "line", "registers", "certain") | {"origin": held.origin or None}
            for held in _held(kernel)
        ],
        **({"live": list(pressure.live)} if has_live else {}),
    }


def spilled_document(kernel: Kernel) -> list[dict[str, Any]] | None:
    """Return the ``spilled_values`` of a kernel in the document."""
    spilled = kernel.spilled_values
    if spilled is None:
        return None
    return [attributes(spill, "name", "size", "value", "variable") | _path_and_line(spill.place) for spill in spilled]


def pressure_json(program: Program, kernel: Kernel) -> str:
    """Return the JSON text of a kernel with its pressure."""
    measured = {"pressure": pressure_document(kernel, has_live=True), "spilled_values": spilled_document(kernel)}
    return encoded(kernel_document(kernel) | measured)


def pressure_lines(program: Program, kernel: Kernel, width: int | None = None) -> list[str]:
    """Return a kernel's pressure, and all lines whose values hold registers at the peak, in tables of this ``width``."""
    above = heading(program, kernel)
    if kernel.pressure is None:
        return [*above, *unknown_pressure(kernel)]
    tables = held_table(program, kernel, width=width), spilled_table(program, kernel, width=width)
    uncertain = uncertainty_lines(kernel.source_map, width) if kernel.source_map else []
    return [*above, *peak_words(kernel), "", *uncertain, *tables[0], "", *tables[1]]


def peak_words(kernel: Kernel) -> Iterator[str]:
    """Yield the peak in one line, and remarks on it; nothing where the pressure is not known."""
    pressure = kernel.pressure
    if pressure is None or pressure.peak_index is None:
        return
    stated = kernel.resources.grf_count
    of_all = f" of {stated:,}" if stated is not None else ""
    peak = _peak(kernel, pressure)
    where = f"at {peak['offset']:#06x}" if peak else ""
    if peak and peak["line"] is not None:
        where += f", {peak['path'].rsplit('/', 1)[-1]}:{peak['line']}{'' if peak['is_certain'] else ' (or no line)'}"
    least = "at least " if pressure.is_lower_bound else ""
    yield f"  peak pressure: {least}{pressure.peak:,}{of_all} GRFs live {where}; {pressure.named:,} referenced"
    if pressure.has_calls:
        yield "  (functions are analysed once for all of their callers)"
    if pressure.is_lower_bound:
        yield "  (a lower bound: it excludes registers addressed at run time and code outside the kernel)"


def held_table(program: Program, kernel: Kernel, count: int | None = None, width: int | None = None) -> Iterator[str]:
    """Yield the lines whose values hold registers at the peak, most first; only the first ``count``, if set."""
    held = _held(kernel)
    listed, others = (held, []) if count is None else (held[:count], held[count:])
    texts = program.source_lines
    names = short_names({values.path for values in listed if values.path is not None})
    is_uncertain = any(values.path is not None and values.certain < len(values.registers) for values in held)
    rows = [_row(values, names, texts) for values in listed]
    if others:
        registers = {number for values in others for number in values.registers}
        rows.append([plural(len(others), "other line"), len(registers), None, ""])
    has_some = (True, True, is_uncertain, True)
    headings = compress(("values of", "GRFs live at the peak", "certain", "source"), has_some)
    yield from table(tuple(headings), [list(compress(row, has_some)) for row in rows], width=width)
    if sum(len(values.registers) for values in held) > len({number for values in held for number in values.registers}):
        yield "  (a register that holds values of several lines counts for each of them)"


def spilled_table(
    program: Program, kernel: Kernel, count: int | None = None, width: int | None = None
) -> Iterator[str]:
    """Yield the values that were spilled, most bytes first, where the stages of the compile were saved; only the first
    ``count``, if set. An empty line ends it."""
    spilled = kernel.spilled_values
    if not spilled:
        return
    listed, others = (spilled, ()) if count is None else (spilled[:count], spilled[count:])
    texts = program.source_lines
    names = short_names({spill.place.path for spill in listed if spill.place})
    rows: list[list[Cell]] = []
    for spill in listed:
        where, source = "no line", ""
        if spill.place:
            where = f"{names[spill.place.path]}:{spill.place.line}"
            source = source_line(texts, spill.place.path, spill.place.line) or ""
        rows.append([where, spill.size, spill.name, spill.value or "", spill.variable or "", source])
    if others:
        rows.append([plural(len(others), "other value"), sum(spill.size for spill in others), "", "", "", ""])
    yield from table(("spilled value of", "bytes", "vISA", "LLVM", "variable", "source"), rows, width=width)
    yield ""


def _row(held: HeldValues, names: Mapping[str, str], texts: Mapping[str, Sequence[str]]) -> list[Cell]:
    if held.path is None or held.line is None:
        return [held.origin, len(held.registers), None, ""]
    source = source_line(texts, held.path, held.line) or ""
    return [f"{names[held.path]}:{held.line}", len(held.registers), held.certain, source]


def _held(kernel: Kernel) -> list[HeldValues]:
    pressure = kernel.pressure
    if pressure is None or pressure.peak_index is None:
        return []
    return held_at(kernel.instructions, kernel.source_map, pressure.peak_index)


def _peak(kernel: Kernel, pressure: Pressure) -> dict[str, Any] | None:
    """Return where the peak is first reached."""
    index = pressure.peak_index
    if index is None:
        return None
    (path, line, _), is_certain = line_of(index, kernel.source_map)
    sure = None if line is None else is_certain
    return {"offset": kernel.instructions.offsets[index], "path": path, "line": line, "is_certain": sure}


def _path_and_line(place: SourcePlace | None) -> dict[str, Any]:
    return attributes(place, "path", "line") if place else {"path": None, "line": None}
