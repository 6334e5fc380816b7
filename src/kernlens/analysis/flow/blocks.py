"""Basic blocks of a kernel, and the edges that its lanes take between them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from kernlens.dataclass import NamedTuple, dataclass
from kernlens.model.effects import FALLS, Effects, Route


@dataclass(frozen=True, slots=True)
class Blocks:
    """A kernel's basic blocks in the order of their code; ``code[b]`` are the indexes of block b's instructions, ``firsts`` the
    first of each.

    The last ones are without code: each stands for the returns of one function (of several that share code), which go to
    behind all of its calls, whichever of them lanes came from. ``entry_of[b]`` is the block at which lanes enter that come
    to block b: 0, or the first block of a function that only calls by its address reach. ``is_open``: a function is called
    that is not known, or returns to who is not known, so that control may do more than the edges say.
    """

    firsts: Sequence[int]
    code: Sequence[range]
    successors: Sequence[tuple[int, ...]]
    predecessors: Sequence[tuple[int, ...]]
    entry_of: Sequence[int]
    is_open: bool

    def block_of(self, index: int) -> int:
        """Return the number of the block that holds instruction ``index``."""
        return bisect_right(self.firsts, index) - 1

    def is_entry(self, block: int) -> bool:
        """Return whether lanes enter at this block."""
        return self.entry_of[block] == block


class StraightCode(NamedTuple):
    """The ``code`` of a kernel's blocks, and the ``steps`` of each: the blocks that lanes go to within their function, where
    a call counts as a step to behind it."""

    code: list[range]
    steps: list[tuple[int, ...]]


def straight_code(routes: Mapping[int, Route], count: int) -> StraightCode:
    """Return the blocks of ``count`` instructions with these routes."""
    starts = {0} if count else set()
    for index, route in routes.items():
        starts.update(target for target in route.targets if target < count)
        starts.add(index + 1)
    firsts = sorted(start for start in starts if start < count)
    code = [range(first, end) for first, end in zip(firsts, [*firsts[1:], count], strict=False)]
    number_at = {first: number for number, first in enumerate(firsts)}
    ends = (routes.get(part[-1], FALLS) for part in code)
    return StraightCode(code, [_steps(number, route, number_at, count, code) for number, route in enumerate(ends)])


def blocks_of(effects: Effects) -> Blocks:
    """Return the blocks of the instructions with these effects."""
    count = len(effects.effects)
    straight = straight_code(effects.routes, count)
    code, steps = straight.code, straight.steps
    firsts = [part.start for part in code]
    number_at = {first: number for number, first in enumerate(firsts)}
    routes = [effects.routes.get(part[-1], FALLS) for part in code]
    calls = {
        number: [number_at[target] for target in route.targets if target in number_at]
        for number, route in enumerate(routes)
        if route.is_call
    }
    hub_of = _functions(steps, calls)
    hubs = sorted(set(hub_of.values()))
    hub_number = {hub: len(code) + position for position, hub in enumerate(hubs)}
    successors = [list(following) for following in steps] + [[] for _ in hubs]
    for number, callees in calls.items():
        if callees:
            for callee in callees:
                successors[hub_number[hub_of[callee]]] += steps[number]
            is_conditional = effects.effects[code[number][-1]].is_partial
            successors[number] = [*callees, *(steps[number] if is_conditional else ())]
    for number, route in enumerate(routes):
        if route.returns and number in hub_of:
            successors[number].append(hub_number[hub_of[number]])
    following = [tuple(dict.fromkeys(numbers)) for numbers in successors]
    is_open = any(not callees for callees in calls.values()) or any(
        route.returns and number not in hub_of for number, route in enumerate(routes)
    )
    entry_of = _entries(following)
    return Blocks(firsts, [*code, *(range(0) for _ in hubs)], following, _turned(following), entry_of, is_open)


def _steps(number: int, route: Route, number_at: dict[int, int], count: int, code: Sequence[range]) -> tuple[int, ...]:
    """Return the blocks that lanes go to within their function: a call counts as a step to behind it."""
    falls = route.falls and code[number].stop < count
    followed = () if route.is_call else tuple(number_at[target] for target in route.targets if target in number_at)
    return (*((number + 1,) if falls else ()), *followed)


def _functions(steps: Sequence[tuple[int, ...]], calls: dict[int, list[int]]) -> dict[int, int]:
    """Return for each block of a called function the number that stands for it: of functions that share blocks, the same."""
    entries = sorted({callee for callees in calls.values() for callee in callees})
    label: dict[int, int] = {}
    same = {entry: entry for entry in entries}

    def leader(entry: int) -> int:
        while same[entry] != entry:
            same[entry] = same[same[entry]]
            entry = same[entry]
        return entry

    for entry in entries:
        waiting = [entry]
        while waiting:
            block = waiting.pop()
            if block in label:
                same[leader(label[block])] = leader(entry)
                continue
            label[block] = entry
            waiting += steps[block]
    return {block: leader(entry) for block, entry in label.items()}


def _entries(successors: Sequence[Sequence[int]]) -> list[int]:
    """Return for each block the entry that it is reached from. No edge leads from the code before to a function that is
    called by its address alone: its first block is the first of its code that is not reached yet."""
    entry_of = [-1] * len(successors)
    for entry in range(len(successors)):
        waiting = [entry] if entry_of[entry] < 0 else []
        while waiting:
            block = waiting.pop()
            if entry_of[block] < 0:
                entry_of[block] = entry
                waiting += successors[block]
    return entry_of


def _turned(successors: Sequence[Iterable[int]]) -> list[tuple[int, ...]]:
    predecessors: list[list[int]] = [[] for _ in successors]
    for number, following in enumerate(successors):
        for successor in following:
            predecessors[successor].append(number)
    return [tuple(numbers) for numbers in predecessors]
