"""The accesses of a kernel as its machine code has them, beside those of its source that an interpreter counted.

They are joined line by line: what the lanes of a sub-group ask for, in bytes of a lane, is compared with what the messages at
that line access. Nothing is said of a line some of whose messages do not state their size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernlens.analysis.observed_code import Line, ObservedCode, observed_code
from kernlens.dataclass import dataclass
from kernlens.model.behaviour import ATOMIC, CONSTANT, GLOBAL, LOCAL, PATTERNS, UNITS, Behaviour, ObservedAccess
from kernlens.model.instruction_kind import ACTIONS, SLM, Access
from kernlens.model.instruction_kind import GLOBAL as GLOBAL_MEMORY
from kernlens.model.kernel import Kernel
from kernlens.model.source_map import INHERITED, LINE_LOST, NO_LINE

#: What became of a line's accesses: all are there as the source has them; fewer that are wider; several copies; one for a whole
#: sub-group; none at this line; anything else.
KEPT, JOINED, REPEATED, UNIFORM, ABSENT, OTHER = ("kept", "joined", "repeated", "uniform", "absent", "other")
_ACTIONS = frozenset(ACTIONS[:3])


@dataclass(frozen=True, slots=True)
class MachineAccess:
    """The loads, stores or atomics of a line, as ``kind`` says, of global or local memory (``space``).

    ``source`` has the bytes that a lane asks for, of each access of the source, and ``code`` those of each message of the
    code, the parts of one access together; ``state`` is what became of them. ``units``
    are the fewest and the most of global memory that all launches moved so; None where that does not follow.
    """

    line: Line
    kind: str
    space: str
    source: tuple[int, ...]
    code: tuple[int, ...]
    state: str
    units: tuple[int, int] | None


def machine_accesses(kernel: Kernel) -> tuple[MachineAccess, ...]:
    """Return the accesses of each line that an interpreter counted, in the order of lines; none without code or lines."""
    observed, source_map = observed_code(kernel), kernel.source_map
    if observed is None or not observed.launches or source_map is None or not kernel.code_size:
        return ()
    messages, is_loose = _messages(kernel)
    accesses: dict[tuple[Line, str, str], list[tuple[Behaviour, ObservedAccess]]] = {}
    for launch, access in _counted(observed):
        assert access.place is not None
        line = observed.paths.get(access.place.path, access.place.path), access.place.line
        space = SLM if access.space == LOCAL else GLOBAL_MEMORY
        accesses.setdefault((line, access.kind, space), []).append((launch, access))
    told = (
        _machine_access(key, own, messages.get(key, []), observed, is_loose=key[1:] in is_loose)
        for key, own in sorted(accesses.items(), key=lambda item: item[0])
    )
    return tuple(each for each in told if each is not None)


def _counted(observed: ObservedCode) -> Iterator[tuple[Behaviour, ObservedAccess]]:
    for launch in observed.launches:
        for access in launch.accesses:
            if access.place is not None and access.requests and access.space in (GLOBAL, CONSTANT, LOCAL):
                yield launch, access


def _messages(kernel: Kernel) -> tuple[dict[tuple[Line, str, str], list[Access]], set[tuple[str, str]]]:
    """Return the messages of each line, kind and memory, and the kinds and memories of which some have no line of their own."""
    source_map = kernel.source_map
    assert source_map is not None
    messages: dict[tuple[Line, str, str], list[Access]] = {}
    loose: set[tuple[str, str]] = set()
    for row, kind in enumerate(kernel.instructions.kinds):
        access = kind.access
        if access is None or access.action not in _ACTIONS or access.is_spill or kind.name not in (GLOBAL_MEMORY, SLM):
            continue
        place = source_map.places[row]
        if place is not None:
            messages.setdefault(((place.path, place.line), access.action, kind.name), []).append(access)
        if source_map.origin(row) in (INHERITED, LINE_LOST, NO_LINE):
            loose.add((access.action, kind.name))
    return messages, loose


def _machine_access(
    key: tuple[Line, str, str],
    own: Sequence[tuple[Behaviour, ObservedAccess]],
    messages: Sequence[Access],
    observed: ObservedCode,
    *,
    is_loose: bool,
) -> MachineAccess | None:
    """Return what became of a line's accesses of one kind; None where the code does not tell."""
    line, kind, space = key
    first = observed.launches[0]
    source = tuple(sorted(access.width for launch, access in own if launch is first))
    width = observed.machine.width
    if not source or any(each.size is None for each in messages):
        return None
    if not messages:
        return None if is_loose else MachineAccess(line, kind, space, source, (), ABSENT, None)
    uniform = [each for each in messages if each.lanes == 1]
    parts = [each for each in messages if each.lanes > 1]
    if uniform and parts:
        return None
    if uniform:
        sizes = tuple(sorted(each.element_bytes * each.elements for each in uniform))
        is_same = all(_has_one_address(access) for _, access in own)
        return MachineAccess(line, kind, space, source, sizes, UNIFORM if is_same else OTHER, None)
    code = _of_lanes(parts, width)
    if code is None:
        return None
    state = _state(source, code, kind)
    return MachineAccess(line, kind, space, source, code, state, _units(own, source, code, state, space))


def _has_one_address(access: ObservedAccess) -> bool:
    """Tell whether each request has one address: that of all its lanes, or of the only one that is active."""
    requests = dict(zip(PATTERNS, access.patterns, strict=True))
    return not any(requests[pattern] for pattern in ("consecutive", "strided", "irregular"))


def _of_lanes(parts: Sequence[Access], width: int) -> tuple[int, ...] | None:
    """Return the bytes of a lane of each access: messages of fewer lanes than a sub-group has are parts of one. None where
    these make no whole one."""
    by_bytes: dict[int, int] = {}
    for each in parts:
        size = each.element_bytes * each.elements
        by_bytes[size] = by_bytes.get(size, 0) + min(each.lanes, width)
    if any(lanes % width for lanes in by_bytes.values()):
        return None
    return tuple(size for size, lanes in sorted(by_bytes.items()) for _ in range(lanes // width))


def _state(source: Sequence[int], code: Sequence[int], kind: str) -> str:
    if source == code:
        return KEPT
    copies = len(code) / len(source)
    if copies == int(copies) and sorted([*source] * int(copies)) == [*code]:
        return REPEATED
    if kind != ATOMIC and sum(code) % sum(source) == 0 and len(code) < len(source) * (sum(code) // sum(source)):
        return JOINED
    is_wider = len(code) <= len(source) and max(code) > max(source)
    return JOINED if is_wider and kind != ATOMIC else OTHER


def _units(
    own: Sequence[tuple[Behaviour, ObservedAccess]], source: Sequence[int], code: Sequence[int], state: str, space: str
) -> tuple[int, int] | None:
    """Return the fewest and the most units of global memory that the code's accesses touch. What is joined touches each unit
    that several of the source's accesses touch once, and no other; with those of other lines or rounds that is not known."""
    if (
        space != GLOBAL_MEMORY
        or state not in (KEPT, REPEATED, JOINED)
        or (state == JOINED and sum(source) != sum(code))
    ):
        return None
    units: dict[int, list[int]] = {}
    for launch, access in own:
        units.setdefault(id(launch), []).append(int(launch.times * access.units[UNITS.index(launch.unit)]))
    most = sum(map(sum, units.values()))
    return (sum(map(max, units.values())) if state == JOINED else most), most
