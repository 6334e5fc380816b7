"""The check that a kernel's code is still the code that its binary describes.

A library may write other instructions into what a compiler made: oneDNN puts its matrix multiplications into the code of
its OpenCL kernels, moves what stands behind them, and leaves symbols and debug data as they were. Rows behind such a place
are of other instructions. So everything that a binary states of the code is held against the code. In what compilers leave,
these agree to the byte (``tests.corpus.changed_code``): the ends of the line table, of the unit of the debug data, of the
frame descriptions, of the last symbol and of the code. Rows, inlined calls and branches begin at instructions, what the
driver fills in is a field of one, and the code ends where a thread does.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from itertools import compress, count
from operator import ne
from typing import TYPE_CHECKING

from kernlens.model.stated_code import StatedCode

if TYPE_CHECKING:
    from kernlens.model.intel_instructions import IntelInstructions
    from kernlens.model.line_table import LineTable

#: What a driver fills in stands in instructions of this size.
_FULL_SIZE = 16
#: Generators of code (nGEN), which leave no lines, put more than one behind the end of the thread.
_GENERATED_NOPS = 64


def change_of(
    code: memoryview,
    stated: StatedCode,
    table: LineTable | None,
    decode: Callable[[], IntelInstructions | None],
) -> str | None:
    """Return what shows that a kernel's code is not the code that its binary describes; None if nothing does.

    ``table`` is its line table, None if it has none. ``decode`` gives the instructions, None where nothing decodes them;
    they are not asked for where the debug data keeps a copy of the same code. More code behind the end of what is described
    is no contradiction if a thread ends there, and nothing before leads behind it: then what is described is as it was.
    """
    ends = dict(table.code_ends) if table is not None else {}
    if stated.end is not None:
        ends["the kernel's symbol"] = stated.end
    if not ends:
        return None
    teller, end = next(iter(ends.items()))
    if end > len(code):
        return _longer(teller, end, len(code))
    is_longer = any(code[end:])
    if is_longer and stated.end == len(code):  # Whoever added code may have told the symbol.
        ends.pop("the kernel's symbol")
    if len(set(ends.values())) > 1:
        return _longer(teller, end, _used(code)) if is_longer else _unequal(ends)
    if stated.copy is not None:
        if (place := _first_difference(stated.copy[:end], code[:end])) is not None:
            return f"it differs from {place:#x} on from the copy in the debug data"
        if not is_longer:
            return None
    instructions = decode()
    contradiction = None if instructions is None else next(_in_code(stated, table, instructions, end), None)
    if is_longer and (instructions is None or contradiction is not None):
        return _longer(teller, end, _used(code))
    return contradiction


def _longer(teller: str, end: int, size: int) -> str:
    return f"{teller} describes {end:,} bytes, the kernel has {size:,}"


def _unequal(ends: Mapping[str, int]) -> str:
    (teller, end), *others = ends.items()
    other, differing = next(each for each in others if each[1] != end)
    return f"{teller} describes {end:,} bytes, {other} {differing:,}"


def _used(code: memoryview) -> int:
    """Return the number of bytes up to the last that is not zero, as whole instructions."""
    used = len(bytes(code).rstrip(b"\0"))
    return min(len(code), used + -used % _FULL_SIZE)


def _first_difference(copy: memoryview, code: memoryview) -> int | None:
    if bytes(copy) == bytes(code):  # Views are compared item by item.
        return None
    return next(compress(count(), map(ne, copy, code)), min(len(copy), len(code)))


def _in_code(stated: StatedCode, table: LineTable | None, instructions: IntelInstructions, end: int) -> Iterator[str]:
    """Yield what the instructions up to ``end`` show."""
    offsets, sizes = instructions.offsets, instructions.sizes
    last = bisect_left(offsets, end)
    trailer = instructions.trailer
    boundaries = {trailer.offset, trailer.end} if trailer is not None else set()
    if last and offsets[last - 1] + sizes[last - 1] != end and end not in boundaries:
        yield f"the code that is described ends within the instruction at {offsets[last - 1]:#x}"
    nops = _GENERATED_NOPS if table is None else int(stated.has_nop)
    if not instructions.ends_thread(last, nops):
        yield f"no thread ends at {end:#x}, where the code that is described does"
    is_followed = trailer is not None and end == trailer.offset
    if table is not None and (is_followed or instructions.ends_thread(last + 1, nops)):
        yield f"what ends the code that is described goes on behind {end:#x}"
    if stated.ends_differ:
        yield "some of the binary's kernels have a nop behind the end of the thread, others none"
    if instructions.illegal and instructions.illegal[0] < last:
        yield f"what stands at {offsets[instructions.illegal[0]]:#x} is no instruction"
    beginnings = {*offsets[:last], end, *boundaries}
    for name, places in _places(table):
        for place in places:
            if place not in beginnings:
                yield f"{name} {place:#x}, which is no boundary of instructions"
    for site, places_within in stated.sites:
        index = bisect_right(offsets, site) - 1
        if not 0 <= index < last or site - offsets[index] not in places_within or sizes[index] != _FULL_SIZE:
            yield f"the driver fills in the bytes at {site:#x}, where no instruction has such a field"
    inner = set(offsets[:last])
    branches = ((index, target) for index, targets in instructions.branches.items() for target in targets)
    for index, target in (
        *((index, target) for index, target in branches if target not in inner),
        *instructions.strays,
    ):
        if index < last:
            yield f"the {instructions.opcodes[index]} at {offsets[index]:#x} leads to {target:#x}"


def _places(table: LineTable | None) -> Iterator[tuple[str, Iterator[int]]]:
    """Yield the places of instructions in the debug data, and what is there."""
    if table is not None:
        yield "a row of the line table begins at", iter(table.offsets)
        yield "an inlined call begins or ends at", (end for call in table.inlined for end in (call.low, call.high))
