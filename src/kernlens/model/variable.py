"""Variables of the source, and the places in which a kernel's code holds them.

A place is where a piece of a variable is for one lane, in words of any vendor: bits of a register of a register file, memory,
a constant, or nowhere, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from kernlens.dataclass import NamedTuple, dataclass, field, in_short

#: The kinds of places.
REGISTER, MEMORY, CONSTANT, COMPUTED, NOWHERE = "register", "memory", "constant", "computed", "nowhere"


class Place(NamedTuple):
    """The place of a piece of a variable for one lane. ``bits`` is the size of the piece, None where nothing tells it.

    A ``register``: ``bit`` counts from the start of register ``number`` of the register file ``file`` (``r``, ``a``, ``f``,
    ``acc``), and may lie in one of those behind it. ``memory``: ``text`` is its address. A ``constant``: ``value`` has its
    bytes. ``computed``: no place holds it, ``text`` says what it is computed from. ``nowhere``: ``text`` says why.
    """

    kind: str
    bits: int | None = None
    file: str = ""
    number: int = 0
    bit: int = 0
    text: str = ""
    value: bytes = b""


#: The pieces of a variable for one lane, in their order: most variables have a single one.
Pieces = tuple[Place, ...]


@dataclass(frozen=True)
class Location:
    """The places of a variable in the code from offset ``low`` up to ``high``, as the compiler states them. ``find_lanes``
    makes ``lanes`` on first use."""

    low: int
    high: int
    find_lanes: Callable[[], tuple[Pieces, ...]] = field(repr=False, compare=False)

    @cached_property
    def lanes(self) -> tuple[Pieces, ...]:
        """The pieces of each lane, or of all lanes together where they share one place."""
        return self.find_lanes()


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or an argument, in the kernel or in a function that was inlined into it.

    ``function`` is the function that declares it, ``calls`` the source places (file as in LineRow, line) of the calls through
    which that was inlined, outermost first. ``file`` and ``line`` are those of its declaration, 0 if the compiler does not
    tell. It is visible in ``scope``, pieces [low, high) of the code; empty stands for all of it. ``size`` is in bytes.
    ``reason`` says why it has no ``locations``; None if it has.
    """

    name: str
    type_name: str | None
    size: int | None
    is_argument: bool
    function: str
    calls: tuple[tuple[int, int], ...]
    file: int
    line: int
    scope: tuple[tuple[int, int], ...]
    locations: tuple[Location, ...]
    reason: str | None

    def __repr__(self) -> str:
        kind = "argument" if self.is_argument else "variable"
        known = self.reason or f"{len(self.locations)} locations"
        return in_short(f"<Variable {self.type_name or '?'} {self.name}: {kind} of {self.function}, {known}>")

    def is_visible(self, offset: int) -> bool:
        """Return whether the source could name it at this offset."""
        return not self.scope or any(low <= offset < high for low, high in self.scope)

    def location(self, offset: int) -> Location | None:
        """Return what the compiler states at this offset, None where it states nothing."""
        return next((each for each in self.locations if each.low <= offset < each.high), None)


#: What a place holds at an instruction: what the compiler states, perhaps a new value of the variable, another value, or
#: nothing that the code shows to be there.
HELD, UPDATED, OVERWRITTEN, STATED = "held", "updated", "overwritten", "stated"
#: Who says that a place holds the variable: instructions wrote it on every way, it was written before the code ran, or the
#: compiler alone.
CODE, THREAD_START, COMPILER = "code", "thread start", "compiler"


@dataclass(frozen=True, slots=True)
class StatedRange:
    """Neighbouring instructions from offset ``begin`` up to ``end`` at which the compiler states one location, and the code
    leaves it the same.

    ``state`` is HELD, UPDATED (its instruction ``writers`` wrote ``changed`` of its ``size`` bytes again, perhaps with a new
    value of the variable), OVERWRITTEN (they wrote another value there, on some way to here), or STATED: no write of
    ``changed`` bytes reaches here on every way (``writers`` are those on some ways, and those whose value nobody reads any
    more). It is None where the code does not tell, as for memory. ``writers`` are indexes of instructions.

    ``origin`` is CODE or THREAD_START, and of STATED ones COMPILER; None like ``state``.
    """

    location: Location
    begin: int
    end: int
    state: str | None
    changed: int = 0
    size: int = 0
    writers: tuple[int, ...] = ()
    origin: str | None = None
