"""The number of times that sub-groups ran each instruction of a kernel, from what an interpreter counted of its source.

A loop of the source and one of the code are the same if they have the same line, and no others do; how many bytes the code
accesses for those of the source shows whether the compiler unrolled it (``unrolling``). The copies of an instruction together
run at most as often as its source line: where the code has no loop for one of the source, there is a copy for each round. Lanes
that exchange the value of one address in a loop (compare-exchange) succeed one after the other, a round each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import chain
from math import ceil, prod

from kernlens.analysis.advice.source_tokens import SourceTokens
from kernlens.analysis.observed_code import Line, ObservedCode, observed_code
from kernlens.analysis.trip_weights import loops_at, loops_headed, weights_of_rows
from kernlens.analysis.unrolling import SourceLoop, Unrolling, innermost_first
from kernlens.dataclass import dataclass, field
from kernlens.errors import TooManyError
from kernlens.model.behaviour import ObservedLoop
from kernlens.model.kernel import Kernel
from kernlens.model.line_choice import LineChoice
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace
from kernlens.model.trips import Executions, Trips, TripWeights

#: The most rounds of a loop that count; loops that are told of.
_MOST_ROUNDS, _MOST_TOLD, _MOST_RUNS = 1 << 31, 8, (1 << 63) - 1
#: The operation of a message that compares and exchanges.
EXCHANGE = "atomic_icas"


def kernel_with_executions(program: Program, kernel: Kernel) -> Kernel:
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
    copies = _Copies(SourceTokens.of(program), {each.choice: each.copies for each in matches})
    rows, unseen = [], set()
    for place, weight in zip(source_map.places, weights, strict=True):
        line = observed.lines.get((place.path, place.line)) if place else None
        if place is not None and line is None:
            unseen.add(place.line)
        runs = weight * observed.sub_groups
        rows.append(runs if line is None or not place else min(runs, -(-line.sub_group_runs // copies.of(place))))
    notes = [f"loop of line {each.choice.line}: {each.words}" for each in matches][:_MOST_TOLD]
    notes += _repeated(kernel, observed, rows)
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


class _Copies:
    """The copies of a line in the code, which the loops of the source around it make: ``of_loops`` has those of each."""

    def __init__(self, tokens: SourceTokens, of_loops: Mapping[LineChoice, int]) -> None:
        self._tokens, self._of_loops = tokens, of_loops
        self._known: dict[SourcePlace, int] = {}

    def of(self, place: SourcePlace) -> int:
        """Return the copies of a place's line."""
        if place not in self._known:
            lines = (
                {each.line for each in self._tokens.loops_around(place)}
                if max(self._of_loops.values(), default=1) > 1
                else set()
            )
            self._known[place] = prod(self._of_loops.get(LineChoice(place.path, line), 1) for line in lines)
        return self._known[place]


def _repeated(kernel: Kernel, observed: ObservedCode, rows: list[int]) -> Iterator[str]:
    """Let the loops around compare-exchanges run once for each lane of a request that changes the same address, and yield what
    is to be said of them: an interpreter runs one work-item after the other, so that each succeeds at once."""
    loops, source_map = kernel.loops, kernel.source_map
    assert loops is not None
    assert source_map is not None
    often: dict[int, tuple[int, int]] = {}
    for row, kind in enumerate(kernel.instructions.kinds):
        place, number = source_map.places[row], loops.innermost[row]
        if number >= 0 and place is not None and kind.access is not None and kind.access.operation == EXCHANGE:
            line = observed.lines.get((place.path, place.line))
            if line is not None and line.contention > 1:
                often[number] = max(often.get(number, (0, 0)), (line.contention, place.line))
    for row, number in enumerate(loops.innermost):
        if number in often:
            rows[row] = min(rows[row] * often[number][0], _MOST_RUNS)
    for number in sorted({number for _, number in often.values()}):
        rounds = max(rounds for rounds, own in often.values() if own == number)
        yield f"line {number}: {rounds:,} lanes of a request exchange one address, one round after the other"


def plural_loops(count: int) -> str:
    """Return so many loops in words."""
    return f"{count:,} loop{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class _Match:
    """A loop of the source, with the rounds that a sub-group runs: the rounds of the loops of the code that are it, by their
    numbers, none where they do not match, and what is to be said. ``exact`` are those that are proven, with the part of a last
    one; ``copies`` how many rounds of the source stand one behind the other in the code, as far as that is known."""

    choice: LineChoice
    rounds: int
    counts: dict[int, int]
    words: str
    exact: dict[int, Fraction] = field(default_factory=dict)
    copies: int = 1


def _matches(kernel: Kernel, observed: ObservedCode) -> Iterator[_Match]:
    """Yield what the loops of the source are in the code, each line once."""
    assert kernel.loops is not None
    sources = _source_loops(kernel, observed)
    unrolling = Unrolling(kernel, observed, sources)
    matches: dict[Line, _Match] = {}
    for loop in innermost_first(sources, [each.depth for each in kernel.loops.loops]):
        matches[loop.line] = match = _match(unrolling, loop)
        if loop.is_even:
            unrolling.counts |= match.exact
    yield from (matches[loop.line] for loop in sources)


def _source_loops(kernel: Kernel, observed: ObservedCode) -> list[SourceLoop]:
    """Return the loops of the source in the order of their lines. A loop of the code is that of the line of its branch back; if
    no line has that, it is one of the first line whose instructions it holds."""
    assert kernel.loops is not None
    of_lines: dict[Line, list[list[tuple[Fraction, ObservedLoop]]]] = {}
    for launch in observed.launches:
        own: dict[Line, list[tuple[Fraction, ObservedLoop]]] = {}
        for loop in launch.loops:
            if loop.place is not None and loop.entries:
                path = observed.paths.get(loop.place.path, loop.place.path)
                own.setdefault((path, loop.place.line), []).append((launch.times, loop))
        for line, loops in own.items():
            of_lines.setdefault(line, []).append(loops)
    at = {line: loops_at(kernel.loops, kernel.source_map, LineChoice(*line)) for line in of_lines}
    headed = {
        line: numbers & loops_headed(kernel.loops, kernel.source_map, LineChoice(*line)) for line, numbers in at.items()
    }
    taken = set().union(*headed.values())
    sources = []
    for line, launches in sorted(of_lines.items()):
        numbers = headed[line] or at[line] - taken
        taken |= numbers
        every = list(chain.from_iterable(launches))
        entries = sum((times * loop.entries for times, loop in every), Fraction(0))
        work = sum((times * round(loop.entries * loop.mean) for times, loop in every), Fraction(0))
        is_even = len({rounds for _, loop in every for rounds in (loop.least, loop.most)}) == 1
        rounds = max(1, min(round(_mean_rounds(every)), _MOST_ROUNDS))
        sources.append(
            SourceLoop(line, max(map(len, launches)), rounds, entries, work, is_even, tuple(sorted(numbers)))
        )
    return sources


def _mean_rounds(loops: Iterable[tuple[Fraction, ObservedLoop]]) -> float:
    """Return the rounds of a sub-group, on average over all that came in."""
    rounds = [
        (float(times) * loop.entries, loop.mean if loop.sub_group_rounds is None else loop.sub_group_rounds)
        for times, loop in loops
    ]
    return sum(entries * mean for entries, mean in rounds) / max(1, sum(entries for entries, _ in rounds))


def _match(unrolling: Unrolling, loop: SourceLoop) -> _Match:
    """Return what the loops at a line of the source are in the code, once those inside them are known."""
    choice, rounds, numbers = LineChoice(*loop.line), loop.rounds, loop.numbers
    told = f"{rounds:,} round{'' if rounds == 1 else 's'}"
    if not numbers:
        written = max(1, rounds) if loop.is_even else 1
        words = f"{told}; the code has none, the compiler unrolled or removed it"
        return _Match(choice, rounds, {}, words, copies=written)
    if not loop.work:
        return _Match(choice, rounds, dict.fromkeys(numbers, rounds), f"{told} at most; no work-item ran it")
    split = _with_rest(unrolling, loop)
    if split is not None:
        often, counts = split
        words = f"{told}; unrolled {often} times: {rounds // often:,} of the code and a rest"
        return _Match(choice, rounds, counts, words, {number: Fraction(count) for number, count in counts.items()})
    if len(numbers) != loop.of_source:
        return _Match(choice, rounds, {}, f"{told}; the code has {plural_loops(len(numbers))} for it, one round each")
    copies = [each for number in numbers if (each := unrolling.copies(loop, number)) is not None]
    common = set.intersection(*copies) if copies else set()
    if len(common) == 1 and 0 not in common:
        (often,) = common
        rest = unrolling.rest(loop, numbers[0], often)
        own = _rounds_of_code(loop, often, rest)
        if own is not None:
            words = "" if often == 1 else f"; unrolled {often} times: {ceil(own):,} of the code"
            words += ", the last in part" if own != int(own) else ", and a rest" if rest and often > 1 else ""
            counts = dict.fromkeys(numbers, ceil(own))
            return _Match(choice, rounds, counts, f"{told}{words}", dict.fromkeys(numbers, own), often)
    why = "its accesses are not those of the source" if copies else "no access shows whether the compiler unrolled it"
    return _Match(choice, rounds, dict.fromkeys(numbers, rounds), f"{told} at most; {why}")


def _rounds_of_code(loop: SourceLoop, often: int, rest: Fraction | None) -> Fraction | None:
    """Return the rounds of a loop of the code that holds ``often`` of the source's, with ``rest`` of them right around it,
    which run or do not; None where that leaves a choice."""
    if rest is None:
        return None
    if not rest or not loop.is_even:
        return Fraction(loop.rounds, often) if not rest else Fraction(loop.rounds // often)
    ways = {
        Fraction(rounds, often) for rounds in (loop.rounds, loop.rounds - rest) if rounds >= 0 and rounds % often == 0
    }
    return ways.pop() if len(ways) == 1 else None


def _with_rest(unrolling: Unrolling, loop: SourceLoop) -> tuple[int, dict[int, int]] | None:
    """Return how many rounds of a source's loop the first of two loops of the code holds, where the second has the rest, and
    the rounds of both; None where they are not so."""
    if loop.of_source != 1 or len(loop.numbers) != 2:
        return None
    copies = [unrolling.copies(loop, number) for number in loop.numbers]
    if any(each is None or len(each) != 1 for each in copies):
        return None
    times = [next(iter(each)) for each in copies if each]
    often = max(times)
    if min(times) != 1 or often == 1:
        return None
    return often, {
        number: loop.rounds // often if each == often else loop.rounds % often
        for number, each in zip(loop.numbers, times, strict=True)
    }
