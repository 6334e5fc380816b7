"""The ways through a kernel's blocks, and what becomes of work-items that part on them.

Dominators are those of K. Cooper, T. Harvey and K. Kennedy ("A Simple, Fast Dominance Algorithm"). Work-items are
compared in the same round of all loops around a block, as the interpreter groups their accesses.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.errors import TooManyError

#: Rounds over the blocks behind a branch, of which the second brings what comes along edges back.
_PASSES = 2
#: Blocks that a kernel may have, and blocks behind branches that are looked at.
_MOST_BLOCKS, _MOST_BEHIND = 5_000, 1_000_000


class Flow:
    """The blocks that are reached from block 0: ``order`` has them before those that they lead to, but for the heads of loops.

    ``loops`` are the heads of the loops around each block. ``mixed`` are the blocks where work-items meet that parted, each
    with whether they come for another round of a loop. ``parted`` are the heads of the loops that they leave in different
    rounds. Raises TooManyError for code with entries into the midst of loops.
    """

    def __init__(self, successors: Sequence[Sequence[int]]) -> None:
        if len(successors) > _MOST_BLOCKS:
            raise TooManyError(
                f"the kernel has more than {_MOST_BLOCKS:,} blocks with its calls inlined", format="spirv"
            )
        self._successors, self._behind = successors, 0
        self.order = _order(successors, 0)
        self.predecessors = _turned(successors, self.order)
        self._dominator = _dominators(self.order, self.predecessors)
        exit_ = len(successors)
        leaves = [[*each] or [exit_] for each in successors]
        turned: list[Sequence[int]] = [*_turned(leaves, [*self.order, exit_])]
        backwards = _order(turned, exit_)
        self._follower = _dominators(backwards, _turned(turned, backwards))
        self.loops: list[set[int]] = [set() for _ in successors]
        self.mixed: set[tuple[int, bool]] = set()
        self.parted: set[int] = set()
        self._diverged: set[int] = set()
        self._find_loops()

    def above(self, block: int) -> int:
        """Return the only block that leads to a block, -1 if there is none."""
        before = self.predecessors[block]
        return before[0] if len(before) == 1 else -1

    def is_back(self, source: int, target: int) -> bool:
        """Tell whether an edge leads back to the head of a loop."""
        return target in self.loops[source]

    def _dominates(self, above: int, block: int) -> bool:
        while block != above and block != self._dominator[block]:
            block = self._dominator[block]
        return block == above

    def _find_loops(self) -> None:
        place = {block: number for number, block in enumerate(self.order)}
        for head in self.order:
            waiting = [each for each in self.predecessors[head] if place[each] >= place[head]]
            if waiting and not all(self._dominates(head, each) for each in waiting):
                raise TooManyError("the code enters a loop in its midst", format="spirv")
            if waiting:
                self.loops[head].add(head)
            while waiting:
                block = waiting.pop()
                if head not in self.loops[block]:
                    self.loops[block].add(head)
                    waiting += self.predecessors[block]

    def part(self, block: int) -> bool:
        """Note that work-items go several ways from a block. Return whether that is new."""
        if block in self._diverged:
            return False
        self._diverged.add(block)
        meeting = self._follower.get(block)
        if meeting is not None and meeting >= len(self.loops):
            meeting = None
        between: set[int] = set()
        waiting = [*self._successors[block]]
        while waiting:
            each = waiting.pop()
            if each not in between and each != meeting:
                between.add(each)
                waiting += self._successors[each]
        self._behind += len(between)
        if self._behind > _MOST_BEHIND:
            raise TooManyError("too many branches on which work-items part", format="spirv")
        self._meet(block, between if meeting is None else between | {meeting})
        for head in self.loops[block]:
            # Those that go on meet the others in this round, or all of them in the next one.
            stays = meeting is not None and head in self.loops[meeting]
            if not stays or head in between:
                self.parted.add(head)
        return True

    def _meet(self, block: int, region: set[int]) -> None:
        """Note where work-items meet that parted at a block. A label says since where they have come the same way."""
        labels: dict[int, int] = {}
        ordered = [each for each in self.order if each in region]
        for _ in range(_PASSES):
            for each in ordered:
                ways: dict[bool, set[int]] = {False: set(), True: set()}
                for source in self.predecessors[each]:
                    label = each if source == block else labels.get(source) if source in region else None
                    if label is not None:
                        ways[self.is_back(source, each)].add(label)
                self.mixed.update((each, is_back) for is_back, came in ways.items() if len(came) > 1)
                every = ways[False] | ways[True]
                if every:
                    labels[each] = every.pop() if len(every) == 1 else each


def _order(successors: Sequence[Sequence[int]], entry: int) -> list[int]:
    """Return the blocks that are reached, in reverse postorder."""
    seen = {entry}
    order: list[int] = []
    path = [(entry, iter(successors[entry]))]
    while path:
        block, following = path[-1]
        for each in following:
            if each not in seen:
                seen.add(each)
                path.append((each, iter(successors[each])))
                break
        else:
            order.append(block)
            path.pop()
    return order[::-1]


def _turned(successors: Sequence[Sequence[int]], blocks: Sequence[int]) -> list[list[int]]:
    """Return where each block is come to from, of these blocks."""
    turned: list[list[int]] = [[] for _ in range(max([len(successors), *(each + 1 for each in blocks)]))]
    for block in blocks:
        for each in successors[block] if block < len(successors) else ():
            turned[each].append(block)
    return turned


def _dominators(order: Sequence[int], predecessors: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return the block that all ways to each block go through last; the first block's is itself."""
    place = {block: number for number, block in enumerate(order)}
    dominator = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            common: int | None = None
            for each in predecessors[block]:
                if each in dominator:
                    common = each if common is None else _common(common, each, dominator, place)
            if common is not None and dominator.get(block) != common:
                dominator[block] = common
                changed = True
    return dominator


def _common(left: int, right: int, dominator: dict[int, int], place: dict[int, int]) -> int:
    while left != right:
        while place[left] > place[right]:
            left = dominator[left]
        while place[right] > place[left]:
            right = dominator[right]
    return left
