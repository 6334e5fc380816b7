"""Patterns of addresses on code that is written here: what holds for all work-items, and where they part."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kernlens.analysis.lanes.flow import Flow
from kernlens.analysis.lanes.patterns import Group, static_accesses
from kernlens.errors import TooManyError
from kernlens.model import lane_code as code
from kernlens.model.lane_code import LaneBlock, LaneCode, Step

#: Numbers of values: the buffer, the argument ``n``, 0, 1, 64, and the id.
IN, N, ZERO, ONE, MANY, IDS, ID = range(1, 8)
NUMBERS = {ZERO: 0, ONE: 1, MANY: 64}
STARTS = [Step(code.LAUNCHED, IDS, (), (3,), 64, text=code.LOCAL_ID), Step(code.EXTRACT, ID, (IDS,), (0, 3), 64)]


def load(index: int, result: int = 90) -> list[Step]:
    """A load of four bytes at an index of the buffer."""
    address = Step(code.ADDRESS, result + 1, (IN, index), (0, 4), 64)
    return [address, Step(code.LOAD, result, (result + 1,), (4, 4), 32, space="global")]


def patterns(blocks: Sequence[tuple[Sequence[Step], Sequence[int], int]], group: Group | None = None) -> list[str]:
    """The patterns of the accesses of blocks, each of its steps, its successors and its condition."""
    first, *others = blocks
    every = [LaneBlock([*STARTS, *first[0]], [*first[1]], first[2])]
    every += [LaneBlock([*steps], [*successors], condition) for steps, successors, condition in others]
    lanes = LaneCode(every, NUMBERS, {}, {IN: "in", N: "n"}, {})
    return [each.pattern for each in static_accesses(lanes, group or Group())]


@pytest.mark.parametrize(
    ("steps", "pattern"),
    [
        ([Step(code.CONVERT, 20, (ID,), (), 64)], "consecutive"),
        ([Step(code.MULTIPLY, 20, (ID, N), (), 32)], "stride of 4 x n bytes"),
        ([Step(code.MULTIPLY, 20, (ID, MANY), (), 32)], "stride of 256 bytes"),
        ([Step(code.SUBTRACT, 20, (N, ID), (), 32)], "stride of -4 bytes"),
        ([Step(code.SHIFT_LEFT, 20, (ID, ONE), (), 32)], "stride of 8 bytes"),
        ([Step(code.PURE, 20, (N,), (), 32)], "same address"),
        ([Step(code.PURE, 20, (ID,), (), 32)], "unknown"),
        ([Step(code.OWN, 20, (), (), 32)], "unknown"),
        ([Step(code.MULTIPLY, 20, (ID, ID), (), 32)], "unknown"),
        # A number of 8 bits wraps around among neighbours.
        ([Step(code.CONVERT, 20, (ID,), (), 8)], "unknown"),
        ([Step(code.PURE, 21, (N,), (), 32), Step(code.MULTIPLY, 20, (ID, 21), (), 32)], "stride that is not known"),
        ([Step(code.BOUND, 20, (ID, N), (), 32)], "consecutive between bounds"),
        # What two bounds cut is not the same, though the same number is cut.
        (
            [
                Step(code.BOUND, 21, (ID, N), (), 32),
                Step(code.BOUND, 22, (ID, ONE), (), 32),
                Step(code.SUBTRACT, 23, (21, 22), (), 32),
                Step(code.PURE, 20, (23,), (), 32),
            ],
            "unknown",
        ),
    ],
)
def test_arithmetic_keeps_a_stride(steps: list[Step], pattern: str) -> None:
    assert patterns([([*steps, *load(20)], (), -1)]) == [pattern]


def test_a_value_that_data_decides_is_not_followed() -> None:
    assert patterns([([*load(ID, 30), *load(30)], (), -1)]) == ["consecutive", "unknown"]
    # All work-items load the same.
    assert patterns([([*load(N, 30), *load(30)], (), -1)]) == ["same address", "same address"]
    # Each work-item has private memory of its own, at the same address.
    private = [each._replace(space="private") if each.name == code.LOAD else each for each in load(N, 30)]
    assert patterns([([*private, *load(30)], (), -1)]) == ["same address", "unknown"]
    volatile = [each._replace(text="volatile") if each.name == code.LOAD else each for each in load(N, 30)]
    assert patterns([([*volatile, *load(30)], (), -1)]) == ["same address", "unknown"]


@pytest.mark.parametrize(("condition", "pattern"), [(ID, "unknown"), (N, "same address")])
def test_a_choice_is_that_of_its_branch(condition: int, pattern: str) -> None:
    phi = Step(code.PHI, 20, (ZERO, MANY), (1, 2), 32)
    assert patterns([((), (1, 2), condition), ((), (3,), -1), ((), (3,), -1), ([phi, *load(20)], (), -1)]) == [pattern]


def test_work_items_that_return_part_nobody() -> None:
    """What comes behind a branch of which one side ends is of those that stayed."""
    phi = Step(code.PHI, 20, (ZERO, MANY), (3, 4), 32)
    blocks = [
        ((), (1, 2), ID),
        ((), (), -1),
        ((), (3, 4), N),
        ((), (5,), -1),
        ((), (5,), -1),
        ([phi, *load(20)], (), -1),
    ]
    assert patterns(blocks) == ["same address"]


@pytest.mark.parametrize(("bound", "behind"), [(N, "same address"), (ID, "unknown")])
def test_a_loop_counts_the_same_for_those_that_are_in_it(bound: int, behind: str) -> None:
    """Its counter is shared in the loop. Behind it only if all leave it in the same round."""
    head = [Step(code.PHI, 20, (ZERO, 21), (0, 2), 32), Step(code.PURE, 22, (20, bound), (), 0)]
    body = [*load(20), Step(code.ADD, 21, (20, ONE), (), 32)]
    assert patterns([((), (1,), -1), (head, (2, 3), 22), (body, (1,), -1), (load(20, 95), (), -1)]) == [
        "same address",
        behind,
    ]


def test_a_pointer_that_a_loop_moves_keeps_its_stride() -> None:
    head = [Step(code.PHI, 20, (ID, 21), (0, 2), 32), Step(code.PURE, 22, (N,), (), 0)]
    body = [*load(20), Step(code.ADD, 21, (20, N), (), 32)]
    assert patterns([((), (1,), -1), (head, (2, 3), 22), (body, (1,), -1), ((), (), -1)]) == ["consecutive"]
    grows = [*load(20), Step(code.ADD, 21, (20, ID), (), 32)]
    assert patterns([((), (1,), -1), (head, (2, 3), 22), (grows, (1,), -1), ((), (), -1)]) == ["unknown"]


@pytest.mark.parametrize(
    ("local", "pattern"),
    [((32, 8, 1), "consecutive"), ((16, 16, 1), "unknown"), ((16, 1, 1), "consecutive"), ((1, 64, 1), "same address")],
)
def test_the_size_of_a_work_group_decides_who_neighbours_are(local: tuple[int, int, int], pattern: str) -> None:
    assert patterns([(load(ID), (), -1)], Group(32, local)) == [pattern]


def test_rows_that_follow_each_other_are_one_stride() -> None:
    rows = [
        Step(code.EXTRACT, 20, (IDS,), (1, 3), 64),
        Step(code.LAUNCHED, 21, (), (3,), 64, text=code.LOCAL_SIZE),
        Step(code.EXTRACT, 22, (21,), (0, 3), 64),
        Step(code.MULTIPLY, 23, (20, 22), (), 64),
        Step(code.ADD, 24, (23, ID), (), 64),
    ]
    assert patterns([([*rows, *load(24)], (), -1)], Group(32, (16, 16, 1))) == ["consecutive"]


def test_entangled_code_is_refused() -> None:
    with pytest.raises(TooManyError, match="in its midst"):
        Flow([(1, 2), (2,), (1,)])
    with pytest.raises(TooManyError, match="5,000 blocks"):
        Flow([()] * 5001)
