"""Trips of loops: how often instructions run, and the loops that a line names."""

from __future__ import annotations

from array import array
from typing import Any, cast

import pytest

from kernlens.analysis.flow.loops import loops_of_routes
from kernlens.analysis.trip_weights import kernel_with_trips, loops_at, trip_weights
from kernlens.errors import TooManyError
from kernlens.model.code_function import CodeFunction
from kernlens.model.effects import Route
from kernlens.model.intel_instructions import IntelInstructions
from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.line_table import LineTable, SourceFile
from kernlens.model.source_map import NO_ROW, SourceMap
from kernlens.model.trips import Trips
from tests.writers.instruction_records import record

END = Route(falls=False)
BACK = Route(falls=False, returns=True)


def to(*targets: int, falls: bool = True) -> Route:
    return Route(falls, targets)


def call(target: int) -> Route:
    return Route(True, (target,), is_call=True)


def at(line: int) -> LineChoice:
    return LineChoice("a.cl", line)


def kernel(lines: str, routes: dict[int, Route], functions: tuple[range, ...] = ()) -> Kernel:
    """A kernel with a row for each of ``lines``, a digit; 0 has no line."""
    count = len(lines)
    numbers = [int(line) for line in lines]
    records = b"".join(record(offset=16 * row) for row in range(count))
    table = LineTable(
        files=(SourceFile("a.cl"),),
        offsets=array("I", (16 * row for row in range(count))),
        files_of=array("I", [0] * count),
        lines=array("I", numbers),
        columns=array("I", [0] * count),
        flags=bytes([1] * count),
    )
    result = Kernel("k", cast("Any", None))
    result.instructions = IntelInstructions(records, [""], lambda: [""] * count, find_routes=lambda: routes)
    result.loops = loops_of_routes(routes, count)
    rows = [row if number else NO_ROW for row, number in enumerate(numbers)]
    result.source_map = SourceMap(table, result.instructions.offsets, rows)
    result.functions = tuple(CodeFunction(None, code, 16 * code.start, 16 * len(code)) for code in functions)
    return result


def weights(of: Kernel, *of_lines: tuple[LineChoice, int], others: int | None = None) -> list[int]:
    return list(trip_weights(of, Trips(of_lines, others)).rows)


#: Rows 1 to 5 are a loop of line 2, rows 2 and 3 one of line 3 in it; the code of line 3 begins before that.
NESTED = {3: to(2), 5: to(1)}


def test_loops_in_loops() -> None:
    nested = kernel("1334521", NESTED)
    assert weights(nested, others=10) == [1, 10, 100, 100, 10, 10, 1]
    assert weights(nested, (at(2), 5)) == [1, 5, 5, 5, 5, 5, 1]
    assert weights(nested, (at(2), 5), others=3) == [1, 5, 15, 15, 5, 5, 1]
    assert trip_weights(nested, Trips(((at(2), 5),))).unstated == 1
    assert trip_weights(nested, Trips(((at(2), 5),), 7)).unstated == 0


def test_without_trips_each_row_counts_once() -> None:
    assert weights(kernel("1334521", NESTED)) == [1] * 7


def test_the_line_of_the_branch_back_names_its_loop() -> None:
    nested = kernel("1334521", NESTED)
    assert nested.loops is not None
    assert loops_at(nested.loops, nested.source_map, at(2)) == {0}
    assert loops_at(nested.loops, nested.source_map, LineChoice(None, 2)) == {0}
    # Line 4 is that of the inner loop's branch back, and line 5 only in the outer one.
    assert loops_at(nested.loops, nested.source_map, at(4)) == {1}
    assert loops_at(nested.loops, nested.source_map, at(5)) == {0}
    # Line 3 has rows in both: it is the inner one's.
    assert loops_at(nested.loops, nested.source_map, at(3)) == {1}
    assert loops_at(nested.loops, nested.source_map, at(1)) == set()
    assert loops_at(nested.loops, None, at(2)) == set()
    assert loops_at(nested.loops, nested.source_map, LineChoice("b.cl", 2)) == set()


def test_a_loop_s_own_line_may_have_instructions_in_an_inner_one() -> None:
    nested = kernel("1324521", NESTED)
    assert nested.loops is not None
    assert loops_at(nested.loops, nested.source_map, at(2)) == {0}


def test_loops_of_one_line() -> None:
    copies = kernel("122331", {2: to(1), 4: to(3)})
    assert weights(copies, (at(2), 4), (at(3), 5)) == [1, 4, 4, 5, 5, 1]
    inlined = kernel("122221", {2: to(1), 4: to(3)})
    assert weights(inlined, (at(2), 4)) == [1, 4, 4, 4, 4, 1]


def test_functions_run_once_for_each_call() -> None:
    #  0 call 5   1-2 loop, 1 call 5   3 end   4 -    5-6 function, 6 call 8   7 ret   8 loop   9 ret
    routes = {0: call(5), 1: call(5), 2: to(1), 3: END, 6: call(8), 7: BACK, 8: to(8), 9: BACK}
    functions = (range(5), range(5, 8), range(8, 10))
    with_calls = kernel("1111100000", routes, functions)
    assert weights(with_calls, others=10) == [1, 10, 10, 1, 1, 11, 11, 11, 110, 11]


def test_recursion_counts_once() -> None:
    routes = {0: call(2), 1: END, 3: call(2), 4: BACK}
    assert weights(kernel("00000", routes, (range(2), range(2, 5))), others=10) == [1] * 5


def test_more_than_64_bits() -> None:
    deep = kernel("0" * 40, {index: to(39 - index) for index in range(20, 40)})
    with pytest.raises(TooManyError, match="more than 2\\^63"):
        weights(deep, others=1000)
    assert max(weights(deep, others=8)) == 8**20


def test_a_view_has_the_weights() -> None:
    nested = kernel("1334521", NESTED)
    view = kernel_with_trips(nested, Trips(of_others=2))
    assert view.trip_weights is not None
    assert list(view.trip_weights.rows) == [1, 2, 4, 4, 2, 2, 1]
    assert nested.trip_weights is None
    assert view.source_map is nested.source_map


def test_stated_trips_read_as_they_were_written() -> None:
    trips = Trips(((at(2), 5), (LineChoice(None, 7), 6)), 3)
    assert str(trips) == "a.cl:2=5, 7=6, depth=3"
