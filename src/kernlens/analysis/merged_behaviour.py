"""The launches of a kernel with the same sizes as one: their counts added up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from kernlens.dataclass import replace
from kernlens.model.behaviour import UNITS, Behaviour, ObservedAccess, ObservedBranch, ObservedLoop
from kernlens.model.fault import merged_faults

T = TypeVar("T")


def merged(launches: Sequence[Behaviour]) -> Behaviour:
    """Return the counts of all launches, of one kernel and its sizes, at least one; ``launches`` is their number."""
    if len(launches) == 1:
        return launches[0]
    first = launches[0]
    return replace(
        first,
        groups=sum(each.groups for each in launches),
        groups_done=sum(each.groups_done for each in launches),
        is_out_of_time=any(each.is_out_of_time for each in launches),
        instructions=sum(each.instructions for each in launches),
        copied_bytes=sum(each.copied_bytes for each in launches),
        pieces=[
            (*same[0][:2], sum(each[2] for each in same), sum(each[3] for each in same), all(each[4] for each in same))
            for same in _alike((each.pieces for each in launches), lambda piece: piece[:2])
        ],
        accesses=tuple(map(_access, _alike((each.accesses for each in launches), _of_access))),
        branches=tuple(map(_branch, _alike((each.branches for each in launches), _of_branch))),
        loops=tuple(map(_loop, _alike((each.loops for each in launches), lambda loop: loop.place))),
        barriers=tuple(
            (same[0][0], sum(each[1] for each in same))
            for same in _alike((each.barriers for each in launches), lambda each: each[0])
        ),
        faults=merged_faults(fault for each in launches for fault in each.faults),
        notes=tuple(dict.fromkeys(note for each in launches for note in each.notes)),
        buffers=max((each.buffers for each in launches), key=lambda buffers: sum(size for _, size in buffers)),
        launches=sum(each.launches for each in launches),
    )  # fmt: skip


def _alike(launches: Iterable[Sequence[T]], key: Callable[[T], Hashable]) -> list[list[T]]:
    """Return what belongs together: the nth of a launch with a key, and the nth of each other."""
    alike: dict[Hashable, list[T]] = {}
    for launch in launches:
        ordinals: dict[Hashable, int] = defaultdict(int)
        for each in launch:
            own = key(each)
            alike.setdefault((own, ordinals[own]), []).append(each)
            ordinals[own] += 1
    return list(alike.values())


def _of_access(access: ObservedAccess) -> Hashable:
    return access.place, access.calls, access.kind, access.space


def _of_branch(branch: ObservedBranch) -> Hashable:
    return branch.place, len(branch.shares)


def _access(same: Sequence[ObservedAccess]) -> ObservedAccess:
    first = same[0]
    strides = [each.stride for each in same if each.stride is not None]
    sums = ("requests", "lanes", "bytes", "used", "distinct", "contention", "ungrouped")
    lists = ("units", "least", "patterns")
    known = [
        name for name in ("wavefronts", "least_wavefronts") if all(getattr(each, name) is not None for each in same)
    ]
    changes: dict[str, Any] = {
        **{name: sum(getattr(each, name) for each in same) for name in (*sums, *known)},
        **{name: tuple(map(sum, zip(*(getattr(each, name) for each in same), strict=True))) for name in lists},
    }
    return replace(
        first,
        width=max(each.width for each in same),
        example=max(
            (each.example for each in same if each.example is not None),
            key=lambda example: len(example.units(UNITS[0])),
            default=None,
        ),
        stride=(min(low for low, _ in strides), max(high for _, high in strides)) if strides else None,
        **changes,
    )


def _branch(same: Sequence[ObservedBranch]) -> ObservedBranch:
    return replace(
        same[0],
        sub_groups=sum(each.sub_groups for each in same),
        parted=sum(each.parted for each in same),
        shares=tuple(map(sum, zip(*(each.shares for each in same), strict=True))),
    )


def _loop(same: Sequence[ObservedLoop]) -> ObservedLoop:
    entries = sum(each.entries for each in same)
    rounds = [each.sub_group_rounds for each in same]
    known = [each for each in rounds if each is not None]

    def weighted(values: Iterable[float]) -> float:
        return sum(value * each.entries for value, each in zip(values, same, strict=True)) / entries if entries else 0.0

    return replace(
        same[0],
        entries=entries,
        least=min(each.least for each in same),
        mean=weighted(each.mean for each in same),
        most=max(each.most for each in same),
        sub_group_rounds=weighted(known) if len(known) == len(rounds) else None,
    )
