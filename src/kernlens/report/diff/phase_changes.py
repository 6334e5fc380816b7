"""The phases of two kernels without source lines beside one another, as a table and as a document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernlens.analysis.comparison.matching import common_pairs
from kernlens.analysis.phases import Phase, phases_of
from kernlens.model.kernel import Kernel
from kernlens.report.phase_words import passes_ahead, phase_document
from kernlens.report.style import style
from kernlens.report.table import table

Both = tuple[Phase | None, Phase | None]


def phase_pairs(old: Kernel, new: Kernel) -> list[Both]:
    """Return the phases of both kernels in the order of their code, those together that are alike in kind: a loop of the same
    micro kernel, with matrix products or without. Empty if one of them has no phases."""
    sides = phases_of(old), phases_of(new)
    if not all(sides):
        return []
    pairs: list[Both] = []
    ends = 0, 0
    same = common_pairs(*([_kind(phase) for phase in side] for side in sides))
    for at in (*same, (len(sides[0]), len(sides[1]))):
        pairs += [(phase, None) for phase in sides[0][ends[0] : at[0]]]
        pairs += [(None, phase) for phase in sides[1][ends[1] : at[1]]]
        pairs += [(sides[0][at[0]], sides[1][at[1]])] if at in same else []
        ends = at[0] + 1, at[1] + 1
    return pairs


def phase_table(old: Kernel, new: Kernel) -> Iterator[str]:
    """Yield a table of the phases that differ; nothing if both kernels do not have phases."""
    figures = [(pair, _figures(pair[0]), _figures(pair[1])) for pair in phase_pairs(old, new)]
    changed = [each for each in figures if each[1] != each[2]]
    headings = [heading for heading in _figures(None) if any(each[1][heading] != each[2][heading] for each in changed)]
    if changed:
        yield style("  phases that differ, of which cycles are the compiler's estimate, each loop once:", dim=True)
        cells = [[_name(pair), *(_cell(before[it], after[it]) for it in headings)] for pair, before, after in changed]
        yield from (f"  {line}" for line in table(["phase", *headings], cells))


def phases_documents(old: Kernel, new: Kernel) -> list[dict[str, Any]]:
    """Return the phases of both kernels, those together that belong together; None stands for one that a side lacks."""
    return [
        {
            side: None if phase is None else phase_document(kernel, phase)
            for side, kernel, phase in zip(("old", "new"), (old, new), pair, strict=True)
        }
        for pair in phase_pairs(old, new)
    ]


def _kind(phase: Phase) -> tuple[bool, str, bool]:
    return phase.depth > 0, phase.name.partition(" of ")[2], phase.products is not None


def _name(pair: Both) -> str:
    old, new = (None if phase is None else phase.name for phase in pair)
    return f"{old} -> {new}" if old and new and old != new else new or f"{old}"


def _figures(phase: Phase | None) -> dict[str, str]:
    """Return what a phase is compared by; of none empty texts, which state the headings and their order."""
    products = phase.products if phase is not None else None
    cycles = phase.cycles if phase is not None else None
    ahead = [passes_ahead(each) for each in phase.requests if each.ahead] if phase is not None else []
    messages = sum(each.count for each in phase.requests) if phase is not None else 0
    return {
        "instructions": f"{len(phase.code):,}" if phase is not None else "",
        "matrix products": f"{products.count:,}" if products is not None else "",
        "tiles": f"{products.accumulators} of {products.rows} x {products.columns}" if products is not None else "",
        "deep": f"{products.depth or '-'}" if products is not None else "",
        "requests": f"{messages:,}" if messages else "",
        "passes before": ", ".join(ahead),
        "barriers": f"{phase.barriers}" if phase is not None and phase.barriers else "",
        "cycles to issue": f"{cycles.issue:,}" if cycles is not None else "",
        "of products": f"{cycles.products:,}" if cycles is not None and cycles.products else "",
        "to wait": f"{cycles.wait:,}" if cycles is not None and cycles.wait else "",
    }


def _cell(old: str, new: str) -> str:
    return old if old == new else f"{old or '-'} -> {new or '-'}"
