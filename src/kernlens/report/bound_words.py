"""The bound of a kernel, its occupancy, and the sentences on it besides advice, in words and as a document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernlens.analysis.core_cycles import ATOMICS, CACHE, ISSUE, LOCAL_MEMORY, MEMORY, WAIT
from kernlens.analysis.kernel_bound import KernelBound, kernel_bound, observed_sizes
from kernlens.analysis.kernel_notes import kernel_notes
from kernlens.model.advice import AdvisedKernel
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.report.launch_words import occupancy_words

#: The share of an operation among the waits from which on it is named.
_LEAST = 0.1
_NAMES = {
    ISSUE: "instructions",
    WAIT: "waits",
    CACHE: "lines of the cache",
    MEMORY: "memory's bandwidth",
    LOCAL_MEMORY: "local memory",
    ATOMICS: "atomics on one address",
}


def about_kernel(advised: AdvisedKernel) -> Iterator[str]:
    """Yield the sentences on a kernel besides its advice, its bound, and its occupancy."""
    kernel = advised.kernel
    yield from kernel_notes(advised)
    yield bound_words(kernel_bound(advised.program, kernel))
    yield f"occupancy{occupancy_words(kernel.launch_limits, observed_sizes(kernel))}"


def bound_words(bound: KernelBound) -> str:
    """Return the bound with its figures."""
    if not bound.threads:
        return f"bound: unknown, as {bound.reason}"
    size = f"work-groups of {bound.work_group:,}" if bound.work_group else "the best size of work-groups"
    threads = f"{bound.needed:,} threads of an engine hide its waits, and {bound.threads:g} fit with {size}"
    named = [f"{100 * share:.0f}% for {name}" for name, share in bound.waits[:2] if share >= _LEAST]
    if bound.cycles:
        (first, most), *others = bound.cycles
        waits = f" ({', '.join(named)})" if first == WAIT and named else ""
        rest = ", ".join(f"{_NAMES[name]} {cycles:,.0f}" for name, cycles in others)
        less = f"; the others, each alone: {rest}" if rest else ""
        part = ", estimated from the work-groups that ran" if bound.is_partial else ""
        filled = f" at {100 * bound.fill:.2g}% of its threads" if bound.fill is not None else ""
        board = f"; cores and memory are those of {bound.board}{filled}" if bound.board else ""
        return f"bound: {_NAMES[first]}{waits}: {most:,.0f} cycles of the busiest core{part}{less}; {threads}{board}"
    if bound.bytes is None:
        memory = "memory's bandwidth unknown, as nobody observed its bytes"
    else:
        memory = f"memory has to move {bound.bytes:.2g} bytes in a cycle that an engine issues"
    if not bound.kind:
        return f"bound: {bound.reason}; {threads}; {memory}"
    if bound.kind == WAIT:
        return f"bound: waits, {', '.join(named)}; {threads}; {memory}"
    return f"bound: instructions or bandwidth, not waits, if no load takes longer than IGC assumes; {threads}; {memory}"


def bounds_words(old: KernelBound, new: KernelBound) -> str:
    """Return the cycles of two bounds, and how many times the first are of the second."""
    before, after = old.cycles[0][1], new.cycles[0][1]
    names = " -> ".join(dict.fromkeys((_NAMES[old.kind], _NAMES[new.kind])))
    cycles = f"{after:,.0f} cycles of the busiest core by the model of the bound"
    if f"{after:,.0f}" == f"{before:,.0f}":
        return f"{cycles}, as before; bound: {names}"
    times = f"{before / after:.2f} times fewer" if after <= before else f"{after / before:.2f} times more"
    return f"{cycles}, before {before:,.0f}: {times}; bound: {names}"


def about_document(advised: AdvisedKernel) -> dict[str, Any]:
    """Return the same as JSON has it."""
    return {"notes": list(kernel_notes(advised)), **bound_document(advised.program, advised.kernel)}


def bound_document(program: Program, kernel: Kernel) -> dict[str, Any]:
    """Return the bound of a kernel as JSON has it."""
    bound = kernel_bound(program, kernel)
    return {
        "bound": {
            "kind": bound.kind or None,
            "reason": bound.reason or None,
            "issue_cycles": round(bound.issue) if bound.threads else None,
            "wait_cycles": round(bound.wait) if bound.threads else None,
            "threads": bound.threads or None,
            "threads_needed": bound.needed or None,
            "work_group": bound.work_group or None,
            "waits": [{"operation": name, "share": round(share, 4)} for name, share in bound.waits],
            "bytes_per_cycle": None if bound.bytes is None else round(bound.bytes, 4),
            "core_cycles": [{"work": name, "cycles": round(cycles)} for name, cycles in bound.cycles],
            "board": bound.board or None,
            "is_partial": bound.is_partial,
            "device_fill": None if bound.fill is None else round(bound.fill, 4),
        },
    }
