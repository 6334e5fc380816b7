"""Constants and initialised variables of programs that belong together: with other values equal code has another result."""

from __future__ import annotations

from collections.abc import Iterator

from kernlens.analysis.comparison.pairs import Pairing
from kernlens.dataclass import dataclass
from kernlens.model.program import Program


@dataclass(frozen=True, slots=True)
class DataChange:
    """A part of the data of two programs that belong together, ``name``: a section of the binary. It has ``old_size`` and
    ``new_size`` bytes, 0 where a side lacks it; ``differing`` is the number of bytes with other values, with those that only
    one side has."""

    old: Program
    new: Program
    name: str
    old_size: int
    new_size: int
    differing: int


@dataclass(frozen=True, slots=True)
class DataChanges:
    """The comparison of the data of programs whose kernels were compared. ``compared`` is the number of those with data on a
    side, ``changes`` are the parts that differ, and ``unread`` those whose data are not read, or are for two instruction
    sets."""

    compared: int = 0
    changes: tuple[DataChange, ...] = ()
    unread: tuple[Program, ...] = ()


def data_changes(pairing: Pairing) -> DataChanges:
    """Return how the data differ of the programs whose kernels are pairs, whichever of their kernels were asked for: no binary
    says which kernel reads what. Raises FormatError for a damaged binary."""
    compared = 0
    changes: list[DataChange] = []
    unread: list[Program] = []
    of_two_isas = {id(each.old_program) for each in pairing.kernels if each.has_two_isas}
    both = {
        (id(each.old_program), id(each.new_program)): (each.old_program, each.new_program) for each in pairing.kernels
    }
    for old, new in both.values():
        if old.data is None or new.data is None or id(old) in of_two_isas:
            unread += [old, new]
            continue
        compared += bool(old.data or new.data)
        changes += _changes(old, new)
    return DataChanges(compared, tuple(changes), tuple(unread))


def _changes(old: Program, new: Program) -> Iterator[DataChange]:
    before, after = old.data or {}, new.data or {}
    for name in dict.fromkeys((*before, *after)):
        left, right = before.get(name, b""), after.get(name, b"")
        if left != right:
            shared = sum(map(int.__ne__, left, right))
            differing = shared + abs(len(left) - len(right))
            yield DataChange(old, new, name, len(left), len(right), differing)
