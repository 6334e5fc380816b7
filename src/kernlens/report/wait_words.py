"""Waits of instructions and lines in words, as remarks of listings, cells of tables, JSON and CSV.

They are an estimate, of the compiler or another tool (``Waits.origin``), which stands wherever they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from operator import mul
from typing import Any

from kernlens.analysis.flow.register_peak import line_of
from kernlens.analysis.line_waits import WaitedFor, operation, waits_by_line
from kernlens.model.figures import WAITS, figures_of
from kernlens.model.kernel import Kernel
from kernlens.model.line_code import NO_CODE, LineCode
from kernlens.model.waits import READ, TAKEN, Wait, Waits, share_of
from kernlens.report.describe import plural, short_names
from kernlens.report.json_text import attributes
from kernlens.report.loop_answer import weights_of
from kernlens.report.style import style

#: What is waited for besides results, by the reason.
_PARTS = {READ: "operands of the ", TAKEN: "token of the "}
#: What a line waits for is named so often; the others are counted.
_NAMED = 3
#: The columns that CSV gets besides.
CSV_COLUMNS = ("cycle", "issue_cycles", "wait_cycles", "waits_for", "wait_reason")


def wait_heading(kernel: Kernel) -> Iterator[str]:
    """Yield the kernel's cycles in a line, or why they are not known."""
    if kernel.waits is None:
        yield style(f"  {kernel.waits_reason}", fg="yellow")
        return
    weights = weights_of(kernel)
    if weights is None:
        origin, values = kernel.waits.origin, [figure.read(kernel) for figure in WAITS]
    else:
        issue = sum(map(mul, kernel.waits.issue, weights))
        waited = sum(wait.cycles * weights[row] for row, wait in kernel.waits.waits.items())
        is_observed = kernel.trip_weights is not None and kernel.trip_weights.observed is not None
        how = "times the observed runs" if is_observed else "weighed by the trips"
        origin, values = f"{kernel.waits.estimate}, {how}", [issue, waited, share_of(waited, issue)]
    phrases = (figure.phrase(value) for figure, value in zip(WAITS, values, strict=True))
    yield f"  {origin}: {', '.join(filter(None, phrases))}"


class WaitWords:
    """The words on a kernel's waits; those of lines are weighed where trips of loops are stated.

    Files are named by their last part; a line's own file is not named."""

    def __init__(self, kernel: Kernel, waits: Waits) -> None:
        self._kernel = kernel
        self._waits = waits
        self._weights = weights_of(kernel)
        self.by_line = waits_by_line(kernel, waits, self._weights)
        paths = {place.path for place in kernel.source_map.places if place} if kernel.source_map else set()
        self._names = short_names(paths)

    def remarks(self) -> Iterator[tuple[int, str]]:
        """Yield each row that waits, with the remark behind it."""
        offsets = self._kernel.instructions.offsets
        for row, wait in self._waits.waits.items():
            (path, _, _), _ = line_of(row, self._kernel.source_map)
            where = f"{offsets[wait.producer]:#06x}, {self._producer(self._waited_for(wait), path)}"
            yield row, style(f"  ; waits {plural(wait.cycles, 'cycle')} for {where}", fg="yellow")

    def of_line(self, path: str, line: int, code: LineCode) -> str:
        """Return how long the line's instructions issue, and for whom they wait how long; ``code`` are its own ones."""
        rows, weights = chain.from_iterable(code), self._weights
        issue = sum(self._waits.issue[row] * (weights[row] if weights else 1) for row in rows)
        waited = self.by_line.get((path, line), [])
        words = f"issues for {plural(issue, 'cycle')}"
        certain = (
            "" if code.certain == code.count else f"; {code.certain:,} of {plural(code.count, 'instruction')} certain"
        )
        if not waited:
            return words + certain
        total = f"{sum(each.cycles for each in waited):,}: " if len(waited) > 1 else ""
        return f"{words}, waits {total}{self.waited_words(waited, path)}{certain}"

    def most_waited(self, path: str, line: int) -> str:
        """Return for whom a line waits longest; empty if for nobody."""
        waited = self.by_line.get((path, line), ())
        return f"{waited[0].cycles:,} for {self._producer(waited[0], path)}" if waited else ""

    def waited_words(self, waited: Sequence[WaitedFor], path: str | None) -> str:
        """Return for whom a line of the file ``path`` waits, most cycles first."""
        named = [f"{each.cycles:,} for {self._producer(each, path)}" for each in waited[:_NAMED]]
        others = sum(each.cycles for each in waited[_NAMED:])
        return ", ".join([*named, *([f"{others:,} for others"] if others else [])])

    def _waited_for(self, wait: Wait) -> WaitedFor:
        place, is_certain = line_of(wait.producer, self._kernel.source_map)
        done = operation(self._kernel.instructions, wait.producer)
        return WaitedFor(*place, done, wait.why, wait.cycles, 1, int(is_certain))

    def _producer(self, each: WaitedFor, path: str | None) -> str:
        where = each.origin
        if each.path is not None:
            where = f"line {each.line}" if each.path == path else f"{self._names[each.path]}:{each.line}"
        return f"{where} ({_PARTS.get(each.why, '')}{each.operation})"


class WaitNotes:
    """A kernel's waits beside its lines and instructions; only the reason above them where they are not known."""

    heading = meaning = ""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._words = WaitWords(kernel, kernel.waits) if kernel.waits else None

    def above(self) -> Iterator[str]:
        """Yield the kernel's cycles in a line, or why they are not known."""
        yield from wait_heading(self._kernel)

    def of_line(self, path: str, line: int) -> str:
        """Return nothing: there is no column."""
        return ""

    def below(self, path: str, line: int) -> Iterator[str]:
        """Yield the line on a source line's cycles, if they are known."""
        if self._words is not None and self._kernel.source_map is not None:
            code = self._kernel.source_map.lines.get((path, line), NO_CODE)
            yield style(self._words.of_line(path, line, code), fg="yellow")

    def rows(self) -> Iterator[tuple[int, str]]:
        """Yield the instructions that wait, with for whom and for how long."""
        return self._words.remarks() if self._words else iter(())


def waits_document(kernel: Kernel, *, has_lines: bool) -> dict[str, Any]:
    """Return the ``waits`` of a kernel in the document; ``has_lines``: with each line that has cycles."""
    waits = kernel.waits
    document: dict[str, Any] = {
        **figures_of(kernel, WAITS),
        "estimate": None if waits is None else waits.origin,
        "reason": kernel.waits_reason,
    }
    if not has_lines:
        return document
    if waits is None or kernel.source_map is None:
        return document | {"lines": None}
    by_line = waits_by_line(kernel, waits)
    lines = [
        {
            "path": path,
            "line": line,
            **attributes(code, "count", "certain"),
            "issue_cycles": sum(sum(waits.issue[run.start : run.stop]) for run in code),
            "wait_cycles": sum(each.cycles for each in by_line.get((path, line), ())),
            "waits_for": waited_documents(by_line.get((path, line), ())),
        }
        for (path, line), code in sorted(kernel.source_map.lines.items())
    ]
    return document | {"lines": lines}


def waited_documents(waited: Sequence[WaitedFor]) -> list[dict[str, Any]]:
    """Return what a line waits for in the document."""
    return [each._asdict() | {"origin": each.origin or None} for each in waited]


def instruction_texts(kernel: Kernel) -> list[str] | None:
    """Return the JSON text of each instruction's cycles, to stand among its keys; None where they are not known."""
    waits = kernel.waits
    if waits is None:
        return None
    texts = [
        f',"cycle":{start},"issue_cycles":{issue},"wait":null'
        for start, issue in zip(waits.starts, waits.issue, strict=True)
    ]
    offsets = kernel.instructions.offsets
    for row, wait in waits.waits.items():
        told = f'{{"cycles":{wait.cycles},"for":{offsets[wait.producer]},"why":"{wait.why}"}}'
        texts[row] = texts[row].removesuffix("null") + told
    return texts


def csv_cells(kernel: Kernel) -> list[tuple[object, ...]]:
    """Return each instruction's cells below ``CSV_COLUMNS``; all are empty where the cycles are not known."""
    waits = kernel.waits
    if waits is None:
        return [("",) * len(CSV_COLUMNS)] * len(kernel.instructions)
    offsets = kernel.instructions.offsets
    cells: list[tuple[object, ...]] = [(*both, 0, "", "") for both in zip(waits.starts, waits.issue, strict=True)]
    for row, wait in waits.waits.items():
        cells[row] = (waits.starts[row], waits.issue[row], wait.cycles, offsets[wait.producer], wait.why)
    return cells
