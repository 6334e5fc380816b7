"""The phases of code without source lines, in words."""

from __future__ import annotations

from kernlens.analysis.phases import Phase, phases_of
from kernlens.model.kernel import Kernel
from kernlens.report.describe import plural


def phase_headings(kernel: Kernel) -> dict[int, str]:
    """Return the heading of each phase, by the row of its first instruction. Raises UnsupportedError like
    ``Kernel.instructions``."""
    return {
        phase.code.start: _words(phase, kernel.instructions.offsets[phase.code.start]) for phase in phases_of(kernel)
    }


def _words(phase: Phase, offset: int) -> str:
    """Return a phase with its instructions and the matrix products in it: how large the tiles are that they add to, and how
    many products one pass adds to each element."""
    words, products = f"{phase.name} ({offset:#06x}, {plural(len(phase.code), 'instruction')})", phase.products
    if products is None:
        return words
    share = 100 * products.count / len(phase.code)
    tiles = f"{plural(products.accumulators, 'tile')} of {products.rows} x {products.columns}"
    depth = "by depths that differ or are not known" if products.depth is None else f"{products.depth} deep"
    ends = "" if products.is_exact else ", if no branch leads around any"
    return f"{words}: {plural(products.count, 'matrix product')} ({share:.1f}%) on {tiles}, {depth} in a pass{ends}"
