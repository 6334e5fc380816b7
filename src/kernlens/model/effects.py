"""The effects of instructions on registers, and where control goes from each: what liveness is computed from.

Registers are one row of bits. An access is a pair ``(start, pattern)``: bit i of ``pattern`` stands for the place
``start + i``. Flags come first, a place for each bit of them, then the address registers, the scalar register and the
accumulators, a place for each byte, and from ``GENERAL`` on the general registers, a place for each byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from kernlens.dataclass import NamedTuple, dataclass

#: Where each register file begins.
FLAGS, ADDRESSES, SCALARS, ACCUMULATORS, GENERAL = 0, 256, 512, 1024, 2048

Access = tuple[int, int]


@dataclass(frozen=True)
class Effect:
    """The places that one instruction reads and writes.

    ``is_partial``: a predicate may leave what it writes as it was. ``is_lower_bound``: an operand is known only at run
    time, so that it reads or writes more than is said.
    """

    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    is_partial: bool = False
    is_lower_bound: bool = False

    @cached_property
    def read(self) -> int:
        """The places that it reads, as bits of one number."""
        return mask(self.reads)

    @cached_property
    def written(self) -> int:
        """The places that it writes, as bits of one number."""
        return mask(self.writes)

    def __repr__(self) -> str:
        return f"<Effect reads={len(self.reads)} writes={len(self.writes)}>"


class Route(NamedTuple):
    """The ways of the lanes from an instruction: to the next one (``falls``) and to those with the indexes ``targets``.

    A ``call`` comes back to the next one; its ``targets`` are the functions, none if only the run time or the linker
    knows them. ``returns``: back to behind the calls.
    """

    falls: bool = True
    targets: tuple[int, ...] = ()
    is_call: bool = False
    returns: bool = False


FALLS = Route()


@dataclass(frozen=True, eq=False)
class Effects:
    """The effects of a kernel's instructions, by index; ``routes`` holds only those that do not just fall through.
    ``register_bytes`` is the size of a general register."""

    register_bytes: int
    effects: Sequence[Effect]
    routes: dict[int, Route]


def mask(accesses: Iterable[Access]) -> int:
    """Return the places of these accesses as bits of one number."""
    bits = 0
    for start, pattern in accesses:
        bits |= pattern << start
    return bits


def registers_in(places: int, register_bytes: int) -> Iterator[int]:
    """Yield the numbers of the general registers of which a byte is in ``places``, ascending."""
    bits = places >> GENERAL
    number, whole = 0, (1 << register_bytes) - 1
    while bits:
        skipped = ((bits & -bits).bit_length() - 1) // register_bytes
        number += skipped
        bits >>= skipped * register_bytes
        yield number
        bits &= ~whole
