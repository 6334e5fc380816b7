"""The costliest lines of a kernel: what ``annotate --top`` prints, as text and JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from textwrap import wrap
from typing import Any

from kernlens.analysis.advice import strided_access
from kernlens.analysis.advice.rules import advice_on
from kernlens.analysis.costs import (
    CostliestLines,
    Cycles,
    certain_of,
    costliest_lines,
    costs_by_line,
    costs_of,
    costs_of_rows,
    cycles_of,
)
from kernlens.analysis.line_texts import source_line
from kernlens.analysis.line_waits import waits_by_line
from kernlens.cli.answers.access_words import accesses_document
from kernlens.cli.answers.advice_document import piece_document
from kernlens.cli.answers.behaviour_document import causes_document
from kernlens.cli.answers.behaviour_notes import cause_lines, observed_table, top_document
from kernlens.cli.answers.pressure_answer import (
    held_table,
    peak_words,
    pressure_document,
    spilled_document,
    spilled_table,
    unknown_pressure,
)
from kernlens.model.advice import Advice
from kernlens.model.code_function import CodeFunction
from kernlens.model.containers import CONTAINERS
from kernlens.model.figures import (
    EVERY_FIGURE,
    LINE_COLUMNS,
    LINE_ORDERS,
    MOVED,
    OBSERVED,
    OF_CORES,
    OF_FAMILIES,
    PEAK,
    PREFETCHES,
    WAIT,
    WAIT_COLUMNS,
    WAIT_CYCLES,
    WAITS,
    LineColumn,
)
from kernlens.model.instruction_kind import ATOMIC, LOAD, OTHER_KINDS, SPACES, STORE
from kernlens.model.intel_instructions import packed_of
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.spills import SPILL_COSTS
from kernlens.report.describe import function_name, plural, short_names
from kernlens.report.json_text import attributes, encoded
from kernlens.report.listing import heading, uncertainty_lines
from kernlens.report.loop_answer import trips_document, trips_words, weights_of
from kernlens.report.phase_words import phase_headings
from kernlens.report.program_document import function_document, kernel_document, phases_of_code, program_document
from kernlens.report.style import fitting_width, style
from kernlens.report.table import Cell, table
from kernlens.report.wait_words import WaitWords, wait_heading, waited_documents, waits_document

_UNKNOWN_SPILLS = "which lines spill is unknown: the code does not tell a spill from another access to the same memory"
#: The keys of the column of messages, and its heading where instructions reach memory without any.
_SENDS, _ACCESSES = ("sends",), "accesses"
#: The parts of a kernel's costs, as its document has them.
_PARTS = ("lines", "other_lines", "prologue", "inherited", "without_line")
#: Words for what no line has, where the heading of the column alone could mean any arithmetic.
_ABSENT = {"math": "instruction of the math unit (inverse, square root, exp, log, sin, cos)"}
#: Lines with strides that stand below a table.
_MOST_STRIDES = 5
#: The cells of a row that only some tables have.
_CERTAIN, _DEPTH = 3, 4


def costliest_program(program: Program) -> dict[str, Any]:
    """Return a program in the document, with the origin of each figure; its kernels are left out."""
    stated = CONTAINERS[program.format].stated_by if program.format in CONTAINERS else None
    origins = {}
    for figure in (each for each in EVERY_FIGURE if each not in (*OF_FAMILIES, *OF_CORES, *WAITS, *OBSERVED)):
        is_code = figure.needs_decoding or figure.key == "code_size"
        origins[figure.key] = "upper bound" if figure.is_upper_bound else "binary" if is_code else stated
    return program_document(program, has_sources=False) | {"origins": origins}


def costliest_kernel(
    program: Program, kernel: Kernel, count: int, order: str, *, has_pressure: bool = False, has_waits: bool = False
) -> str:
    """Return the JSON text of a kernel with what it costs and its ``count`` costliest lines, as ``order`` has them;
    ``has_pressure``: with all that ``annotate --pressure`` answers; ``has_waits``: with cycles."""
    if kernel.behaviours and not kernel.code_size:
        return encoded(kernel_document(kernel) | top_document(program, kernel, count, MOVED))
    cycles = cycles_of(kernel.waits) if has_waits else {}
    measured: dict[str, Any] = {
        "costs": _costs_document(kernel, _with_cycles(kernel.costs, cycles)),
        "pressure": pressure_document(kernel, has_live=has_pressure),
    }
    measured["functions"] = []
    for each in kernel.functions:
        costs, peak = _of_function(kernel, each, cycles)
        measured["functions"].append(function_document(each) | {"costs": _costs_document(kernel, costs), PEAK: peak})
    document = kernel_document(kernel) | measured | {"spilled_values": spilled_document(kernel)}
    document |= causes_document(program, kernel) if kernel.behaviours else {}
    document |= accesses_document(program, kernel) | phases_of_code(kernel)
    waited = waits_by_line(kernel, kernel.waits) if has_waits and kernel.waits else None
    if has_waits:
        document |= {"waits": waits_document(kernel, has_lines=False)}
    kinds, source_map, loops, weights = kernel.instructions.kinds, kernel.source_map, kernel.loops, weights_of(kernel)
    weighed: dict[str, Any] = {}
    if weights is not None:
        weighed_costs = costs_of_rows(kinds, range(len(kinds)), cycles, weights)
        weighed = {"costs": _costs_document(kernel, weighed_costs)} | dict.fromkeys(_PARTS[1:])
        document |= trips_document(kernel) | {"weighed": weighed}
    if source_map is None or (order == WAIT and waited is None):
        return encoded(document | dict.fromkeys(_PARTS))
    by_line = costliest_lines(kinds, source_map, LINE_ORDERS[order], count, cycles, weights)
    weighed_lines = by_line.lines
    if weights is not None:
        weighed |= {part: _part(kernel, by_line, part) for part in _PARTS[1:]}
        by_line = costs_by_line(kinds, source_map, [(row.path, row.line) for row in by_line.lines], cycles)
    texts, advice = program.source_lines, _advice_by_line(program, kernel)
    lines = [
        attributes(row, "path", "line")
        | {
            "source": source_line(texts, row.path, row.line),
            "costs": _costs_document(kernel, row.costs),
            **({} if weights is None else {"weighed_costs": _costs_document(kernel, weighed_row.costs)}),
            "certain": row.certain,
            "inherited": row.inherited,
            "loop_depth": loops.depth_of(source_map.lines[row.path, row.line]) if loops else None,
            "advice": [piece_document(piece) for piece in advice.get((row.path, row.line), ())],
        }
        | ({} if waited is None else {"waits_for": waited_documents(waited.get((row.path, row.line), ()))})
        for row, weighed_row in zip(by_line.lines, weighed_lines, strict=True)
    ]
    return encoded(document | {"lines": lines} | {part: _part(kernel, by_line, part) for part in _PARTS[1:]})


def costliest_table(
    program: Program,
    kernel: Kernel,
    count: int,
    order: str,
    *,
    has_pressure: bool = False,
    has_waits: bool = False,
    width: int | None = None,
) -> list[str]:
    """Return the kernel's instruction mix and memory, and a table of its costliest lines. The prologue and what has no
    line stand apart, so that all rows together are the kernel; what the kernel has none of has no column. ``has_pressure``:
    with all that ``annotate --pressure`` answers; ``has_waits``: with cycles, and what each line waits for most;
    ``width``: that of tables, at most."""
    if kernel.behaviours and not kernel.code_size:
        return observed_table(program, kernel, count, MOVED, width)
    estimate = wait_heading(kernel) if has_waits else ()
    asks_spills = SPILL_COSTS.issuperset(LINE_ORDERS[order].keys)
    unknown_spills = _unknown_spills(kernel, is_asked=asks_spills)
    messages = "sends" if program.device is None or program.device.has_messages else _ACCESSES
    above = [*heading(program, kernel)[:-1], *_mix(kernel), *unknown_spills, *peak_words(kernel), *estimate, ""]
    if kernel.functions:
        above += [*_functions_table(kernel, messages, width), ""]
    if phases := phase_headings(kernel):
        above += [*(f"  {line}" for lines in phases.values() for line in lines), ""]
    above += _registers(program, kernel, count, has_pressure, width)
    if kernel.source_map is None:
        return [*above, style(f"  No source lines: {kernel.line_table_reason}", fg="yellow"), ""]
    if kernel.line_warning:
        above += [style(f"  {kernel.line_warning}", fg="yellow"), ""]
    cycles = cycles_of(kernel.waits) if has_waits else {}
    if (order == WAIT and not cycles) or (asks_spills and unknown_spills):
        return above
    kinds, weights = kernel.instructions.kinds, weights_of(kernel)
    by_line = costliest_lines(kinds, kernel.source_map, LINE_ORDERS[order], count, cycles, weights)
    if not by_line.lines:
        return [*above, f"  No line has any {_ABSENT.get(order, LINE_ORDERS[order].heading)}.", ""]
    above += uncertainty_lines(kernel.source_map, width)
    total = costs_of_rows(kinds, range(len(kinds)), cycles, weights)
    rows = list(_rows(program, kernel, by_line, total, weights, has_cycles=bool(cycles)))
    limit = min((each for each in (fitting_width(), width) if each is not None), default=sys.maxsize)
    advice = list(_advice_lines(_advice_by_line(program, kernel), by_line, limit))
    below = [*(["", *advice] if advice else []), *cause_lines(program, kernel), ""]
    return [*above, *trips_words(kernel), *_table("line", rows, total, ("source", messages), width), *below]


def _registers(program: Program, kernel: Kernel, count: int, has_pressure: bool, width: int | None) -> Iterator[str]:
    """Yield what holds the registers where most are live, which is why others spill."""
    spills = kernel.costs.get("spill_stores") or kernel.costs.get("fill_loads")
    if kernel.pressure and (spills or has_pressure):
        most = None if has_pressure else count
        yield from (*held_table(program, kernel, most, width), "", *spilled_table(program, kernel, most, width))
    elif has_pressure:
        yield from unknown_pressure(kernel)


def _rows(
    program: Program,
    kernel: Kernel,
    by_line: CostliestLines,
    total: Mapping[str, int],
    weights: Sequence[int] | None,
    *,
    has_cycles: bool,
) -> Iterator[list[Cell]]:
    """Yield the rows of the costliest lines, of all others together, and of the code that is of no line alone."""
    source_map = kernel.source_map
    assert source_map is not None
    is_certain = source_map.uncertainty is None
    certain = sum(certain_of(source_map, line, weights) for line in source_map.lines)
    other_certain = certain - sum(row.certain for row in by_line.lines)
    texts, names = program.source_lines, short_names({row.path for row in by_line.lines})
    loops = kernel.loops if kernel.loops and kernel.loops.loops else None
    words = WaitWords(kernel, kernel.waits) if has_cycles and kernel.waits else None
    for row in by_line.lines:
        yield _row(
            f"{names[row.path]}:{row.line}",
            row.costs,
            total,
            source_line(texts, row.path, row.line) or "",
            words.most_waited(row.path, row.line) if words else "",
            loops.depth_of(source_map.lines[row.path, row.line]) if loops else None,
            None if is_certain else row.certain,
        )
    others = plural(by_line.other_line_count, "other line"), by_line.other_lines, None if is_certain else other_certain
    apart = [
        ("prologue", by_line.prologue, None),
        ("under a neighbour's line", by_line.inherited, None),
        ("without a line", by_line.without_line, None),
    ]
    for title, costs, of_these in (others, *apart):
        if costs["instructions"]:
            yield _row(title, costs, total, "", certain=of_these)


def _advice_lines(
    advice: Mapping[tuple[str, int], Sequence[Advice]], by_line: CostliestLines, limit: int
) -> Iterator[str]:
    """Yield a sentence for each of these lines that there is advice on: that on most instructions. Strides stand below, of any
    lines."""
    sentences = []
    for row in by_line.lines:
        pieces = [piece for piece in advice.get((row.path, row.line), ()) if piece.rule != strided_access.KEY]
        sentences += [piece.sentence for piece in pieces[:1]]
    strides = [piece for _, pieces in sorted(advice.items()) for piece in pieces if piece.rule == strided_access.KEY]
    sentences += [f"{each.file_line}: {each.subject} {each.fact}" for each in strides[:_MOST_STRIDES]]
    if len(strides) > _MOST_STRIDES:
        sentences.append(f"strides of {plural(len(strides) - _MOST_STRIDES, 'more line')}: kernlens advise")
    for sentence in sentences:
        yield from wrap(sentence, limit, initial_indent="  ", subsequent_indent="    ")


def _advice_by_line(program: Program, kernel: Kernel) -> dict[tuple[str, int], list[Advice]]:
    """Return the advice on each line, that on most instructions first."""
    by_line: dict[tuple[str, int], list[Advice]] = {}
    for piece in advice_on(program, kernel):
        if piece.path is not None:
            by_line.setdefault((piece.path, piece.line), []).append(piece)
    return by_line


def _part(kernel: Kernel, by_line: CostliestLines, part: str) -> object:
    value = getattr(by_line, part)
    return _costs_document(kernel, value) if isinstance(value, dict) else value


def _costs_document(kernel: Kernel, costs: Mapping[str, int]) -> dict[str, Any]:
    """Return costs of a kernel, or of a part of it, as JSON has them: null for what the kernel's code does not tell."""
    unknown = dict.fromkeys(SPILL_COSTS.difference(kernel.costs))
    return {**costs, **unknown}


def _of_function(kernel: Kernel, function: CodeFunction, cycles: Cycles) -> tuple[Mapping[str, int], int | None]:
    """Return the costs of a function in the kernel's code, and the most registers that are live in it."""
    code, pressure = slice(function.code.start, function.code.stop), kernel.pressure
    peak = max(pressure.live[code], default=0) if pressure else None
    costs = costs_of(kernel.instructions.kinds[code])
    return _with_cycles(costs, {key: each[code] for key, each in cycles.items()}), peak


def _functions_table(kernel: Kernel, messages: str, width: int | None) -> Iterator[str]:
    """Return a table of the kernel's own code and each function in it, in the order of the code; all rows together are
    the kernel."""
    rows = []
    for function in kernel.functions:
        costs, peak = _of_function(kernel, function, {})
        *cells, _, _ = _row(function_name(function), costs, kernel.costs, "")
        rows.append([*cells, "", peak])
    return _table("function", rows, kernel.costs, ("live GRFs", messages), width)


def _table(
    title: str, rows: Sequence[Sequence[Cell]], total: Mapping[str, int], words: tuple[str, str], width: int | None
) -> Iterator[str]:
    """Return the table of these rows without the columns of what the kernel has none of; ``words`` are the headings of the
    last column and of messages."""
    last, messages = words
    shown = _columns(total)
    first, *columns = (messages if column.keys == _SENDS else column.heading for column in shown)
    has_some = [
        True,
        True,
        True,
        *(any(row[column] is not None for row in rows) for column in (_CERTAIN, _DEPTH)),
        *(bool(column.sum(total)) for column in shown[1:]),
        WAIT_CYCLES in total,
        True,
    ]
    headings = compress((title, first, "%", "certain", "loop depth", *columns, "waits most for", last), has_some)
    return table(tuple(headings), [list(compress(row, has_some)) for row in rows], width=width)


def _row(
    title: str,
    costs: Mapping[str, int],
    total: Mapping[str, int],
    source: str,
    waited: str = "",
    depth: int | None = None,
    certain: int | None = None,
) -> list[Cell]:
    first, *numbers = (column.sum(costs) for column in _columns(total))
    return [title, first, 100 * first / total["instructions"], certain, depth, *numbers, waited, source]


def _columns(total: Mapping[str, int]) -> Sequence[LineColumn]:
    return (*LINE_COLUMNS, *WAIT_COLUMNS) if WAIT_CYCLES in total else LINE_COLUMNS


def _with_cycles(costs: Mapping[str, int], cycles: Cycles) -> dict[str, int]:
    return {**costs, **{key: sum(each) for key, each in cycles.items()}}


def _mix(kernel: Kernel) -> Iterator[str]:
    """Yield the kernel's instructions by kind, each counted once, and the bytes of its messages."""
    costs = kernel.costs
    counts = {kind: costs[f"{kind}_instructions"] for kind in OTHER_KINDS}
    counts |= {
        f"{space} memory": sum(costs[f"{space}_{action}s"] for action in (LOAD, STORE, ATOMIC)) for space in SPACES
    }
    counts["prefetch"] = costs[PREFETCHES]
    words = [f"{count:,} {kind}" for kind, count in sorted(counts.items(), key=lambda item: -item[1]) if count]
    yield f"  {', '.join(words)}"
    sizes = [
        f"{space} {' and '.join(words)}"
        for space in SPACES
        if (words := _sizes(costs[f"{space}_load_bytes"], costs[f"{space}_store_bytes"]))
    ]
    uncounted, has_descriptors = costs["dynamic_messages"], packed_of(kernel.instructions) is not None
    if sizes:
        known = "at most" if has_descriptors or not uncounted else "that are known"
        yield f"  bytes {known}, if each instruction runs once with all lanes active: {', '.join(sizes)}"
    if costs.get("spill_stores") or costs.get("fill_loads"):
        spills, fills = plural(costs["spill_stores"], "spill store"), plural(costs["fill_loads"], "fill load")
        yield f"  {spills} of {costs['spill_store_bytes']:,} bytes, {fills} of {costs['spill_load_bytes']:,}"
    if uncounted and not has_descriptors:
        yield f"  {plural(uncounted, 'memory instruction')} whose bytes the code does not tell: they are in no sum"
    elif uncounted:
        yield f"  {plural(uncounted, 'message')} with a dynamic descriptor, whose bytes are not counted"


def _unknown_spills(kernel: Kernel, *, is_asked: bool) -> list[str]:
    """Return a line if the code does not tell which lines spill, and the compiler states that some do, or it ``is_asked``."""
    may_spill = is_asked or any(kernel.resources.spilled_registers.values())
    return [f"  {_UNKNOWN_SPILLS}"] if may_spill and not kernel.costs.keys() >= SPILL_COSTS else []


def _sizes(loaded: int, stored: int) -> list[str]:
    return [f"{size:,} {verb}" for size, verb in ((loaded, "read"), (stored, "written")) if size]
