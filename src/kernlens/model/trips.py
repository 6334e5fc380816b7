"""The trip counts of loops, as a user states them, and how often a kernel's instructions then run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernlens.dataclass import dataclass, field
from kernlens.errors import KernlensError
from kernlens.model.line_choice import LineChoice

#: More rounds than a loop runs in a thread that ends.
_MOST_ROUNDS = 1 << 31


@dataclass(frozen=True, slots=True)
class Trips:
    """The rounds that loops run: ``of_lines`` those of the loops at these lines, ``of_others`` those of every other loop,
    None for one round."""

    of_lines: tuple[tuple[LineChoice, int], ...] = ()
    of_others: int | None = None

    @classmethod
    def of(cls, words: Sequence[str]) -> Trips:
        """Return what words state, each ``[FILE:]N=ROUNDS`` or ``depth=ROUNDS``. Raises KernlensError for others."""
        of_lines: dict[LineChoice, int] = {}
        of_others = None
        for word in words:
            name, is_stated, rounds = word.rpartition("=")
            path, _, line = name.rpartition(":")
            if not is_stated or not name or not (name == "depth" or _is_number(line)):
                raise KernlensError(f"--trips {word!r} is not of the form blur.cl:16=10 or depth=10")
            if not _is_number(rounds) or not 1 <= int(rounds, 0) <= _MOST_ROUNDS:
                raise KernlensError(f"--trips {word!r}: a loop runs 1 to {_MOST_ROUNDS:,} rounds")
            if name == "depth":
                of_others = int(rounds, 0)
            else:
                of_lines[LineChoice(path or None, int(line, 0))] = int(rounds, 0)
        return cls(tuple(of_lines.items()), of_others)

    @property
    def words(self) -> tuple[str, ...]:
        """The words that state them."""
        return tuple(str(self).split(", ")) if self.of_lines or self.of_others is not None else ()

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
    are not stated, and that count as one round, ``stated`` of those whose are. ``costs`` are those of the instructions, each as
    often as it runs. ``observed``: it is how often all sub-groups of the observed launches ran
    each, on the branches that they took.
    """

    trips: Trips
    rows: Sequence[int] = field(repr=False)
    matched: frozenset[LineChoice]
    unstated: int
    observed: Executions | None = None
    costs: Mapping[str, int] = field(default_factory=dict, repr=False)
    stated: int = 0


def _is_number(text: str) -> bool:
    """Return whether a text is a whole number of Python's that is none of thousands of digits."""
    try:
        return len(text) < 20 and int(text, 0) >= 0
    except ValueError:
        return False
