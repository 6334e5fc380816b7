"""The number of times that each instruction runs, if loops run as many rounds as a user states and every branch is taken."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from kernlens.analysis.costs import costs_of
from kernlens.errors import TooManyError
from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.loop_nest import Loops
from kernlens.model.source_map import SourceMap, SourcePlace
from kernlens.model.trips import Trips, TripWeights

#: What 64 bits hold: more is no number of a program that ends.
_MOST = (1 << 63) - 1


def kernel_with_trips(kernel: Kernel, trips: Trips) -> Kernel:
    """Return the kernel with the weights of its instructions. Raises what ``trip_weights`` raises."""
    view = kernel.unread()
    view.__dict__.update(vars(kernel))
    view.trip_weights = trip_weights(kernel, trips)
    return view


def trip_weights(kernel: Kernel, trips: Trips) -> TripWeights:
    """Return how often each instruction of a kernel runs. A function in its code runs once for each call of it, in the loops
    that the calls are in. Raises TooManyError if that is more than 2^63 times."""
    loops = kernel.loops
    if loops is None:
        rows = [1] * len(kernel.instructions)
        return TripWeights(trips, rows, frozenset(), 0, costs=costs_of(kernel.instructions.kinds))
    counts: list[int | None] = [None] * len(loops.loops)
    matched = set()
    for choice, count in trips.of_lines:
        for number in loops_at(loops, kernel.source_map, choice):
            counts[number] = count
            matched.add(choice)
    rows = weights_of_rows(kernel, loops, [trips.of_others or 1 if count is None else count for count in counts])
    unstated = sum(count is None for count in counts) if trips.of_others is None else 0
    costs = costs_of(kernel.instructions.kinds, rows)
    return TripWeights(trips, rows, frozenset(matched), unstated, costs=costs, stated=len(counts) - unstated)


def weights_of_rows(kernel: Kernel, loops: Loops, counts: Sequence[int]) -> list[int]:
    """Return how often each instruction runs if its loops run so many rounds, in their order. Raises what ``trip_weights``
    raises."""
    weights: list[int] = []
    for loop, rounds in zip(loops.loops, counts, strict=True):
        around = weights[loop.parent] if loop.parent is not None else 1
        weights.append(_within(around * rounds))
    weights.append(1)  # The number of the rows outside loops is -1.
    rows = list(map(weights.__getitem__, loops.innermost))
    for function, calls in _calls(kernel):
        code = slice(function.start, function.stop)
        runs = sum(rows[call] for call in calls)
        if runs > 1:
            rows[code] = [_within(runs * weight) for weight in rows[code]]
    return rows


def loops_at(loops: Loops, source_map: SourceMap | None, choice: LineChoice) -> set[int]:
    """Return the numbers of the loops that a line names: those whose branch back is on it, which is where compilers put a
    loop's condition. If there is none, the innermost loops that hold instructions of the line."""
    if source_map is None:
        return set()
    heads = loops_headed(loops, source_map, choice)
    if heads:
        return heads
    runs = (
        runs for line, runs in source_map.lines.items() if line[1] == choice.line and choice.holds(SourcePlace(*line))
    )
    holding = sorted({loops.innermost[row] for ranges in runs for run in ranges for row in run} - {-1})
    # A loop's number comes right before those of the loops inside it.
    following = pairwise([*holding, len(loops.loops)])
    return {number for number, after in following if after > loops.loops[number].last}


def loops_headed(loops: Loops, source_map: SourceMap | None, choice: LineChoice) -> set[int]:
    """Return the numbers of the loops whose branch back is on a line."""
    if source_map is None:
        return set()
    places = source_map.places
    return {
        number for number, loop in enumerate(loops.loops) if any(choice.holds(places[row]) for row in loop.back_rows)
    }


def _calls(kernel: Kernel) -> list[tuple[range, list[int]]]:
    """Return the code of each function that is called and the rows of its calls, callers first. A call that goes back to a
    function it came through, in a recursion, is left out."""
    functions, routes = kernel.functions, kernel.instructions.routes
    if not functions or routes is None:
        return []
    starts = [function.code.start for function in functions]
    number_at = {start: number for number, start in enumerate(starts)}
    calls: list[list[tuple[int, int]]] = [[] for _ in functions]
    for row, route in sorted(routes.items()):
        if route.is_call:
            callees = [number_at[target] for target in route.targets if target in number_at]
            calls[bisect_right(starts, row) - 1] += [(row, callee) for callee in callees]
    order = _callers_first([[callee for _, callee in of_function] for of_function in calls])
    place = {number: position for position, number in enumerate(order)}
    rows: dict[int, list[int]] = {number: [] for number in order}
    for caller, of_function in enumerate(calls):
        for row, callee in of_function:
            if place[caller] < place[callee]:
                rows[callee].append(row)
    return [(functions[number].code, rows[number]) for number in order]


def _callers_first(callees: Sequence[Sequence[int]]) -> list[int]:
    """Return the functions in an order in which callers come before those that they call, but for recursion."""
    finished: list[int] = []
    seen: set[int] = set()
    for entry in range(len(callees)):
        pending = [(entry, iter(callees[entry]))] if entry not in seen else []
        seen.add(entry)
        while pending:
            function, left = pending[-1]
            callee = next((callee for callee in left if callee not in seen), None)
            if callee is None:
                finished.append(function)
                pending.pop()
            else:
                seen.add(callee)
                pending.append((callee, iter(callees[callee])))
    return finished[::-1]


def _within(count: int) -> int:
    if count > _MOST:
        raise TooManyError("the trips multiply to more than 2^63 rounds; state fewer", format="--trips")
    return count
