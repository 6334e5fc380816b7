"""Faults that the interpreter saw while a kernel ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass, replace

if TYPE_CHECKING:
    from kernlens.model.source_map import SourcePlace


#: What stands in sentences in front of the name of a variable in local or private memory.
VARIABLE = "its variable"
#: What is said of an access that the flags of a buffer forbid. It is mended where the host makes the buffer.
OF_FLAGS = {
    "read": "reads a buffer that the host made write-only: mend the flags of clCreateBuffer",
    "write": "writes a buffer that the host made read-only: mend the flags of clCreateBuffer",
}
#: What a note begins with that names arguments in whose buffers nothing looked for races.
NO_RACES = "data races were not looked for in the buffers of"
#: The kinds in the order in which they are told.
FAULT_KINDS = ("race", "bounds", "uninitialized", "barrier", "other")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that the interpreter saw, ``count`` times at the same places: ``kind`` is ``bounds``, ``race``,
    ``uninitialized``, ``barrier`` or ``other``. ``work_items`` are the global ids of the first ones, ``argument`` is the
    buffer's, as far as it is known. ``is_lockstep``: a race in local memory, all of whose work-items are of one sub-group."""

    kind: str
    sentence: str
    places: tuple[SourcePlace, ...]
    work_items: tuple[tuple[int, int, int], ...]
    argument: str | None
    count: int
    is_lockstep: bool = False


def merged_faults(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return the faults in the order of their kinds, those of a kind at the same lines and argument or variable once; what the
    flags of an argument's buffer forbid once, at all its places. A race of several sub-groups goes before those within one."""
    counts: Counter[Hashable] = Counter()
    first_ones: dict[Hashable, Fault] = {}
    for fault in faults:
        # Of an access out of bounds the words up to the comma say whether it reads or writes, and which memory.
        words = {"bounds": fault.sentence.partition(" out of bounds,")[0], "other": fault.sentence}
        what = words.get(fault.kind, ""), fault.sentence.partition(VARIABLE)[2]
        is_of_buffer = fault.argument is not None and fault.sentence in OF_FLAGS.values()
        places = frozenset((place.path, place.line) for place in (() if is_of_buffer else fault.places))
        key = fault.kind, places, fault.argument, what
        first = first_ones.setdefault(key, fault)
        if first.is_lockstep and not fault.is_lockstep:
            first_ones[key] = fault
        elif is_of_buffer:
            first_ones[key] = replace(first, places=tuple(dict.fromkeys((*first.places, *fault.places))))
        counts[key] += fault.count
    merged = (replace(fault, count=counts[key]) for key, fault in first_ones.items())
    return tuple(sorted(merged, key=lambda fault: FAULT_KINDS.index(fault.kind) if fault.kind in FAULT_KINDS else -1))
