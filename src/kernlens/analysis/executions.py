"""The number of times that sub-groups ran each instruction of a kernel, from what an interpreter counted of its source.

A loop of the source and one of the code are the same if they have the same line, and no others do; how many accesses the code
has for each of the source shows whether the compiler unrolled it. An instruction runs at most as often as its source line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from math import ceil

from kernlens.analysis.observed_code import ObservedCode, observed_code
from kernlens.analysis.trip_weights import loops_at, weights_of_rows
from kernlens.dataclass import dataclass
from kernlens.errors import TooManyError
from kernlens.model.behaviour import CONSTANT, GLOBAL, LOCAL, ObservedLoop
from kernlens.model.instruction_kind import PREFETCH
from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.trips import Executions, Trips, TripWeights

#: The most rounds of a loop that count; loops that are told of.
_MOST_ROUNDS, _MOST_TOLD = 1 << 31, 8


def kernel_with_executions(kernel: Kernel) -> Kernel:
    """Return the kernel with its instructions weighed by how often sub-groups ran them; as it is if nothing was observed."""
    observed, loops, source_map = observed_code(kernel), kernel.loops, kernel.source_map
    if observed is None or not observed.launches or source_map is None or loops is None:
        return kernel
    matches = list(_matches(kernel, observed))
    counts: dict[int, int] = {}
    for each in matches:
        counts |= each.counts
    try:
        weights = weights_of_rows(kernel, loops, [counts.get(number, 1) for number in range(len(loops.loops))])
    except TooManyError:
        return kernel
    rows, unseen = [], set()
    for place, weight in zip(source_map.places, weights, strict=True):
        line = observed.lines.get((place.path, place.line)) if place else None
        if place is not None and line is None:
            unseen.add(place.line)
        runs = weight * observed.sub_groups
        rows.append(runs if line is None else min(runs, line.sub_group_runs))
    notes = [f"loop of line {each.choice.line}: {each.words}" for each in matches][:_MOST_TOLD]
    unstated = len(loops.loops) - len(counts)
    if unstated:
        notes.append(f"{plural_loops(unstated)} of the code match none of the source: one round each")
    if unseen:
        numbers = ", ".join(map(str, sorted(unseen)[:_MOST_TOLD]))
        notes.append(f"without runs, and counted as if every branch were taken: line {numbers}")
    view = kernel.unread()
    view.__dict__.update(vars(kernel))
    trips = Trips(tuple((each.choice, each.rounds) for each in matches if each.counts))
    executions = Executions(observed.sub_groups, tuple(notes))
    view.trip_weights = TripWeights(
        trips, rows, frozenset(choice for choice, _ in trips.of_lines), unstated, executions
    )
    return view


def plural_loops(count: int) -> str:
    """Return so many loops in words."""
    return f"{count:,} loop{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class _Match:
    """A loop of the source, with the rounds that a sub-group runs: the rounds of the loops of the code that are it, by their
    numbers, none where they do not match, and what is to be said."""

    choice: LineChoice
    rounds: int
    counts: dict[int, int]
    words: str


def _matches(kernel: Kernel, observed: ObservedCode) -> Iterator[_Match]:
    """Yield what the loops of the source are in the code, each line once."""
    assert kernel.loops is not None
    of_lines: dict[tuple[str, int], list[list[ObservedLoop]]] = {}
    for launch in observed.launches:
        own: dict[tuple[str, int], list[ObservedLoop]] = {}
        for loop in launch.loops:
            if loop.place is not None and loop.entries:
                path = observed.paths.get(loop.place.path, loop.place.path)
                own.setdefault((path, loop.place.line), []).append(loop)
        for line, loops in own.items():
            of_lines.setdefault(line, []).append(loops)
    taken: set[int] = set()
    for line, launches in sorted(of_lines.items()):
        choice = LineChoice(*line)
        numbers = sorted(loops_at(kernel.loops, kernel.source_map, choice) - taken)
        rounds = max(1, min(round(_mean_rounds(chain.from_iterable(launches))), _MOST_ROUNDS))
        match = _match(kernel, observed, choice, rounds, numbers, max(map(len, launches)))
        taken |= match.counts.keys()
        yield match


def _mean_rounds(loops: Iterable[ObservedLoop]) -> float:
    """Return the rounds of a sub-group, on average over all that came in."""
    rounds = [(loop.entries, loop.mean if loop.sub_group_rounds is None else loop.sub_group_rounds) for loop in loops]
    return sum(entries * mean for entries, mean in rounds) / max(1, sum(entries for entries, _ in rounds))


def _match(
    kernel: Kernel, observed: ObservedCode, choice: LineChoice, rounds: int, numbers: list[int], of_source: int
) -> _Match:
    """Return what ``of_source`` loops at one line of the source, of so many rounds, are among these loops of the code."""
    copies = [_copies(kernel, observed, number) for number in numbers]
    told, times = f"{rounds:,} round{'' if rounds == 1 else 's'}", sorted(max(each, default=0) for each in copies)
    if not numbers:
        return _Match(choice, rounds, {}, f"{told}; the code has none, the compiler unrolled or removed it")
    if of_source == 1 and len(numbers) == 2 and all(len(each) == 1 for each in copies) and times[0] == 1 < times[1]:
        often = times[1]
        counts = {
            number: rounds // often if often in each else rounds % often
            for number, each in zip(numbers, copies, strict=True)
        }
        return _Match(
            choice, rounds, counts, f"{told}; unrolled {often} times: {rounds // often:,} of the code and a rest"
        )
    if len(numbers) != of_source:
        return _Match(choice, rounds, {}, f"{told}; the code has {plural_loops(len(numbers))} for it, one round each")
    every = set().union(*copies)
    if every == {1}:
        return _Match(choice, rounds, dict.fromkeys(numbers, rounds), told)
    if len(every) == 1 and times[0] > 1:
        own = ceil(rounds / times[0])
        return _Match(
            choice, rounds, dict.fromkeys(numbers, own), f"{told}; unrolled {times[0]} times: {own:,} of the code"
        )
    why = "its accesses are not those of the source" if every else "no access shows whether the compiler unrolled it"
    return _Match(choice, rounds, dict.fromkeys(numbers, rounds), f"{told} at most; {why}")


def _copies(kernel: Kernel, observed: ObservedCode, number: int) -> set[int]:
    """Return how many times the bytes of the source's accesses those of the code are, in a loop but in none inside it, line by
    line; 0 where that is no whole number. Compilers join the accesses of several rounds in a wide one. A message of fewer lanes
    than a sub-group has is a part of one."""
    loops, source_map, width = kernel.loops, kernel.source_map, observed.machine.width
    assert loops is not None
    assert source_map is not None
    of_code: dict[tuple[str, int], float] = {}
    for row, kind in enumerate(kernel.instructions.kinds):
        place = source_map.places[row]
        access = kind.access
        if loops.innermost[row] != number or place is None or access is None or not access.action:
            continue
        if access.action != PREFETCH and not access.is_spill:
            key = place.path, place.line
            part = access.lanes / width if 1 < access.lanes < width else 1
            of_code[key] = of_code.get(key, 0) + part * access.element_bytes * access.elements
    of_source: dict[tuple[str, int], int] = {}
    for each in observed.launches[0].accesses:
        if each.place is not None and each.space in (GLOBAL, CONSTANT, LOCAL):
            path = observed.paths.get(each.place.path, each.place.path)
            of_source[path, each.place.line] = of_source.get((path, each.place.line), 0) + each.width
    ratios = [size / of_source[key] for key, size in of_code.items() if of_source.get(key)]
    return {int(ratio) if ratio == int(ratio) else 0 for ratio in ratios}
