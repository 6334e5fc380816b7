"""Which set of options is the best by measured time: a right one, faster than the recorded one each time."""

from __future__ import annotations

from typing import Any

import pytest

from kernlens.verbs.replay.elements import Difference
from kernlens.verbs.replay.replayed import Compared, ReplayedBuild
from kernlens.verbs.replay.timed_sets import TimedSet, TimedSets
from kernlens.verbs.replay.timing import Ratio

RECORDED: Any = None


def timed(options: str, low: float, high: float, *, right: bool | None = True) -> TimedSet:
    difference = None if right else Difference(1, 0, "1", "2", None, None)
    compared = () if right is None else (Compared("the buffer of argument 0", 4, "int", difference),)
    build = ReplayedBuild(options, options, compared, None)
    return TimedSet(options, build, Ratio(20, (low + high) / 2, low, high))


def names(*sets: TimedSet, again: TimedSet | None = None) -> tuple[str | None, str | None, list[str]]:
    answer = TimedSets(RECORDED, "", 20, sets, again)
    first, best = answer.fastest, answer.best
    beside = [each.options for each in answer.beside_best]
    return None if first is None else first.options, None if best is None else best.options, beside


def test_what_differs_or_was_not_compared_is_never_the_best() -> None:
    sets = timed("wrong", 3, 4, right=False), timed("unknown", 5, 6, right=None), timed("right", 1.2, 1.3)
    assert names(*sets) == ("right", "right", [])
    assert [each.options for each in TimedSets(RECORDED, "", 20, sets).ranked] == ["right", "unknown", "wrong"]
    assert names(*sets[:2]) == (None, None, [])


def test_what_failed_is_last() -> None:
    sets = TimedSet("failed", reason="it does not build"), timed("wrong", 3, 4, right=False)
    assert [each.options for each in TimedSets(RECORDED, "", 20, sets).ranked] == ["wrong", "failed"]
    assert names(*sets) == (None, None, [])


@pytest.mark.parametrize(("low", "high"), [(0.9, 1.3), (0.5, 0.8)])
def test_what_is_not_told_faster_is_not_the_best(low: float, high: float) -> None:
    assert names(timed("fast", low, high)) == ("fast", None, [])
    assert names(timed("fast", 1.2, 1.4), again=timed("fast", low, high)) == ("fast", None, [])


def test_sets_whose_intervals_overlap_are_not_told_apart() -> None:
    sets = timed("a", 1.0, 1.15), timed("b", 1.3, 1.5), timed("c", 1.2, 1.35), timed("d", 1.3, 1.45, right=False)
    assert names(*sets, again=timed("b", 1.25, 1.4)) == ("b", "b", ["c"])
