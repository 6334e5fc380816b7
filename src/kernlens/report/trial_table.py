"""Trials as text and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from kernlens.analysis.cxx_names import kernel_title
from kernlens.model.trial import Change, Trial, TrialCode, Tried, TriedKernel
from kernlens.report.describe import plural
from kernlens.report.style import style
from kernlens.report.table import Cell, table
from kernlens.report.width import Name, shortened

#: Lines are at most so wide, unless all is asked for.
_WIDTH = 100
_FIGURES = ("instructions", "cycles")
#: Marks what changes results.
_MARK = " !"
#: Characters of a figure per work-item.
_PART = 8
_HEADINGS = ("tried", "instrs", "cycles", "SIMD", "GRFs", "spills", "loops", "note")


def trial_lines(tried: Tried, *, is_full: bool = False) -> Iterator[str]:
    """Yield for each kernel a table of what was tried, the best first, then what failed, and what the figures mean."""
    yield ""
    yield style(f"Tried on {tried.source} for {tried.device}, compiled by {tried.compiler}", bold=True)
    has_cycles = any(kernel.code.cycles is not None for kernel in tried.kernels)
    shown = dict[Change, None]()
    for kernel in tried.kernels:
        yield from _kernel_lines(kernel, has_cycles, None if is_full else _WIDTH)
        shown |= dict.fromkeys(trial.change for trial in (*kernel.ranked, *kernel.unranked))
        yield ""
    for change, reason in tried.failures:
        yield from _wrapped(f"{change.title}: {reason}")
    yield from _legend(tried, has_cycles, shown)


def _kernel_lines(kernel: TriedKernel, has_cycles: bool, width: int | None) -> Iterator[str]:
    words = f": {_words(kernel.code)}"
    name = Name(kernel_title(kernel.name))
    yield style(f"{name if width is None else shortened(name, width - len(words))}{words}", bold=True)
    trials = [*kernel.ranked, *kernel.unranked]
    if trials:
        shown = [place for place, heading in enumerate(_HEADINGS) if has_cycles or heading != "cycles"]
        rows = [_row(None, kernel.code, ""), *(_row(trial, trial.after, trial.note) for trial in trials)]
        yield from table(
            [_HEADINGS[place] for place in shown], [[row[place] for place in shown] for row in rows], width=width
        )
    same: dict[str, list[str]] = {}
    for trial in kernel.trials:
        if trial.is_same_code:
            same.setdefault(trial.note, []).append(trial.change.title)
    for note, titles in same.items():
        yield from _wrapped(f"{', '.join(titles)}: {note}" if note else f"same code: {', '.join(titles)}")
    for trial in kernel.trials:
        if trial.after is None:
            yield from _wrapped(f"{trial.change.title}: {trial.reason}")


def _words(code: TrialCode) -> str:
    simd = f"SIMD{code.simd}" if code.simd else "width unknown"
    spills = plural(code.spills, "spill message") if code.spills is not None else "spills unknown"
    return f"{simd}, {plural(code.instructions, 'instruction')}, {spills}"


def _row(trial: Trial | None, code: TrialCode | None, note: str) -> list[Cell]:
    assert code is not None
    title = "as it is" if trial is None else trial.change.title + (_MARK if trial.change.results else "")
    parts = [_part(trial, code, figure).rjust(_PART) for figure in _FIGURES]
    return [title, *parts, code.simd, code.grfs, code.spills, code.loops, note]


def _part(trial: Trial | None, code: TrialCode, figure: str) -> str:
    """Return the figure per work-item as it is, or by how much the change makes it larger or smaller."""
    value = trial.ratio(figure) if trial is not None else code.per_work_item(figure)
    if value is None:
        return "-"
    return f"{value:.1f}" if trial is None else f"{(value - 1) * 100:+.1f}%"


def _legend(tried: Tried, has_cycles: bool, shown: Iterable[Change]) -> Iterator[str]:
    figures = "Instructions and cycles" if has_cycles else "Instructions"
    sentences = [
        f"{figures} are compared per work-item (divided by SIMD), and only where loops and private memory are the same. Spills"
        " are messages that store or load spilled values.",
        "What is in a loop counts once, however often it runs.",
    ]
    if has_cycles:
        sentences.append("Cycles are IGC's estimate of one thread alone, loops once: not time.")
    if any("threads" in trial.note for kernel in tried.kernels for trial in kernel.trials):
        sentences.append("Fewer threads hide less of the waits for memory.")
    yield from _wrapped(" ".join(sentences), dim=True)
    titles: dict[str, list[str]] = {}
    for change in shown:
        if change.results:
            titles.setdefault(change.results, []).append(change.title)
    for results, of in titles.items():
        yield from _wrapped(f"! changes results: {', '.join(of)}: {results}", dim=True)


def _wrapped(text: str, *, dim: bool = False) -> Iterator[str]:
    lines = textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    yield from (style(line, dim=True) if dim else line for line in lines)


def tried_document(tried: Tried) -> dict[str, Any]:
    """Return the trials for JSON: changes, kernels with their figures before and after, and failures."""
    return {
        "source": tried.source,
        "device": tried.device,
        "toolchain": tried.compiler,
        "toolchain_name": tried.toolchain,
        "options": tried.options,
        "changes": [_change(change) for change in tried.changes],
        "kernels": [
            {"kernel": kernel.name, "as_it_is": figures_document(kernel.code), "tried": list(_trials(kernel))}
            for kernel in tried.kernels
        ],
        "failures": [{"change": change.key, "reason": reason} for change, reason in tried.failures],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "change": change.key,
        "title": change.title,
        "options": change.options,
        "removed": list(change.removed),
        "changes_results": change.results or None,
    }


def figures_document(code: TrialCode) -> dict[str, Any]:
    """Return the figures of one compile for JSON."""
    figures = asdict(code)
    del figures["digest"], figures["sub_group"], figures["nest"], figures["memory"]
    del figures["issue"], figures["items"]
    figures["private_bytes"], figures["stack_bytes"], _ = code.memory
    figures["grf_count"], figures["spill_messages"] = figures.pop("grfs"), figures.pop("spills")
    return figures


def _trials(kernel: TriedKernel) -> Iterator[dict[str, Any]]:
    ranks = {trial.change.key: rank for rank, trial in enumerate(kernel.ranked, start=1)}
    for trial in kernel.trials:
        yield {
            "change": trial.change.key,
            "rank": ranks.get(trial.change.key),
            "is_same_code": trial.is_same_code,
            "figures": figures_document(trial.after) if trial.after is not None else None,
            **{f"{figure}_per_work_item_ratio": _rounded(trial.ratio(figure)) for figure in _FIGURES},
            "note": trial.note or None,
        }


def _rounded(ratio: float | None) -> float | None:
    return None if ratio is None else round(ratio, 4)
