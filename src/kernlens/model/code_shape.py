"""The guard of all rankings of compiles of one kernel: which of them counts of code can tell from each other.

Counts of code, and cycles estimated from it, have each loop once and each memory alike. Where two compiles have different
numbers of loops, or a loop accesses more in a round, one of them unrolled what the other did not; where one has more private
memory, its arrays went there from registers, and each access waits for memory; where a work-item stores more, it may make more
results. Then the smaller count may be the slower code, and nothing is ranked. Nor is it where one issues fewer cycles and the
other waits for fewer: which is faster depends on how many threads hide the waits. And the one that is faster with each loop
once must be so too with as many rounds of any loop as are usual, as nobody knows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil

from kernlens.dataclass import dataclass
from kernlens.model.kernel_resources import KernelResources

_WAYS = ("load_bytes", "store_bytes")
#: The costs of a kernel that are bytes of global memory and of the thread's own, where private memory lies.
_ACCESSES = tuple(f"{space}_{way}" for space in ("global", "scratch") for way in _WAYS)
_SPILLS = tuple(f"spill_{way}" for way in _WAYS)
#: An order that only more rounds of a loop would turn is taken for one that holds: estimates may be apart by a cycle.
_MOST_ROUNDS = 1000
#: Private memory and stack of a thread, and the bytes of ``accessed_bytes``.
Memory = tuple[int | None, int | None, int | None]
#: The cycles of a work-item, or of all of a launch, to issue, with those to wait, and these of a round of each loop.
Cycles = tuple[float, float, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class CodeShape:
    """Those traits of a compiled kernel that two compiles must have in common; None is not known.

    ``width`` are the work-items of a thread, ``loops`` those in its code. ``private_bytes`` and ``stack_bytes`` are the
    thread's, ``accessed_bytes`` those of ``accessed_bytes``. ``nest`` is what ``analysis.loop_shapes`` says of its loops, ""
    where nobody asked it. ``items`` are the work-items of a launch, 1 where nobody states them: then those of both compiles
    are compared one by one.
    """

    width: int | None
    loops: int | None
    private_bytes: int | None
    stack_bytes: int | None
    accessed_bytes: int | None
    nest: str = ""
    items: int | None = 1

    def difference(self, other: CodeShape) -> str:
        """Return in words why counts of the ``other`` code cannot be compared with this one's; empty if they can."""
        if not self.width or not other.width or None in (self.loops, other.loops):
            return "loops or width are unknown"
        if not self.items or not other.items:
            return "the work-items of its launch are not known: a macro of --items-per-launch is not set, or divides them not"
        if self.loops != other.loops:
            return f"{other.loops} loop{'' if other.loops == 1 else 's'}, not {self.loops}"
        if bool(self.stack_bytes) != bool(other.stack_bytes):
            return "it calls functions on a stack" if other.stack_bytes else "it calls no functions on a stack"
        threads = Fraction(self.items, self.width), Fraction(other.items, other.width)
        each_of = "a work-item" if self.items == other.items == 1 else "a launch"
        return self._other_memory(other, *threads, each_of) or self._other_nest(other, *threads, each_of)

    def _other_nest(self, other: CodeShape, threads: Fraction, others_threads: Fraction, each_of: str) -> str:
        """Return in words which loop runs other rounds, or that a work-item stores more; empty if that is not so."""
        if not self.nest or not other.nest:
            return ""
        own, others = _parts(self.nest), _parts(other.nest)
        (before,), (after,) = own[0], others[0]
        if before * threads != after * others_threads:
            each, was = _number(after * others_threads), _number(before * threads)
            return f"{each_of} stores {each} bytes outside loops, not {was}: it may make more results, or fewer"
        for number, (loop, new) in enumerate(zip(own[1:], others[1:], strict=True), 1):
            (depth, accessed, code, _), (new_depth, new_accessed, new_code, _) = loop, new
            if depth != new_depth:
                return f"loop {number} is inside {new_depth - 1} others, not {depth - 1}"
            if accessed * threads != new_accessed * others_threads:
                each, was = _number(new_accessed * others_threads), _number(accessed * threads)
                return f"in a round of loop {number} {each_of} accesses {each} bytes, not {was}: rounds may differ"
            # Twice a smaller body can have as many instructions as another one; for half the width it has as many for each
            # work-item. What computes is the same in no other number of rounds.
            if not accessed and (code != new_code or self.width != other.width):
                return f"loop {number} accesses no memory, and it computes otherwise: rounds may differ"
        return ""

    def _other_memory(self, other: CodeShape, threads: Fraction, others_threads: Fraction, each_of: str) -> str:
        if self.private_bytes is not None and other.private_bytes is not None:
            before, after = self.private_bytes * threads, other.private_bytes * others_threads
            words = f"{_number(after)} bytes of private memory per {each_of[2:]}, not {_number(before)}"
            return "" if before == after else words
        # Where the binary has one sum of spills and private memory, an array that went to memory shows in the messages.
        if self.accessed_bytes is None or other.accessed_bytes is None:
            return "private memory is unknown"
        before, after = self.accessed_bytes * threads, other.accessed_bytes * others_threads
        if before == after:
            return ""
        words = f"{_number(after)} bytes per {each_of[2:]}, not {_number(before)}"
        return f"its messages access {words}, and private memory is unknown"


def _number(value: Fraction) -> str:
    return f"{float(value):,.0f}"


def _parts(nest: str) -> list[tuple[int, ...]]:
    """Return the numbers of a nest: the bytes stored outside loops, and each loop's depth, bytes, arithmetic and cycles."""
    return [tuple(map(int, part.split(","))) for part in nest.split(";")]


def undecided(before: Cycles | None, after: Cycles | None, each_of: str = "work-item") -> str:
    """Return in words why neither of two compiles is known to be the faster one, by the cycles of ``each_of``; empty if the
    order is the same with threads that hide all waits and with none, whatever the rounds of loops, or cycles are not known."""
    if before is None or after is None:
        return ""
    (issue, cycles, loops), (new_issue, new_cycles, new_loops) = before, after
    if (new_issue - issue) * (new_cycles - cycles) >= 0:
        for number, (loop, new_loop) in enumerate(zip(loops, new_loops, strict=False), 1):
            gain, loss = new_cycles - cycles, new_loop - loop
            if gain * loss < 0 and (rounds := 1 - gain / loss) < _MOST_ROUNDS:
                words = f"in a round of loop {number} it takes {new_loop:,.1f} cycles per {each_of}, not {loop:,.1f}"
                turned = f"from {ceil(rounds):,} rounds on it is {'slower' if gain < 0 else 'faster'}"
                return f"{words}, and in all {new_cycles:,.1f}, not {cycles:,.1f}: {turned}"
        return ""
    waits, new_waits = cycles - issue, new_cycles - new_issue
    return (
        f"it issues for {new_issue:,.1f} cycles per {each_of}, not {issue:,.1f}, and waits for {new_waits:,.1f}, not"
        f" {waits:,.1f}: which is faster depends on the threads"
    )


def cycles_of_loops(nest: str) -> tuple[int, ...]:
    """Return the cycles of a round of each loop of a nest, loops inside it aside; 0 if they are not known."""
    return tuple(loop[-1] for loop in _parts(nest)[1:]) if nest else ()


def accessed_bytes(costs: Mapping[str, int | None]) -> int | None:
    """Return the bytes of global and own memory that a thread's messages access at most, spills aside; None if the costs do
    not tell."""
    accesses, spills = [costs.get(key) for key in _ACCESSES], [costs.get(key) for key in _SPILLS]
    if None in accesses or None in spills:
        return None
    return sum(value or 0 for value in accesses) - sum(value or 0 for value in spills)


def memory_of(resources: KernelResources, costs: Mapping[str, int | None]) -> Memory:
    """Return the memory of a kernel's thread, as its ``CodeShape`` has it."""
    return resources.private_bytes, resources.stack_bytes, accessed_bytes(costs)
