"""The one ranking of causes: what an interpreter saw wasted and what rules say of the code, by what they could at most save.

An instruction costs the cycles that it issues and those for which others wait for its result, as often as it runs: as an
interpreter counted, as a user states, or as constant bounds in the source tell. Where a loop's rounds are not known, what is in
the loop comes before what is outside: there is a number of rounds from which on it costs more. A kernel weighs the device's
time of its launches if all have one, else its cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import cast

from kernlens.analysis.advice.source_tokens import SourceTokens
from kernlens.analysis.executions import kernel_with_executions
from kernlens.analysis.line_texts import source_line
from kernlens.analysis.observed_causes import Cause, causes_of_kernel
from kernlens.analysis.start_here import start_here
from kernlens.analysis.trip_weights import weights_of_rows
from kernlens.dataclass import NamedTuple, dataclass, replace
from kernlens.errors import KernlensError, TooManyError
from kernlens.model.advice import Advice, AdvisedKernel
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace

#: Causes that are told first.
MOST = 5
#: Characters of a line that are read for a loop's condition.
_LONGEST = 200
Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class RankedCause:
    """A cause of what a kernel costs: a ``cause`` that was observed, or the ``advice`` of one rule, the piece that costs most
    first. ``share`` is what it could at most save of the cost of all kernels, from 0 to 1; with ``in_loop`` or ``outside``,
    which have the words on loops whose rounds are not known, each of these runs one round. ``depth`` is the number of such
    loops around it. ``is_weighed``: rounds were counted or stated."""

    program: Program
    kernel: Kernel
    cause: Cause | None
    advice: tuple[Advice, ...]
    share: float
    is_weighed: bool
    depth: int = 0
    in_loop: str = ""
    outside: str = ""

    @property
    def kind(self) -> str:
        """The kind of the observed cause, or the key of the rule."""
        return self.cause.kind if self.cause is not None else self.advice[0].rule

    @property
    def place(self) -> SourcePlace | None:
        """The line that it is about; None for a whole kernel."""
        if self.cause is not None:
            return self.cause.place
        piece = self.advice[0]
        return SourcePlace(piece.path, piece.line, piece.column) if piece.path is not None else None

    @property
    def action(self) -> str:
        """The words on a change to try."""
        return self.cause.action if self.cause is not None else self.advice[0].action

    @property
    def evidence(self) -> str:
        """The words on the fault, with its counts."""
        if self.cause is not None:
            return f"{self.cause.kind}: {self.cause.sentence}"
        piece = self.advice[0]
        lines = sorted({each.line for each in self.advice[1:]} - {piece.line, 0})
        others = f"; the same at line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}" if lines else ""
        return f"{piece.subject} {piece.fact}{others}"

    @property
    def worth(self) -> str:
        """The words on how much it could at most save."""
        loops = self.kernel.loops
        if self.is_weighed and not self.kernel.behaviours and (loops is None or not loops.loops):
            return ""  # Each instruction runs once, as the share of the advice has it.
        if self.is_weighed:
            share = f"at most {100 * self.share:.0f}%" if self.share >= 0.01 else "less than 1%"
            return f"{share} of the cycles that instructions issue and wait for"
        if self.in_loop:
            return f"once in each round of {self.in_loop}: the more rounds, the more of the kernel"
        return f"outside {self.outside}: the more rounds, the less of the kernel" if self.outside else ""


def ranked_causes(kernels: Sequence[AdvisedKernel]) -> list[RankedCause]:
    """Return the causes of all kernels, that first which could save most."""
    costs = [_Costs(each) for each in kernels]
    is_timed = bool(costs) and all(each.kernel.launch_time is not None for each in kernels)
    weights = [_time(each.advised.kernel) if is_timed else each.total for each in costs]
    whole = sum(weights) or 1
    ranked = [
        replace(entry, share=entry.share * weight / whole)
        for each, weight in zip(costs, weights, strict=True)
        for entry in each.entries()
    ]
    return sorted(ranked, key=lambda each: (not each.is_weighed, -each.depth, -each.share))


def _time(kernel: Kernel) -> float:
    return float(kernel.launch_time.total_ns) if kernel.launch_time is not None else 0.0


class _Costs:
    """The costs of a kernel's instructions, each as often as it runs as far as that is known."""

    def __init__(self, advised: AdvisedKernel) -> None:
        self.advised = advised
        kernel, program = advised.kernel, advised.program
        self._names: Mapping[int, str] = {}
        self.is_weighed, self.rows = False, list[float]()
        if kernel.code_size and (advised.advice or kernel.behaviours or kernel.trip_weights is not None):
            rounds = known_rounds(program, kernel)
            self.is_weighed, self._names = rounds.is_known, rounds.names
            self.rows = _cost_of_rows(kernel, rounds.weights)
        self.total = sum(self.rows)
        places = kernel.source_map.places if self.rows and kernel.source_map is not None else ()
        self.lines: Counter[Line] = Counter()
        for place, cost in zip(places, self.rows, strict=bool(places)):
            if place is not None:
                self.lines[place.path, place.line] += cast("int", cost)

    def entries(self) -> Iterator[RankedCause]:
        """Yield the observed causes, and the advice of each rule, with what they could save of this kernel."""
        kernel, program, total = self.advised.kernel, self.advised.program, self.total or 1.0
        observed = causes_of_kernel(program, kernel)
        wasted = {}
        if observed:
            start = start_here([(program, [kernel])], has_estimate=False)
            wasted = {(each.cause.kind, each.place): each.share for each in start.lines if each.cause is not None}
        for cause in observed:
            share = max(
                wasted.get((cause.kind, cause.place), 0.0), sum(self.lines[line] for line in cause.lines) / total
            )
            yield RankedCause(program, kernel, cause, (), min(1.0, share), True)
        of_rule: dict[str, list[Advice]] = {}
        for piece in self.advised.advice:
            of_rule.setdefault(piece.rule, []).append(piece)
        for pieces in of_rule.values():
            rows = sorted({row for piece in pieces for row in piece.rows})
            ordered = sorted(pieces, key=lambda piece: -sum(self.rows[row] for row in piece.rows))
            depth, in_loop = self._loops_around(rows)
            outside = "" if in_loop else self._deepest()
            share = sum(self.rows[row] for row in rows) / total
            yield RankedCause(program, kernel, None, tuple(ordered), share, self.is_weighed, depth, in_loop, outside)

    def _loops_around(self, rows: Sequence[int]) -> tuple[int, str]:
        """Return how many loops of unknown rounds are around the deepest of the rows, and the words on them."""
        loops, deepest = self.advised.kernel.loops, list[str]()
        for number in {loops.innermost[row] for row in rows} - {-1} if loops is not None and self._names else ():
            around, at = list[str](), cast("int | None", number)
            while loops is not None and at is not None:
                around += [self._names[at]] if at in self._names else []
                at = loops.loops[at].parent
            deepest = max(deepest, around, key=len)
        return len(deepest), " in ".join(deepest)

    def _deepest(self) -> str:
        return " and ".join(list(dict.fromkeys(self._names.values()))[:2])


class KnownRounds(NamedTuple):
    """The runs of a kernel's instructions (``weights``), if loops whose rounds are not known run one: ``names`` has these by
    their numbers. ``is_known``: there are none. ``sub_groups`` are those that were observed, all together; 0: the weights are
    of one thread."""

    is_known: bool
    weights: Sequence[int]
    names: Mapping[int, str] = MappingProxyType({})
    sub_groups: int = 0


def known_rounds(program: Program, kernel: Kernel) -> KnownRounds:
    """Return how often instructions run, as far as that was counted or stated, or constants of the source tell."""
    view = kernel if kernel.trip_weights is not None else kernel_with_executions(program, kernel)
    if (weights := view.trip_weights) is not None:
        return KnownRounds(True, weights.rows, sub_groups=weights.observed.sub_groups if weights.observed else 0)
    loops = kernel.loops
    once = [1] * len(kernel.instructions)
    if loops is None or not loops.loops:
        return KnownRounds(not kernel.behaviours and loops is not None, once)
    rounds = _constant_rounds(program, kernel)
    names = {number: name for number, (count, name) in rounds.items() if count is None}
    counts = [rounds[number][0] or 1 for number in range(len(loops.loops))]
    try:
        return KnownRounds(not names, weights_of_rows(kernel, loops, counts), names)
    except TooManyError:
        return KnownRounds(False, once, names)


def _cost_of_rows(kernel: Kernel, weights: Sequence[int]) -> list[float]:
    """Return for each row the cycles that it issues and those that others wait for it, or 1 where they are not known."""
    try:
        waits = kernel.waits
    except KernlensError:
        waits = None
    if waits is None:
        return list(map(float, weights))
    rows = [float(issue * weight) for issue, weight in zip(waits.issue, weights, strict=True)]
    for row, wait in waits.waits.items():
        rows[wait.producer] += wait.cycles * weights[row]
    return rows


def _constant_rounds(program: Program, kernel: Kernel) -> Mapping[int, tuple[int | None, str]]:
    """Return for each loop of the code the rounds that constants of the source tell, None if they do not, and its name: its
    line and its condition."""
    loops, source_map, tokens = kernel.loops, kernel.source_map, SourceTokens.of(program)
    texts = program.source_lines
    rounds: dict[int, tuple[int | None, str]] = {}
    for number, loop in enumerate(loops.loops if loops is not None else ()):
        places = [source_map.places[row] for row in loop.back_rows] if source_map is not None else []
        place = next((each for each in places if each is not None), None)
        around = tokens.loops_around(place) if place is not None else []
        if place is None or not around:
            # The source has none: it is the compiler's own, such as that of a long division.
            rounds[number] = 1, ""
            continue
        own = [each.trips for each in around if each.line == place.line]
        text = (source_line(texts, place.path, place.line) or "")[:_LONGEST]
        header = text.partition(";")[2].partition(";")[0].strip() if "for" in text else ""
        words = f" (`{header}`)" if header else ""
        rounds[number] = own[0] if len(own) == 1 else None, f"the loop of line {place.line}{words}"
    return rounds
