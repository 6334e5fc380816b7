"""The in-order pipes of an execution unit, in which the distances of the software scoreboard count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from kernlens.dataclass import dataclass


class Distance(NamedTuple):
    """An instruction waits, in each of ``pipes``, for the one that is ``back`` instructions of that pipe before it."""

    back: int
    pipes: str


@dataclass(frozen=True, eq=False)
class Pipes:
    """The pipes of instructions. ``own`` has for each instruction the letter of its pipe, as the assembly's distances
    name it (``F@2``); empty for those that run out of order, and for those that run in none. ``distances`` has those
    that wait, by index. ``uncounted`` are moves to nowhere that the compiler inserted when it had counted: only the
    distance of the sync behind them counts them."""

    own: Sequence[str]
    distances: Mapping[int, Distance]
    uncounted: Set[int] = frozenset()
