"""The behaviour of a kernel on its data, beside the lines of a listing, and as the table of those that move most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernlens.analysis.line_texts import source_line
from kernlens.analysis.observed_causes import causes_of_launches
from kernlens.analysis.observed_code import Line, ObservedCode, observed_code, observed_texts
from kernlens.cli.answers.behaviour_document import causes_document, line_document
from kernlens.model.behaviour import ObservedLine
from kernlens.model.figures import EXCESS, MOVED, RUNS
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.report.behaviour_words import (
    cause_sentence,
    cause_words,
    fault_sentence,
    line_sentences,
    observed_sentences,
)
from kernlens.report.describe import kernel_heading, plural, short_names
from kernlens.report.listing import heading
from kernlens.report.style import style
from kernlens.report.table import Cell, table
from kernlens.verbs.programs import Selection

#: The columns that CSV gets besides: those of the instruction's line.
CSV_COLUMNS = ("runs", "lanes", "requests", "units", "ideal_units", "local_requests", "waves", "ideal_waves")
#: The order of a kernel's lines in their source.
BY_LINE = "line"
#: Faults that are named one by one, and lines of causes.
_NAMED, _MOST_CAUSES = 4, 24
#: What no line does, where none is to be shown.
_NOTHING = {MOVED: "accesses memory", EXCESS: "moves more than it must", RUNS: "ran"}
#: So many lanes of a request that change one address are too many.
_CONTENDED = 2
_WIDTH = 9


class BehaviourNotes:
    """The counts of a kernel's launches as columns of its source lines, and sentences above them."""

    def __init__(self, program: Program, observed: ObservedCode) -> None:
        self._observed = observed
        self._causes = causes_of_launches(observed, observed_texts(program, observed))
        columns = ["runs", "lanes"] if observed.launches else []
        columns += ["requests", "units", "ideal units"] if observed.has_memory else []
        columns += ["local", "waves", "ideal waves"] if observed.has_local else []
        self._columns = [each.rjust(_WIDTH) for each in columns]
        self.heading = " ".join(self._columns)
        self.meaning = "; ".join(_meanings(observed))

    def above(self) -> list[str]:
        """Return the sentences above a kernel's lines."""
        placeless = [cause for cause in self._causes if cause.place is None]
        return [*_above(self._observed), *(f"  {cause_sentence(cause)}; {cause.action}" for cause in placeless)]

    def of_line(self, path: str, line: int) -> str:
        """Return the cells of a line; blank if it did not run, or has no accesses."""
        counts = self._observed.lines.get((path, line))
        if counts is None:
            return " " * len(self.heading)
        cells = _cells(counts)
        shown = (
            cells[:2]
            + (cells[2:5] if self._observed.has_memory else ())
            + (cells[5:] if self._observed.has_local else ())
        )
        return " ".join(_number(cell).rjust(len(heading)) for cell, heading in zip(shown, self._columns, strict=True))

    def below(self, path: str, line: int) -> Iterator[str]:
        """Yield what the line wastes, by which cause, and what to try."""
        for cause in self._causes:
            if cause.place is not None and (cause.place.path, cause.place.line) == (path, line):
                yield style(cause_words(cause), fg="yellow")
                yield f"  {cause.action}"

    def rows(self) -> Iterator[tuple[int, str]]:
        """Return nothing: instructions have no counts of their own."""
        return iter(())


def _meanings(observed: ObservedCode) -> Iterator[str]:
    if observed.launches:
        yield f"runs by work-items, of {observed.machine.width} lanes how many are active"
    if observed.has_memory:
        yield f"requests to global memory, units of {observed.unit} bytes, and the fewest"
    if observed.has_local:
        yield "requests to local memory, wavefronts, and the fewest"


def _cells(line: ObservedLine) -> tuple[Cell, ...]:
    moved = (line.requests, line.units, line.least) if line.requests else (None,) * 3
    local = (line.local_requests, line.wavefronts, line.least_wavefronts) if line.local_requests else (None,) * 3
    return (line.runs, None if line.lanes is None else round(line.lanes, 1), *moved, *local)


def _number(cell: Cell) -> str:
    return "" if cell is None else f"{cell:,}"


def _above(observed: ObservedCode) -> list[str]:
    """Return what stands above the lines: what the counts are, and the faults."""
    faults = observed.faults
    told = [style(f"fault: {fault_sentence(fault)}", fg="red") for fault in faults[:_NAMED]]
    if len(faults) > _NAMED:
        told.append(f"and {plural(len(faults) - _NAMED, 'more fault')} (--json has all)")
    return [f"  {sentence}" for sentence in (*observed_sentences(observed), *told)]


def observed_table(program: Program, kernel: Kernel, count: int, order: str, width: int | None = None) -> list[str]:
    """Return a table of the ``count`` lines that move most, or run most, and the causes of waste below it."""
    observed = observed_code(kernel)
    above = heading(program, kernel)[:-1] if kernel.code_size else _without_code(program, kernel)
    if observed is None:
        return [*above, "  not observed: kernlens observe -o FILE.klens saves what a kernel does on data", ""]
    above += [*_above(observed), ""]
    if not observed.lines:
        return above
    ordered, texts = _ordered(observed, order), observed_texts(program, observed)
    if not ordered:
        return [*above, f"  no line {_NOTHING[order]}", *_causes(observed, texts), ""]
    shown, others = ordered[:count], ordered[count:]
    others += [key for key in observed.lines if key not in set(ordered)]
    names = short_names({path for path, _ in shown})
    total = sum(_moved(observed, line) for line in observed.lines.values())
    rows: list[list[Cell]] = []
    for path, line in shown:
        counts = observed.lines[path, line]
        moved = _moved(observed, counts)
        share = 100 * moved / total if total and moved else None
        where, text = f"{names[path]}:{line}", source_line(texts, path, line) or ""
        rows.append([where, moved or None, share, *_cells(counts), text])
    if others:
        moved = sum(_moved(observed, observed.lines[key]) for key in others)
        rows.append(
            [plural(len(others), "other line"), moved or None, 100 * moved / total if total and moved else None,
             *[None] * len(CSV_COLUMNS), ""]
        )  # fmt: skip
    headings = ("line", "moved bytes", "%", *(each.replace("_", " ") for each in CSV_COLUMNS), "source")
    filled = [number for number, _ in enumerate(headings) if any(row[number] is not None for row in rows)]
    lines = table([headings[each] for each in filled], [[row[each] for each in filled] for row in rows], width=width)
    return [*above, *lines, *_causes(observed, texts), ""]


def _without_code(program: Program, kernel: Kernel) -> list[str]:
    words = f"  {kernel.line_table_reason}: these are counts of its source lines alone"
    return [style(kernel_heading(program, kernel), bold=True), words]


def cause_lines(program: Program, kernel: Kernel) -> list[str]:
    """Return the causes of waste of a kernel that was observed, below a blank line and a heading; nothing of another."""
    observed = observed_code(kernel)
    return _causes(observed, observed_texts(program, observed)) if observed else []


def _causes(observed: ObservedCode, texts: Mapping[str, list[str]]) -> list[str]:
    """Return the causes as ``observe`` prints them, those of all launches together, each once."""
    causes = causes_of_launches(observed, texts)
    lines = [f"  {line}" for cause in causes for line in (cause_sentence(cause, observed.source), f"  {cause.action}")]
    more = len(lines) - _MOST_CAUSES
    return [
        *(["", style("Causes, by what they waste", bold=True)] if lines else []),
        *lines[:_MOST_CAUSES],
        *([f"  and {plural(more // 2, 'more cause')} (--json has all)"] if more > 0 else []),
    ]


def _moved(observed: ObservedCode, line: ObservedLine) -> int:
    return line.units * observed.unit


def _cost(line: ObservedLine, order: str) -> tuple[int, int, int]:
    """Return what a line costs in an order: of global memory first, then of local memory, then lanes that wait for others."""
    waves = line.wavefronts or 0
    if order == RUNS:
        return line.sub_group_runs, line.runs, 0
    if order == EXCESS:
        waits = line.atomics * (line.contention - 1) if line.contention >= _CONTENDED else 0
        return line.units - line.least, waves - (line.least_wavefronts or 0), waits
    return line.units, waves, 0


def _ordered(observed: ObservedCode, order: str) -> list[Line]:
    """Return the lines in an order, those first that move or run most, without those that cost none of it."""
    if order == BY_LINE:
        return sorted(observed.lines)
    costs = {key: _cost(line, order) for key, line in observed.lines.items()}
    costly = sorted(key for key, cost in costs.items() if max(cost) > 0)
    return sorted(costly, key=costs.__getitem__, reverse=True)


def by_total(selection: Selection, order: str, *, is_together: bool = True) -> Selection:
    """Return the kernels in an order of lines, by what their lines cost together: the largest first, those that nobody observed
    last. ``is_together``: the kernels of a program stay together."""

    def total(kernel: Kernel) -> tuple[int, ...]:
        observed = observed_code(kernel)
        if observed is None:
            return (0,)
        costs = [_cost(line, order) for line in observed.lines.values()]
        return (1, *map(sum, zip(*costs, strict=True)))

    totals = {id(kernel): total(kernel) for _, kernels in selection for kernel in kernels}
    ordered = [
        (program, sorted(kernels, key=lambda each: totals[id(each)], reverse=True)) for program, kernels in selection
    ]
    if not is_together:
        ordered = [(program, [kernel]) for program, kernels in ordered for kernel in kernels]
    return sorted(ordered, key=lambda both: totals[id(both[1][0])], reverse=True)


def top_document(program: Program, kernel: Kernel, count: int, order: str) -> dict[str, Any]:
    """Return the keys of a kernel in the document of ``--top --sort moved``: what the counts are, the faults, and the lines,
    each with a sentence on every access that moves more than it must."""
    observed = observed_code(kernel)
    if observed is None:
        return {"observed": None, "observed_lines": None, "causes": []}
    texts = observed_texts(program, observed)
    lines = [
        {
            **line_document(observed.lines[key]),
            "moved_bytes": _moved(observed, observed.lines[key]),
            "source": source_line(texts, *key),
            "accesses": list(line_sentences(observed, key)),
        }
        for key in _ordered(observed, order)[:count]
    ]
    whole = {"sentences": list(observed_sentences(observed)), "faults": list(map(fault_sentence, observed.faults))}
    return {"observed": whole, "observed_lines": lines, **causes_document(program, kernel)}


def csv_cells(kernel: Kernel) -> Iterator[tuple[object, ...]]:
    """Yield the further cells of each instruction: the counts of its line, empty where it has none."""
    observed, source_map = observed_code(kernel), kernel.source_map
    lines: Mapping[Line, ObservedLine] = observed.lines if observed else {}
    for index in range(len(kernel.instructions)):
        place = source_map.place(index) if source_map else None
        counts = lines.get((place.path, place.line)) if place else None
        yield tuple("" if cell is None else cell for cell in _cells(counts)) if counts else ("",) * len(CSV_COLUMNS)
