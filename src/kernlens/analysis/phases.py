"""The phases of code without source lines, as generators of matrix products write it: its outermost loops, and what is
before, between and behind them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from kernlens.analysis.line_waits import operation
from kernlens.dataclass import dataclass
from kernlens.model.instruction_kind import PREFETCH
from kernlens.model.intel_instructions import packed_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kernlens.model.instruction_kind import Access
    from kernlens.model.intel_instructions import IntelInstruction, IntelInstructions
    from kernlens.model.kernel import Kernel
    from kernlens.model.loop_nest import Loop, Loops
    from kernlens.model.waits import Waits

_SYSTOLIC = frozenset({"dpas", "dpasw"})
#: Operations of messages: those that signal a barrier, and (a part of the name of) those on blocks of two dimensions.
_BARRIER, _BLOCK = "barrier", "block2d"
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
class Requests:
    """``count`` messages of a phase that do the same ``action`` to the same memory, ``space``; ``is_block``: to blocks of two
    dimensions. ``size`` is the bytes of all of them, None if that of one is not known. ``ahead``, of a loop's prefetches: how
    many passes of them stand before the loop, one number for each register that they take addresses from; empty if that is
    not known, as other code leads to the loop too."""

    action: str
    space: str
    is_block: bool
    count: int
    size: int | None
    ahead: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class PhaseCycles:
    """The compiler's estimate for a phase, each instruction once: the cycles to ``issue``, those of them that matrix
    ``products`` take, and the ``waits`` for each operation, the most first."""

    issue: int
    products: int
    waits: tuple[tuple[str, int], ...]

    @property
    def wait(self) -> int:
        """The cycles of all waits."""
        return sum(count for _, count in self.waits)


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of code: its name, its ``depth`` if it is a loop (1 outside of all others; 0 if it is none), its instructions,
    and the matrix products in them (None if there are none), what they ask of memories, the barriers that they signal, and
    their cycles (None if nobody estimates them)."""

    name: str
    depth: int
    code: range
    products: Products | None
    requests: tuple[Requests, ...]
    barriers: int
    cycles: PhaseCycles | None


def phases_of(kernel: Kernel) -> tuple[Phase, ...]:
    """Return the phases of a kernel without lines, or of the micro kernels that were spliced into one, in the order of the
    code; none of code without loops, or whose loops share code. Raises UnsupportedError like ``Kernel.instructions``."""
    parts = [part for part in kernel.functions if part.is_spliced and part.name != kernel.name]
    if kernel.source_map is not None and not parts:
        return ()
    instructions, loops = packed_of(kernel.instructions), kernel.loops
    if instructions is None or loops is None:
        return ()
    opcodes = instructions.opcodes
    systolic = [row for row in range(len(instructions)) if opcodes[row] in _SYSTOLIC]
    named = [(f" of {part.name}".partition(",")[0], part.code) for part in parts] or [("", range(len(instructions)))]
    waits = kernel.waits
    return tuple(
        Phase(
            name,
            loop.depth if loop is not None else 0,
            code,
            _products_in(instructions, code, loop),
            tuple(_requests(instructions, code, code.start - before)),
            sum(access.operation == _BARRIER for _, access in _messages(instructions, code)),
            None if waits is None else _cycles(instructions, code, waits),
        )
        for of, part in named
        for name, code, loop, before in _parts(loops, part, of, systolic)
    )


def _parts(
    loops: Loops, code: range, of: str, systolic: Sequence[int]
) -> Iterator[tuple[str, range, Loop | None, int]]:
    """Yield the loops that are whole in a part of the code, and what is around these: name, code, the loop, and for it how
    many instructions are before it that belong to no other. Of a loop around others with matrix products the inner ones stand:
    such a kernel computes one tile after another, and each with a main loop."""
    hulls = [_hull(loops, number) for number in range(len(loops.loops))]
    within = [number for number, hull in enumerate(hulls) if code.start <= hull.start and hull.stop <= code.stop]
    around = {
        loops.loops[number].parent
        for number in within
        if any(loops.holds(number, row) for row in systolic)  # Those around it hold the same products.
    }
    parents = {loops.loops[number].parent for number in within}.difference(within) | around
    shown = [number for number in within if number not in around and loops.loops[number].parent in parents]
    bodies = sorted(((hulls[number], loops.loops[number]) for number in shown), key=lambda body: body[0].start)
    if not bodies or any(first.stop > second.start for (first, _), (second, _) in pairwise(bodies)):
        return
    end = code.start
    for number, (body, loop) in enumerate(bodies, 1):
        before = f"between loops {number - 1} and {number}" if number > 1 else "before loop 1"
        if end < body.start:
            yield before + of, range(end, body.start), None, 0
        yield f"loop {number}{of}", body, loop, body.start - end
        end = body.stop
    if end < code.stop:
        yield f"behind loop {len(bodies)}{of}", range(end, code.stop), None, 0


def _hull(loops: Loops, number: int) -> range:
    rows = loops.rows(number)
    return range(rows[0].start, rows[-1].stop)


def _messages(instructions: IntelInstructions, code: range) -> Iterator[tuple[int, Access]]:
    kinds = instructions.kinds
    return ((row, access) for row in code if (access := kinds[row].access) is not None)


def _requests(instructions: IntelInstructions, code: range, before: int) -> Iterator[Requests]:
    """Yield what a phase asks of memories; ``before``: the first row of the code before a loop, the loop's own of others."""
    same: dict[tuple[str, str, bool], list[tuple[int, Access]]] = {}
    for row, access in _messages(instructions, code):
        if access.action:
            space = instructions.kinds[row].name
            same.setdefault((access.action, space, _BLOCK in access.operation), []).append((row, access))
    for (action, space, is_block), messages in same.items():
        sizes = [access.size for _, access in messages]
        size = None if None in sizes else sum(filter(None, sizes))
        ahead = (
            () if action != PREFETCH else _ahead(instructions, [row for row, _ in messages], range(before, code.start))
        )
        yield Requests(action, space, is_block, len(messages), size, ahead)


def _ahead(instructions: IntelInstructions, rows: Sequence[int], before: range) -> tuple[float, ...]:
    """Return how many passes of these prefetches stand ``before`` their loop, in ascending order. They are counted in the
    code that every way to the loop takes: behind the last row that a branch leads to."""
    targets = {target for targets in instructions.branches.values() for target in targets}
    straight = next((row for row in reversed(before) if instructions.offsets[row] in targets), before.start)
    prefetches = [row for row, access in _messages(instructions, before) if access.action == PREFETCH]
    in_pass = Counter(_address(instructions, row) for row in rows)
    ahead = Counter(_address(instructions, row) for row in prefetches if row >= straight)
    if not prefetches or prefetches[0] < straight or None in in_pass or not ahead.keys() <= in_pass.keys():
        return ()
    return tuple(sorted(ahead[register] / count for register, count in in_pass.items()))


def _address(instructions: IntelInstructions, row: int) -> int | None:
    """Return the register that a message takes its addresses from."""
    source = next(iter(instructions[row].sources), None)
    return source.number if source is not None and source.kind == "register" else None


def _cycles(instructions: IntelInstructions, code: range, waits: Waits) -> PhaseCycles:
    opcodes, of = instructions.opcodes, Counter[str]()
    for row in code:
        if (wait := waits.waits.get(row)) is not None:
            of[operation(instructions, wait.producer)] += wait.cycles
    products = sum(waits.issue[row] for row in code if opcodes[row] in _SYSTOLIC)
    return PhaseCycles(sum(waits.issue[code.start : code.stop]), products, tuple(of.most_common()))


def _products_in(instructions: IntelInstructions, code: range, loop: Loop | None) -> Products | None:
    opcodes = instructions.opcodes
    systolic = [row for row in code if opcodes[row] in _SYSTOLIC]
    if not systolic:
        return None
    leads_back = loop.back_rows if loop is not None else ()
    is_exact = not any(row in code and row not in leads_back for row in instructions.branches)
    return _products([instructions[row] for row in systolic], is_exact=is_exact)


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
