"""The source line that is likely to have made a figure what it is: the costliest one, or the one that changed most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from kernlens.analysis.comparison.kernel_changes import KernelChange
from kernlens.analysis.comparison.line_changes import WITHOUT_LINE, LineChange
from kernlens.analysis.comparison.source_lines import LineKey
from kernlens.analysis.costs import Cycles, costliest_lines, costs_of_rows, cycles_of
from kernlens.analysis.cxx_names import kernel_title
from kernlens.analysis.flow.register_peak import why_unknown
from kernlens.analysis.line_texts import source_line
from kernlens.analysis.observed_code import observed_code
from kernlens.model.figure import Figure
from kernlens.model.figures import CYCLES, FAULTS, LINE_COLUMNS, OBSERVED, PEAK, WAVES, LineColumn
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import IN_PROLOGUE, LINE_LOST, SourceMap
from kernlens.model.verdict import Cause

#: The share of its registers from which on a kernel may be narrow for want of them.
_FULL = 0.75
#: Lines that a sentence names.
_NAMED = 4
#: Words for what no line has, by the origin of its instructions.
_NO_LINE = {LINE_LOST: "whose lines the compiler lost", IN_PROLOGUE: "in the prologue"}


def costliest_cause(program: Program, kernel: Kernel, figure: Figure) -> Cause | str:
    """Return the line with most of what causes ``figure``, or a sentence that says why there is none."""
    if figure in OBSERVED:
        return _observed_cause(program, kernel, figure)
    if not figure.caused_by and figure.key != "barriers":
        return f"no line by itself makes the {figure.heading}"
    if figure.key == "simd" and (reason := _width_reason(kernel)):
        return reason
    if kernel.source_map is None:
        return f"there are no source lines: {kernel.line_table_reason}"
    if figure.key == "barriers":
        return _barriers(program, kernel, kernel.source_map)
    if figure.caused_by == (PEAK,):
        return _peak(program, kernel)
    column = _column(figure)
    cycles = _cycles(kernel, column)
    lines = costliest_lines(kernel.instructions.kinds, kernel.source_map, column, 1, cycles).lines
    if not lines:
        return _without_line(kernel, kernel.source_map, column)
    line = lines[0]
    source, count = _source_line(program, line.path, line.line), column.sum(line.costs)
    certain = _certain(kernel, chain.from_iterable(kernel.source_map.lines[line.path, line.line]), column)
    return Cause(line.path, line.line, source, column.heading, count, _total(kernel, column), certain=certain)


def _observed_cause(program: Program, kernel: Kernel, figure: Figure) -> Cause | str:
    """Return the line that moves most above its ideal, or most of all if none does, or that of the first fault."""
    observed = observed_code(kernel)
    assert observed is not None
    if figure.key == FAULTS:
        faults = observed.faults
        places = [fault.places[0] for fault in faults if fault.places]
        counts = Counter((observed.paths.get(place.path, place.path), place.line) for place in places)
        words, total = "faults", len(faults)
        counts = Counter({place: counts[place] for place in list(counts)[:1]})  # The first one's: it is told first.
    else:
        moved = {
            key: (line.units, line.least) if figure.key != WAVES else (line.wavefronts or 0, line.least_wavefronts or 0)
            for key, line in observed.lines.items()
        }
        words = f"units of {observed.unit} bytes" if figure.key != WAVES else "wavefronts"
        counts = Counter({key: both[0] - both[1] for key, both in moved.items()})
        if any(counts.values()):
            words += " above the ideal"
        else:
            counts = Counter({key: both[0] for key, both in moved.items()})
        total = counts.total()
    if not counts:
        return f"no line has {words}"
    ((path, number), most), *_ = counts.most_common(1)
    return Cause(path, number, _source_line(program, path, number), words, most, total)


def _width_reason(kernel: Kernel) -> str:
    """Return why a kernel is compiled for no more lanes, where the binary or the code tells; empty if its registers may be
    too few."""
    width = kernel.resources.required_sub_group_size
    names = [each.name or "a function" for each in kernel.functions if each.code.start and not each.is_spliced]
    if width is not None and width == kernel.resources.simd:
        return f"the source requires sub-groups of {width} work-items"
    if names:
        return f"{names[0]} is not inlined, and calls keep a kernel narrow"
    peak, count = kernel.pressure and kernel.pressure.peak, kernel.resources.grf_count
    if peak and count and peak < _FULL * count:
        return f"what keeps it narrow is not known: at most {peak:,} of {count:,} GRFs are live"
    return ""


def _barriers(program: Program, kernel: Kernel, source_map: SourceMap) -> Cause | str:
    """Return the line of a kernel's barriers, of which it may need fewer than it executes, or a sentence with the lines."""
    accesses = ((row, kind.access) for row, kind in enumerate(kernel.instructions.kinds))
    barriers = [row for row, access in accesses if access is not None and access.operation == "barrier"]
    rows_of: dict[tuple[str, int], list[int]] = {}
    for row in barriers:
        if place := source_map.place(row):
            rows_of.setdefault((place.path, place.line), []).append(row)
    for (path, line), rows in rows_of.items() if len(rows_of) == 1 else ():
        source, certain = _source_line(program, path, line), sum(source_map.certain[row] for row in rows)
        return Cause(path, line, source, "barrier instructions", len(rows), len(barriers), certain=certain)
    named = ", ".join(f"{path.rpartition('/')[2]}:{line}" for path, line in [*rows_of][:_NAMED])
    more = f" and {len(rows_of) - _NAMED:,} more" if len(rows_of) > _NAMED else ""
    return f"its barrier instructions stand under {named}{more}" if named else "no barrier instruction has a line"


def _without_line(kernel: Kernel, source_map: SourceMap, column: LineColumn) -> str:
    """Return why no line has any of the column."""
    kinds, cycles = kernel.instructions.kinds, _cycles(kernel, column)
    rows: dict[str, list[int]] = {}
    for row, origin in enumerate(source_map.origins):
        rows.setdefault(origin, []).append(row)
    counts = {origin: column.sum(costs_of_rows(kinds, some, cycles)) for origin, some in rows.items()}
    words = [f"{count:,} {_NO_LINE.get(origin, 'without a line')}" for origin, count in counts.items() if count]
    if words:
        return f"no line has {column.heading}: {', '.join(words)}"
    if column.keys[0] != "scratch_store_bytes":
        return f"the code has no {column.heading}"
    return (
        "the code does not access scratch memory; private memory may be global: kernlens advise looks for arrays in it"
    )


def _peak(program: Program, kernel: Kernel) -> Cause | str:
    """Return the line of the peak register pressure: what needs many is compiled narrower, or for more registers."""
    if kernel.pressure is None:
        return why_unknown(kernel.instructions)
    index = kernel.pressure.peak_index
    place = kernel.source_map.place(index) if kernel.source_map and index is not None else None
    if place is None or kernel.source_map is None or index is None:
        return "the peak register pressure is at an instruction without a source line"
    source, peak = _source_line(program, place.path, place.line), kernel.pressure.peak
    certain, total = peak * kernel.source_map.certain[index], kernel.resources.grf_count or peak
    return Cause(place.path, place.line, source, "GRFs are live there", peak, total, certain=certain)


def changed_cause(change: KernelChange, figure: Figure) -> Cause | str:
    """Return the line that was edited, or else grew most since the baseline, or a sentence that says why there is none."""
    column = _column(figure)
    program, kernel = change.pair.new_program, change.pair.new
    of_other = ""
    for key in change.edited:
        if key.new:
            if other := _other_kernel(change, key):
                place = f"{key.path.rpartition('/')[2]}:{key.new}"
                of_other = of_other or f", and {place}, which was edited, is of {kernel_title(other)}"
                continue
            source = _source_line(program, key.path, key.new)
            return Cause(key.path, key.new, source, column.heading, 0, _total(kernel, column), 0, True)
    if not change.has_lines:
        return f"there are no source lines: {kernel.line_table_reason or change.pair.old.line_table_reason}"
    grown = [
        (not line.is_cause, before - after, line, before, after)
        for line in change.lines
        if line.key not in WITHOUT_LINE and line.key.new
        for before, after in [_counts(change, line, column)]
        if line.is_cause or after > before
    ]
    if not grown:
        return f"no line has more {column.heading} than in the baseline{of_other}"
    _, _, line, before, after = min(grown, key=lambda item: item[:2])
    source = _source_line(program, line.key.path, line.key.new)
    total = _total(kernel, column)
    certain = _certain(kernel, line.new, column)
    return Cause(
        line.key.path, line.key.new, source, column.heading, after, total, before, bool(line.is_cause), certain
    )


def _other_kernel(change: KernelChange, key: LineKey) -> str:
    """Return the kernel that has instructions of the lines edited around one; empty if the changed kernel has some too, or
    none has. Compilers lay out all kernels of a source anew where one needs more arguments or local memory."""
    edited = {each.new for each in change.sources.edited if each.path == key.path}
    first, last = key.new, key.new
    while first - 1 in edited:
        first -= 1
    while last + 1 in edited:
        last += 1
    lines = {(key.path, number) for number in range(first, last + 1)}
    kernels = change.pair.new_program.kernels.values()
    names = [each.name for each in kernels if each.source_map and not lines.isdisjoint(each.source_map.lines)]
    return "" if not names or change.pair.new.name in names else names[0]


def _column(figure: Figure) -> LineColumn:
    """Return the column of lines that counts for a figure: instructions where nothing tells more."""
    if figure.caused_by == (figure.key,):
        return LineColumn(figure.heading, figure.caused_by)
    keys = ("instructions",) if figure.caused_by in ((), (PEAK,)) else figure.caused_by
    known = [column for column in LINE_COLUMNS if column.keys == keys]
    return known[0] if known else LineColumn(" and ".join(key.replace("_", " ") for key in keys), keys)


def _counts(change: KernelChange, line: LineChange, column: LineColumn) -> tuple[int, int]:
    def count(kernel: Kernel, rows: tuple[int, ...]) -> int:
        return column.sum(costs_of_rows(kernel.instructions.kinds, rows, _cycles(kernel, column)))

    return count(change.pair.old, line.old), count(change.pair.new, line.new)


def _certain(kernel: Kernel, rows: Iterable[int], column: LineColumn) -> int:
    """Return how much of the column is of those of a line's rows that are certainly the line's."""
    source_map = kernel.source_map
    certain = [row for row in rows if source_map is not None and source_map.certain[row]]
    return column.sum(costs_of_rows(kernel.instructions.kinds, certain, _cycles(kernel, column)))


def _cycles(kernel: Kernel, column: LineColumn) -> Cycles:
    """Return the cycles of a kernel's rows, if the column counts these; waits that are unknown cause nothing."""
    if not set(column.keys) & set(CYCLES):
        return {}
    return cycles_of(kernel.waits) or dict.fromkeys(CYCLES, [0] * len(kernel.instructions))


def _total(kernel: Kernel, column: LineColumn) -> int:
    return column.sum({**kernel.costs, **{key: sum(each) for key, each in _cycles(kernel, column).items()}})


def _source_line(program: Program, path: str, line: int) -> str | None:
    return source_line(program.source_lines, path, line)
