"""The shortest and the longest way through blocks, against a slow walk over all ways."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from graphlib import CycleError

import pytest

from kernlens.analysis.flow.shortest_path import extremes
from kernlens.model.path_cycles import PathCycles

Loops = dict[int, frozenset[int]]


def all_ways(
    steps: Sequence[tuple[int, ...]], loops: Loops, at: int = 0, seen: tuple[int, ...] = ()
) -> Iterator[list[int]]:
    """Every way from a block to an end that takes each block once; back at the header of a loop, it leaves the loop."""
    way = [*seen, at]
    if not steps[at]:
        yield way
    for step in onward(steps, loops, at, frozenset()):
        if step not in way:
            yield from all_ways(steps, loops, step, tuple(way))


def onward(steps: Sequence[tuple[int, ...]], loops: Loops, at: int, left: frozenset[int]) -> set[int]:
    following = set()
    for step in steps[at]:
        if at not in loops.get(step, ()):
            following.add(step)
        elif step not in left:
            following |= onward(steps, loops, step, left | {step}) - loops[step]
    return following


def inside(loops: Loops) -> Callable[[int, int], bool]:
    return lambda block, header: block in loops[header]


def code(choose: random.Random, depth: int, first: int, steps: list[tuple[int, ...]], loops: Loops) -> int:
    """Append random nested code from block ``first`` on, and return the block behind it, which is still to be appended."""
    at = first
    for _ in range(choose.randint(1, 3)):
        kind = choose.choice(["plain", "if", "until", "while"] if depth else ["plain"])
        if kind == "plain":
            steps.append((at + 1,))
            at += 1
        elif kind == "if":
            steps.append(())
            end = code(choose, depth - 1, at + 1, steps, loops)
            steps[at] = (at + 1, end)
            at = end
        elif kind == "until":
            end = code(choose, depth - 1, at, steps, loops)
            steps.append((at, end + 1))
            if at in loops:  # A loop that begins with another needs a header of its own.
                loops[at] |= frozenset(range(at, end + 1))
            else:
                loops[at] = frozenset(range(at, end + 1))
            at = end + 1
        else:
            steps.append(())
            end = code(choose, depth - 1, at + 1, steps, loops)
            steps.append((at,))
            steps[at] = (at + 1, end + 1)
            loops[at] = frozenset(range(at, end + 1))
            at = end + 1
    return at


@pytest.mark.parametrize("seed", range(60))
def test_it_finds_what_a_walk_over_all_ways_finds(seed: int) -> None:
    choose = random.Random(seed)
    steps: list[tuple[int, ...]] = []
    loops: Loops = {}
    code(choose, 3, 0, steps, loops)
    steps.append(())
    costs = [choose.randint(0, 50) for _ in steps]
    ways = [sum(costs[block] for block in way) for way in all_ways(steps, loops)]
    shortest, longest = extremes(steps, costs, loops, inside(loops))
    assert sum(costs[block] for block in shortest) == min(ways)
    assert sum(costs[block] for block in longest) == max(ways)
    assert (shortest[0], longest[0], steps[shortest[-1]], steps[longest[-1]]) == (0, 0, (), ())


def test_a_loop_whose_condition_is_at_its_begin_runs_once() -> None:
    steps, loops = [(1,), (2, 3), (1,), ()], {1: frozenset({1, 2})}
    assert extremes(steps, [1, 10, 100, 1000], loops, inside(loops)) == ([0, 1, 3], [0, 1, 2, 3])


def test_a_loop_that_is_none_of_the_loops_is_refused() -> None:
    with pytest.raises(CycleError):
        extremes([(1,), (0, 2), ()], [1, 1, 1], (), lambda block, header: False)


def test_code_without_an_end_has_no_way() -> None:
    loops = {0: frozenset({0})}
    assert extremes([(0,)], [1], loops, inside(loops)) == ([], [])


def test_the_bound_is_the_pipe_with_most_cycles() -> None:
    path = PathCycles({"F": 3, "send": 7, "other": 2})
    assert (path.total, path.bound) == (12, "send")
    assert PathCycles({}).bound == ""
