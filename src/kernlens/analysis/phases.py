"""The phases of code without source lines, as generators of matrix products write it: its outermost loops, and what is
before, between and behind them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass
from kernlens.model.intel_instructions import packed_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernlens.model.intel_instructions import IntelInstruction, IntelInstructions
    from kernlens.model.kernel import Kernel
    from kernlens.model.loop_nest import Loop, Loops

_SYSTOLIC = frozenset({"dpas", "dpasw"})
#: The bits of an element of each type that the systolic array multiplies.
_BITS = {
    "tf32": 32,
    "f": 32,
    "hf": 16,
    "bf": 16,
    "b": 8,
    "ub": 8,
    "hf8": 8,
    "bf8": 8,
    "s4": 4,
    "u4": 4,
    "s2": 2,
    "u2": 2,
}


@dataclass(frozen=True, slots=True)
class Products:
    """The matrix products of a phase: ``count`` instructions add to ``accumulators`` different tiles of ``rows`` x
    ``columns`` elements. ``depth`` is how many products one pass of the phase adds to each element; None if tiles differ in
    that, or that of an instruction is not known. ``is_exact``: no branch within the phase leads around any of them."""

    count: int
    accumulators: int
    rows: int
    columns: int
    depth: int | None
    is_exact: bool


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of code: its name, its instructions, and the matrix products in them (None if there are none)."""

    name: str
    code: range
    products: Products | None


def phases_of(kernel: Kernel) -> tuple[Phase, ...]:
    """Return the phases of a kernel without lines, or of the micro kernels that were spliced into one, in the order of the
    code; none of code without loops, or whose loops share code. Raises UnsupportedError like ``Kernel.instructions``."""
    parts = [part for part in kernel.functions if part.is_spliced and part.name != kernel.name]
    if kernel.source_map is not None and not parts:
        return ()
    instructions, loops = packed_of(kernel.instructions), kernel.loops
    if instructions is None or loops is None:
        return ()
    named = [(f" of {part.name}".partition(",")[0], part.code) for part in parts] or [("", range(len(instructions)))]
    return tuple(phase for of, code in named for phase in _phases(instructions, loops, code, of))


def _phases(instructions: IntelInstructions, loops: Loops, code: range, of: str) -> Iterator[Phase]:
    """Yield the phases of a part of the code: the loops that are whole in it, and what is around these."""
    hulls = [_hull(loops, number) for number in range(len(loops.loops))]
    within = [number for number, hull in enumerate(hulls) if code.start <= hull.start and hull.stop <= code.stop]
    outermost = [number for number in within if loops.loops[number].parent not in within]
    bodies = sorted(((hulls[number], loops.loops[number]) for number in outermost), key=lambda body: body[0].start)
    if not bodies or any(first.stop > second.start for (first, _), (second, _) in pairwise(bodies)):
        return
    end = code.start
    for number, (body, loop) in enumerate(bodies, 1):
        before = f"between loops {number - 1} and {number}" if number > 1 else "before loop 1"
        if end < body.start:
            yield _phase(instructions, before + of, range(end, body.start))
        yield _phase(instructions, f"loop {number}{of}", body, loop)
        end = body.stop
    if end < code.stop:
        yield _phase(instructions, f"behind loop {len(bodies)}{of}", range(end, code.stop))


def _hull(loops: Loops, number: int) -> range:
    rows = loops.rows(number)
    return range(rows[0].start, rows[-1].stop)


def _phase(instructions: IntelInstructions, name: str, code: range, loop: Loop | None = None) -> Phase:
    opcodes = instructions.opcodes
    systolic = [row for row in code if opcodes[row] in _SYSTOLIC]
    if not systolic:
        return Phase(name, code, None)
    leads_back = loop.back_rows if loop is not None else ()
    is_exact = not any(row in code and row not in leads_back for row in instructions.branches)
    return Phase(name, code, _products([instructions[row] for row in systolic], is_exact=is_exact))


def _products(systolic: Iterable[IntelInstruction], *, is_exact: bool) -> Products | None:
    """Return what these instructions multiply; None if their tiles are of several sizes, or not in registers."""
    depths: Counter[tuple[int, int]] = Counter()
    shapes, count, is_known = set[tuple[int, int]](), 0, True
    for each in systolic:
        tile = each.destination
        if tile is None or tile.kind != "register" or each.function is None:
            return None
        # The function is the depth << 8 | the repeat count.
        shapes.add((each.function & 0xFF, each.execution_size))
        bits = max((_BITS.get(source.type, 0) for source in each.sources[-2:]), default=0)
        is_known &= bits > 0
        depths[tile.number, tile.subregister] += (each.function >> 8) * min(8, 32 // (bits or 32))
        count += 1
    if len(shapes) != 1:
        return None
    ((rows, columns),) = shapes
    deep = set(depths.values())
    depth = deep.pop() if is_known and len(deep) == 1 else None
    return Products(count, len(depths), rows, columns, depth, is_exact)
