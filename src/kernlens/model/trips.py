"""The trip counts of loops, as a user states them, and how often a kernel's instructions then run."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.dataclass import dataclass, field
from kernlens.model.line_choice import LineChoice


@dataclass(frozen=True, slots=True)
class Trips:
    """The rounds that loops run: ``of_lines`` those of the loops at these lines, ``of_others`` those of every other loop,
    None for one round."""

    of_lines: tuple[tuple[LineChoice, int], ...] = ()
    of_others: int | None = None

    def __str__(self) -> str:
        lines = ((f"{choice.path}:" if choice.path else "", choice.line, count) for choice, count in self.of_lines)
        words = [f"{path}{line}={count}" for path, line, count in lines]
        return ", ".join([*words, *([f"depth={self.of_others}"] if self.of_others is not None else [])])


@dataclass(frozen=True, slots=True)
class Executions:
    """Weights that an interpreter counted: of how many ``sub_groups`` they are, and what is to be said of the loops."""

    sub_groups: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TripWeights:
    """The number of times that each instruction runs (``rows``) with these ``trips``, if every branch is taken.

    ``matched`` are the choices of lines that name a loop of the kernel; ``unstated`` is the number of its loops whose trips
    are not stated, and that count as one round. ``observed``: it is how often all sub-groups of the observed launches ran
    each, on the branches that they took.
    """

    trips: Trips
    rows: Sequence[int] = field(repr=False)
    matched: frozenset[LineChoice]
    unstated: int
    observed: Executions | None = None
