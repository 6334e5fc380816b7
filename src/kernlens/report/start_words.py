"""Where to start in an application that was observed, in words and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernlens.analysis.line_texts import source_line
from kernlens.analysis.observed_code import observed_code, observed_texts
from kernlens.analysis.start_here import Start, StartLine
from kernlens.report.behaviour_words import COUNTED
from kernlens.report.describe import kernel_words, plural

#: Of so many kernels it is said where to start: of one, its own causes say it.
LEAST = 2
_WORK = "work: instructions of sub-groups, units and wavefronts of memory, and atomics that follow each other"
_TIMED = "each kernel weighs the device's time of its launches, which its lines share as its work or cycles; "
#: All work and all cycles, if kernels are weighed by the device's time.
_WEIGHED = ("all work, weighed by the device's time", "all cycles, weighed so")
_ESTIMATE = "cycles: those that IGC estimates of each instruction, as often as it ran"


def start_lines(start: Start, least: int = LEAST) -> Iterator[str]:
    """Yield the lines, below a heading: for each its kernel, place, cause and what it wastes, its text, and what to try.
    Nothing if fewer kernels were observed than ``least``."""
    if start.kernels < least or not start.lines:
        return
    names = {each.program.name for each in start.lines}
    launches = f"{start.launches:,} launch{'' if start.launches == 1 else 'es'}"
    yield f"Start here: {plural(start.kernels, 'kernel')} in {launches}, {COUNTED}"
    for number, line in enumerate(start.lines, 1):
        where = f"{_kernel(line, len(names) > 1)}, {place_of(line)}" if line.place else _kernel(line, len(names) > 1)
        yield f"  {number}. {where}: {start_sentence(line)}"
        text = text_of(line)
        yield from (f"       {each}" for each in (text, line.cause.action if line.cause else None) if each)
    is_timed = start.lines[0].is_timed
    yield f"  {_TIMED if is_timed else ''}{_WORK}{f'; {_ESTIMATE}' if start.has_estimate else ''}"


def _kernel(line: StartLine, has_program: bool) -> str:
    return f"{kernel_words(line.kernel)}{f' ({line.program.name})' if has_program else ''}"


def place_of(line: StartLine) -> str:
    """Return the file and line, "" if it has none."""
    return f"{line.place.path.rpartition('/')[2]}:{line.place.line}" if line.place else ""


def text_of(line: StartLine) -> str | None:
    """Return the text of the source line; None if it is not known."""
    observed = observed_code(line.kernel)
    if line.place is None or observed is None:
        return None
    texts: Mapping[str, Sequence[str]] = observed_texts(line.program, observed)
    return source_line(texts, line.place.path, line.place.line)


def start_sentence(line: StartLine) -> str:
    """Return what is to be said of a line, without its place."""
    cause = line.cause
    all_work, all_cycles = _WEIGHED if line.is_timed else ("all work", "all cycles")
    cycles = "" if not line.cycles else f"; whatever it wastes, the line takes {_percent(line.cycles)} of {all_cycles}"
    if cause is None:
        return f"no waste is known; {_percent(line.share)} of {all_work}{cycles}"
    own = "" if cause.share is None else f" ({_percent(cause.share)} of this kernel's own {cause.resource})"
    return f"{cause.kind}: {cause.sentence}; it wastes {_percent(line.share)} of {all_work}{own}{cycles}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share >= 0.01 or not share else "less than 1%"


def start_document(start: Start) -> list[dict[str, Any]]:
    """Return the lines for JSON, those of one kernel too."""
    return [
        {
            "program": line.program.name,
            "kernel": line.kernel.name,
            "path": line.place.path if line.place else None,
            "line": line.place.line if line.place else None,
            "kind": line.cause.kind if line.cause else None,
            "sentence": start_sentence(line),
            "action": line.cause.action if line.cause else None,
            "source": text_of(line),
            "work_share": round(line.share, 4),
            "is_timed": line.is_timed,
            "cycles_share": None if line.cycles is None else round(line.cycles, 4),
        }
        for line in start.lines
    ]
