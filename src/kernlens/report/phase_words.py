"""The phases of code without source lines, in words and as a document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernlens.analysis.phases import Phase, PhaseCycles, Requests, phases_of
from kernlens.model.kernel import Kernel
from kernlens.report.describe import plural
from kernlens.report.json_text import attributes

_NAMES = {"slm": "SLM"}


def phase_headings(kernel: Kernel) -> dict[int, list[str]]:
    """Return the lines above each phase, by the row of its first instruction. Raises UnsupportedError like
    ``Kernel.instructions``."""
    offsets = kernel.instructions.offsets
    return {phase.code.start: [*_words(phase, offsets[phase.code.start])] for phase in phases_of(kernel)}


def phases_document(kernel: Kernel) -> dict[str, Any]:
    """Return the phases of a kernel that has some, under their key; nothing of others."""
    phases = [phase_document(kernel, phase) for phase in phases_of(kernel)]
    return {"phases": phases} if phases else {}


def phase_document(kernel: Kernel, phase: Phase) -> dict[str, Any]:
    """Return a phase of a kernel, as docs/json.md has it."""
    offsets, sizes = kernel.instructions.offsets, kernel.instructions.sizes
    last, products, cycles = phase.code[-1], phase.products, phase.cycles
    return {
        "name": phase.name,
        "offset": offsets[phase.code.start],
        "size": offsets[last] + sizes[last] - offsets[phase.code.start],
        "loop_depth": phase.depth,
        "instructions": len(phase.code),
        "products": None
        if products is None
        else attributes(products, "count", "accumulators", "rows", "columns", "depth", "is_exact"),
        "requests": [
            attributes(each, "action", "space", "is_block", "count", "size") | {"ahead": list(each.ahead)}
            for each in phase.requests
        ],
        "barriers": phase.barriers,
        "cycles": None
        if cycles is None
        else {"issue": cycles.issue, "products": cycles.products}
        | {"waits": [{"operation": name, "cycles": count} for name, count in cycles.waits]},
    }


def _words(phase: Phase, offset: int) -> Iterator[str]:
    """Yield a phase with its instructions and the matrix products in them: how large the tiles are that they add to, and how
    many products one pass adds to each element. Of a loop and of code with products, a second line has what they ask of
    memories, and the cycles."""
    depth = f", loop depth {phase.depth}" if phase.depth > 1 else ""
    words = f"{phase.name} ({offset:#06x}, {plural(len(phase.code), 'instruction')}{depth})"
    products = phase.products
    if products is not None:
        share = 100 * products.count / len(phase.code)
        tiles = f"{plural(products.accumulators, 'tile')} of {products.rows} x {products.columns}"
        deep = "by depths that differ or are not known" if products.depth is None else f"{products.depth} deep"
        ends = "" if products.is_exact else ", if no branch leads around any"
        words += f": {plural(products.count, 'matrix product')} ({share:.1f}%) on {tiles}, {deep} in a pass{ends}"
    yield words
    if products is None and not phase.depth:
        return
    asked = [_request(each, phase.cycles) for each in phase.requests]
    asked += [plural(phase.barriers, "barrier")] if phase.barriers else []
    details = "; ".join(filter(None, (", ".join(asked), _cycles(phase.cycles, has_products=products is not None))))
    if details:
        yield f"    {details}"


def _request(requests: Requests, cycles: PhaseCycles | None) -> str:
    space = _NAMES.get(requests.space, requests.space)
    words = plural(requests.count, f"{space} {requests.action}")
    words += " of 2D blocks" if requests.is_block else ""
    words += f" ({requests.size:,} bytes)" if requests.size else ""
    if not requests.ahead:
        return words
    passes, least = passes_ahead(requests), requests.ahead[0]
    whole = cycles.issue + cycles.wait if cycles is not None else 0
    estimate = f" ({least * whole:,.0f} cycles)" if whole and least else ""
    return f"{words}, with {passes} {'pass' if passes == '1' else 'passes'}{estimate} of them before the loop"


def passes_ahead(requests: Requests) -> str:
    """Return how many passes of a loop's prefetches are before it: the fewest, and the most if addresses differ in that."""
    least, most = requests.ahead[0], requests.ahead[-1]
    return f"{least:g}" if least == most else f"{least:g} and {most:g}"


def _cycles(cycles: PhaseCycles | None, *, has_products: bool) -> str:
    if cycles is None or not cycles.issue:
        return ""
    issue = f"issues for {plural(cycles.issue, 'cycle')}"
    issue += (
        f", {cycles.products:,} of them ({100 * cycles.products / cycles.issue:.0f}%) products" if has_products else ""
    )
    waits = ", ".join(f"{count:,} for {name}" for name, count in cycles.waits[:3] if count)
    return f"{issue}, and waits {waits}" if waits else issue
