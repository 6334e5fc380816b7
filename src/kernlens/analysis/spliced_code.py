"""Code that oneDNN spliced into a compiled kernel, held against the kernel as the compiler had left it.

oneDNN compiles an OpenCL kernel that calls micro kernels, each of which is inline assembly between two marks (additions of
``START ^ N`` and ``END ^ N``). Then it puts the machine code of micro kernel N in the place of all from one mark to the
other, and lets branches and relocations lead where they led. Nothing in the new binary says where that is: both binaries
together do.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kernlens.dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from kernlens.model.intel_instructions import IntelInstructions

#: The numbers that mark where a micro kernel belongs, but for its own number, which is small.
START, END = 0xCAFEFADE, 0xFADECAFE
MOST_NUMBER = 1 << 12
#: Only an instruction of full size holds such a number, in its last word; a branch its targets in the last two.
_FULL_SIZE = 16
_WORD = struct.Struct("<I")
#: The most different instructions that are told apart: characters stand for them.
_MOST_KINDS = 0xD000


class MarkedCode(NamedTuple):
    """A kernel's code with its instructions; ``sites`` are the offsets at which the driver fills something in."""

    code: memoryview
    instructions: IntelInstructions
    sites: Sequence[int]


class Block(NamedTuple):
    """The instructions of micro kernel ``number``, and those in the compiler's code that they replaced."""

    number: int
    code: range
    replaced: range


@dataclass(frozen=True, slots=True)
class Splice:
    """``origins`` has for each instruction the one that it is in the compiler's code, None for those of the ``blocks``."""

    origins: Sequence[int | None]
    blocks: tuple[Block, ...]


def splice_of(old: MarkedCode, new: MarkedCode) -> Splice | None:
    """Return how ``new`` was made of ``old``; None if it was not, or what is between two micro kernels could be in several
    places. Every instruction of the compiler's must be there, in its order, byte by byte but for branches, and these and
    the driver's sites must be where they led and were."""
    regions = list(_regions(old))
    pieces = _pieces(len(old.instructions), regions)
    starts = _starts(old, new, pieces)
    if not regions or starts is None:
        return None
    origins: list[int | None] = [None] * len(new.instructions)
    for piece, start in zip(pieces, starts, strict=True):
        origins[start : start + len(piece)] = piece
    ends = [start + len(piece) for start, piece in zip(starts, pieces, strict=True)]
    blocks = tuple(
        Block(number, range(end, start), region)
        for (number, region), end, start in zip(regions, ends, starts[1:], strict=False)
    )
    splice = Splice(origins, blocks)
    return splice if all(block.code for block in blocks) and _leads_alike(old, new, splice) else None


def _regions(old: MarkedCode) -> Iterator[tuple[int, range]]:
    """Yield the number of each micro kernel and the instructions in its place, marks included."""
    open_at: tuple[int, int] | None = None
    instructions = old.instructions
    for index, (offset, size) in enumerate(zip(instructions.offsets, instructions.sizes, strict=True)):
        if size != _FULL_SIZE:
            continue
        (word,) = _WORD.unpack_from(old.code, offset + _FULL_SIZE - _WORD.size)
        if word ^ START < MOST_NUMBER:
            open_at = word ^ START, index
        elif open_at is not None and word ^ END == open_at[0]:
            yield open_at[0], range(open_at[1], index + 1)
            open_at = None


def _pieces(count: int, regions: Sequence[tuple[int, range]]) -> list[range]:
    """Return what is before, between and behind the regions."""
    starts = [0, *(region.stop for _, region in regions)]
    return [range(*ends) for ends in zip(starts, [*(region.start for _, region in regions), count], strict=True)]


def _starts(old: MarkedCode, new: MarkedCode, pieces: Sequence[range]) -> list[int] | None:
    """Return where each piece begins in the new code: the first at its start, the last at its end, each of the others at
    the only place where it is between its neighbours."""
    kinds: dict[bytes, str] = {}
    text, others = (_as_text(each, kinds) for each in (old, new))
    first, last = pieces[0], pieces[-1]
    stop = len(others) - len(last)
    if len(kinds) > _MOST_KINDS or stop < len(first) or not all(pieces):
        return None
    if not others.startswith(text[: first.stop]) or others[stop:] != text[last.start :]:
        return None
    starts, after = [0], len(first)
    for piece in pieces[1:-1]:
        words = text[piece.start : piece.stop]
        at = others.find(words, after, stop)
        if at < 0 or others.find(words, at + 1, stop) >= 0:
            return None
        starts.append(at)
        after = at + len(piece)
    return [*starts, stop] if len(pieces) > 1 else starts


def _as_text(marked: MarkedCode, kinds: dict[bytes, str]) -> str:
    """Return a character for each instruction, the same for the same bytes; those of branches without where they lead."""
    code, instructions, branches = bytes(marked.code), marked.instructions, marked.instructions.branches
    keys = (
        code[offset : offset + (8 if index in branches and size == _FULL_SIZE else size)]
        for index, (offset, size) in enumerate(zip(instructions.offsets, instructions.sizes, strict=True))
    )
    return "".join([kinds.setdefault(key, chr(min(len(kinds), _MOST_KINDS))) for key in keys])


def _leads_alike(old: MarkedCode, new: MarkedCode, splice: Splice) -> bool:
    """Return whether branches lead to, and sites are in, the instructions of before."""
    old_offsets, new_offsets = old.instructions.offsets, new.instructions.offsets
    rows = {origin: row for row, origin in enumerate(splice.origins) if origin is not None}
    moved = {old_offsets[origin]: new_offsets[row] for origin, row in rows.items()}
    # What led to a mark leads to what is in its place.
    moved |= {old_offsets[block.replaced.start]: new_offsets[block.code.start] for block in splice.blocks}
    for origin, row in rows.items():
        targets = [moved.get(target) for target in old.instructions.branches.get(origin, ())]
        if targets != list(new.instructions.branches.get(row, ())):
            return False
    sites = []
    for site in old.sites:
        row = rows.get(bisect_right(old_offsets, site) - 1, -1)
        if row >= 0:
            sites.append(site - old_offsets[splice.origins[row] or 0] + new_offsets[row])
    return sorted(sites) == sorted(new.sites)
