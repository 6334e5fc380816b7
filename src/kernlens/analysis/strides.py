"""Strides of a kernel's accesses that are worth telling of, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernlens.model.behaviour import ObservedAccess, ObservedMachine
    from kernlens.model.static_access import StaticAccess

Line = tuple[str, int]
#: Banks of local memory conflict from so many times the least number of wavefronts on.
_TIMES = 1.5
#: Accesses to parts of a structure that use all of it waste from so many times their ideal units on.
_FAR = 4


def is_used_up(accesses: Sequence[ObservedAccess], chosen: int) -> bool:
    """Return whether accesses of one stride use all bytes between the lanes, in few requests: all is needed."""
    stride = accesses[0].stride
    if stride is None or any(each.stride != (stride[0], stride[0]) or each.example is None for each in accesses):
        return False
    if any(each.units[chosen] >= _FAR * each.least[chosen] for each in accesses):
        return False
    fields = {(e.begin + e.lanes[0][1]) % (abs(stride[0]) or 1): a.width for a in accesses if (e := a.example)}
    return len({each.requests for each in accesses}) == 1 and sum(fields.values()) >= abs(stride[0])


def strided_lines(accesses: Iterable[StaticAccess]) -> dict[Line, list[StaticAccess]]:
    """Return the accesses of each line whose neighbours are so far apart that less than half of what is moved may be used."""
    lines: dict[Line, list[StaticAccess]] = {}
    for each in accesses:
        if each.place is not None and each.is_far:
            lines.setdefault((each.place.path, each.place.line), []).append(each)
    return lines


def alike(accesses: Iterable[StaticAccess]) -> dict[tuple[str, str, str], list[StaticAccess]]:
    """Return the accesses of one memory, pattern and width together, the loads and stores of it."""
    groups: dict[tuple[str, str], dict[str, set[int]]] = {}
    by_key: dict[tuple[str, str], list[StaticAccess]] = {}
    for each in accesses:
        key = each.space, each.pattern
        by_key.setdefault(key, []).append(each)
        groups.setdefault(key, {}).setdefault(each.kind, set()).add(each.width)
    return {(kinds_words(groups[key]), *key): own for key, own in by_key.items()}


def kinds_words(kinds: Mapping[str, set[int]]) -> str:
    """Return in words which kinds of access there are, each of so many bytes: "load and store of 4 bytes"."""
    widths = {kind: f"of {_listed(list(map(str, sorted(each))))} bytes" for kind, each in kinds.items()}
    if len(set(widths.values())) == 1:
        return f"{_listed(list(widths))} {next(iter(widths.values()))}"
    return _listed([f"{kind} {width}" for kind, width in widths.items()])


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def conflicting_lanes(access: StaticAccess, lanes: int, machine: ObservedMachine) -> int | None:
    """Return how many words of one bank of local memory the ``lanes`` of a sub-group access, where that is so many more than
    they need that the banks conflict; None where they do not, or where that is not known. Lanes are counted as the observer
    counts wavefronts."""
    is_counted = machine.banks and access.width <= machine.bank_bytes
    if access.stride is None or not is_counted:
        return None
    words = {
        byte // machine.bank_bytes
        for lane in range(lanes)
        for byte in (lane * access.stride, lane * access.stride + access.width - 1)
    }
    banks = [0] * machine.banks
    for word in words:
        banks[word % machine.banks] += 1
    least = -(-len(words) // machine.banks)
    return max(banks) if max(banks) >= _TIMES * least else None
