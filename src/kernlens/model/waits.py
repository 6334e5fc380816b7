"""Waits: the cycle in which each instruction issues within its block, and for which other one it waits."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from kernlens.dataclass import NamedTuple, dataclass

#: Whose estimate it is of Intel's code: the rule is its compiler's.
IGC = "IGC"

#: Why a row waits: until its producer has written its registers, until it has read them, or until it gives up the token,
#: counter or barrier that this row takes.
WRITTEN, READ, TAKEN = REASONS = ("written", "read", "taken")


class Wait(NamedTuple):
    """A wait of ``row`` of so many ``cycles`` for ``producer``, a row of the same block; ``why`` is one of REASONS."""

    row: int
    producer: int
    cycles: int
    why: str


class Timings(NamedTuple):
    """The cycles that a compiler states for instructions, by their rows: ``issue`` is how long each occupies its pipe.
    Of those that others wait for by a token, ``written`` is how long they take until their registers are written,
    ``read`` until they are read."""

    issue: bytes
    written: Mapping[int, int]
    read: Mapping[int, int]


class Step(NamedTuple):
    """An instruction in a simulation of its block: the cycle in which it is ``issued``, the one in which it is ``executed``,
    and its ``operations``, each of which takes a cycle to issue."""

    issued: int
    executed: int
    operations: int
    is_memory: bool


@dataclass(frozen=True, eq=False)
class Waits:
    """The cycles of a kernel's instructions, as ``source`` estimates them for one thread alone and loops that run once:
    never a time. ``terms`` say what else it takes for granted.

    ``starts`` is the cycle in which each row issues, from the start of its block, at which nothing is waited for;
    ``issue`` how many cycles it then occupies. ``waits`` has the rows that wait. ``blocks`` are the first rows of the
    blocks that the cycles are counted in, ascending. ``issue_cycles`` and ``wait_cycles`` are all of them together.
    """

    starts: array[int]
    issue: bytes
    waits: Mapping[int, Wait]
    blocks: Sequence[int]
    issue_cycles: int
    wait_cycles: int
    source: str = IGC
    terms: str = "one thread alone"

    @property
    def estimate(self) -> str:
        """The words on what the cycles are, but for how often loops run."""
        return f"{self.source}'s estimate, {self.terms}"

    @property
    def origin(self) -> str:
        """The words on what the cycles are."""
        return f"{self.estimate}, loops once"

    @property
    def cycles(self) -> int:
        """The cycles of all blocks together, each once."""
        return self.issue_cycles + self.wait_cycles

    @property
    def wait_share(self) -> int:
        """The share of the cycles that are waits, in percent, rounded up."""
        return share_of(self.wait_cycles, self.issue_cycles)

    def __repr__(self) -> str:
        return f"<Waits issue={self.issue_cycles} wait={self.wait_cycles}: {self.origin}>"


def share_of(wait_cycles: int, issue_cycles: int) -> int:
    """Return the share of the cycles that are waits, in percent, rounded up."""
    cycles = wait_cycles + issue_cycles
    return -(-100 * wait_cycles // cycles) if cycles else 0
