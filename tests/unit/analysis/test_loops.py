"""Loops and their nesting, on branches written by hand and against the definition."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernlens.analysis.flow import loops as loops_module
from kernlens.analysis.flow.loops import loops_of, loops_of_routes
from kernlens.errors import TooManyError
from kernlens.model.effects import Route
from kernlens.model.intel_instructions import LABEL, IntelInstructions
from kernlens.model.loop_nest import Loop, Loops
from tests.corpus.oracles.natural_loops import DefinedLoops
from tests.limits import memory, processor_time
from tests.writers.instruction_records import record

END = Route(falls=False)


def to(*targets: int, falls: bool = False) -> Route:
    return Route(falls, targets)


def call(*targets: int) -> Route:
    return Route(True, targets, is_call=True)


def depths(routes: dict[int, Route], count: int) -> list[int]:
    return list(loops_of_routes(routes, count).depths)


def test_straight_code_and_branches_forward_are_no_loops() -> None:
    assert depths({}, 0) == []
    assert depths({}, 3) == [0, 0, 0]
    assert depths({0: to(3, falls=True), 2: to(4)}, 5) == [0] * 5


def test_a_loop() -> None:
    loops = loops_of_routes({3: to(1, falls=True)}, 5)
    assert list(loops.loops) == [Loop(range(1, 4), (3,), None, 1, 0)]
    assert list(loops.innermost) == [-1, 0, 0, 0, -1]
    assert list(loops.depths) == [0, 1, 1, 1, 0]
    assert loops.rows(0) == [range(1, 4)]
    assert loops.holds(0, 1)
    assert not loops.holds(0, 4)


def test_an_instruction_that_goes_to_itself() -> None:
    assert depths({1: to(1, falls=True)}, 3) == [0, 1, 0]


def test_two_ways_back_are_one_loop() -> None:
    # 1: header, 2: continue if, 4: back
    (loop,) = loops_of_routes({2: to(1, falls=True), 4: to(1, falls=True)}, 6).loops
    assert loop.back_rows == (2, 4)


def test_what_leaves_a_loop_is_outside() -> None:
    # 3 leaves the loop 1-5 by row 6, which ends the thread in its midst, as scheduled code may stand.
    routes = {1: to(4, falls=True), 3: END, 5: to(1, falls=True)}
    loops = loops_of_routes(routes, 7)
    assert list(loops.depths) == [0, 1, 0, 0, 1, 1, 0]
    assert loops.rows(0) == [range(1, 2), range(4, 6)]


def test_loops_in_loops() -> None:
    routes = {2: to(2, falls=True), 4: to(4, falls=True), 5: to(1, falls=True), 6: to(0, falls=True)}
    loops = loops_of_routes(routes, 8)
    assert list(loops.depths) == [1, 2, 3, 2, 3, 2, 1, 0]
    assert [(loop.header.start, loop.parent, loop.last) for loop in loops.loops] == [
        (0, None, 3), (1, 0, 3), (2, 1, 2), (4, 1, 3),
    ]  # fmt: skip
    assert loops.rows(1) == [range(1, 6)]


def test_a_function_called_twice_is_no_loop() -> None:
    # Along the lanes a second call comes back to the function's first row, but no round begins there.
    routes = {0: call(4), 1: call(4), 3: END, 5: Route(False, returns=True)}
    assert depths(routes, 6) == [0] * 6


def test_a_call_in_a_loop_and_a_loop_in_a_function() -> None:
    routes = {1: call(4), 2: to(1, falls=True), 3: END, 5: to(5, falls=True), 6: Route(False, returns=True)}
    assert depths(routes, 7) == [0, 1, 1, 0, 0, 1, 0]


def test_a_loop_that_is_entered_in_its_midst_is_irreducible() -> None:
    routes = {0: to(3, falls=True), 4: to(1, falls=True)}
    (loop,) = loops_of_routes(routes, 6).loops
    assert loop.is_irreducible
    assert not loops_of_routes({4: to(1, falls=True)}, 6).loops[0].is_irreducible
    # By a call as well.
    routes = {0: call(3), 4: to(1, falls=True), 5: END}
    assert loops_of_routes(routes, 6).loops[0].is_irreducible


def test_dead_code_enters_no_loop() -> None:
    routes = {0: to(3), 1: to(4), 5: to(3, falls=True)}
    assert [loop.is_irreducible for loop in loops_of_routes(routes, 7).loops] == [False]


ROUTES = st.integers(1, 14).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.dictionaries(
            st.integers(0, count - 1),
            st.builds(
                Route,
                st.booleans(),
                st.lists(st.integers(0, count - 1), max_size=2).map(tuple),
                is_call=st.sampled_from([False, False, False, True]),
            ),
        ),
    )
)


@settings(max_examples=150, deadline=None)
@given(ROUTES)
def test_loops_are_those_of_the_definition(drawn: tuple[int, dict[int, Route]]) -> None:
    count, routes = drawn
    following: list[set[int]] = []
    for row in range(count):
        route = routes.get(row, Route())
        falls = {row + 1} if route.falls and row + 1 < count else set[int]()
        following.append(falls | set(() if route.is_call else route.targets))
    entries = {0, *(target for route in routes.values() if route.is_call for target in route.targets)}
    reached = DefinedLoops(following, entries)
    # Code that nothing leads to is judged by itself: here it has no edges.
    loops = loops_of_routes(routes, count)
    ours = {
        loop.header.start: {row for rows in loops.rows(number) for row in rows}
        for number, loop in enumerate(loops.loops)
        if loop.header.start in reached.reached
    }
    irreducible = {loop.header.start for loop in loops.loops if loop.is_irreducible} & reached.reached
    assert bool(irreducible) == reached.has_irreducible
    regular = {header: rows for header, rows in ours.items() if header not in irreducible}
    assert regular == {header: rows for header, rows in reached.natural.items() if header not in irreducible}


def nested(count: int) -> dict[int, Route]:
    return {index: to(count - 1 - index, falls=True) for index in range(count // 2, count)}


def entangled(count: int) -> dict[int, Route]:
    """Loops in loops, each of which is entered in its midst from before all of them."""
    half = count // 2
    into = {index: to(half + index, falls=True) for index in range(0, half, 2)}
    return into | {half + index: to(half - index, falls=True) for index in range(half)}


@pytest.mark.parametrize("make", [nested, entangled])
def test_time_and_memory_are_bounded(make: object) -> None:
    assert callable(make)
    count = 6_000
    routes = make(count)
    with processor_time(5), memory(20 << 20):
        try:
            loops = loops_of_routes(routes, count)
        except TooManyError:
            return
        assert max(loops.depths) > 0


def instructions(routes: dict[int, Route], count: int) -> IntelInstructions:
    rows = [
        record(
            offset=16 * row,
            flags=LABEL if row in routes else 0,
            targets=tuple(16 * target for target in routes[row].targets) if row in routes else (),
        )
        for row in range(count)
    ]
    return IntelInstructions(b"".join(rows), [""], list, find_routes=lambda: routes)


def test_loops_of_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    routes = {3: to(1, falls=True)}
    assert loops_of(instructions(routes, 5)) == loops_of_routes(routes, 5)
    # Without a branch backwards the routes are not read.
    straight = IntelInstructions(record(), [""], list, find_routes=lambda: pytest.fail("routes are read"))
    loops = loops_of(straight)
    assert isinstance(loops, Loops)
    assert (list(loops.depths), loops.loops) == ([0], [])
    monkeypatch.setattr(loops_module, "_STEPS_PER_BLOCK", 0)
    assert loops_of(instructions({2: to(4, falls=True), 3: to(1, falls=True)}, 5)) is None
    assert loops_of(IntelInstructions(record(flags=LABEL, targets=(0,)), [""], list)) is None
