"""The best set of build options for each kernel of a sweep, by figures of which an earlier one counts more.

A hardware thread executes as many work-items as the kernel is wide, so counts and cycles of a thread are divided by the width
before they are compared. They are counts of code: sets that ``code_shape`` does not let compare are not ranked by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernlens.dataclass import dataclass, in_short
from kernlens.errors import KernlensError
from kernlens.model.code_shape import CodeShape, Cycles, accessed_bytes, cycles_of_loops, undecided
from kernlens.model.figure import as_name
from kernlens.model.figures import COSTS, CYCLES, EVERY_FIGURE, PRESSURES, WAIT_CYCLES, WAIT_SHARE, WAITS, known_name
from kernlens.model.spills import SPILL_KEYS
from kernlens.model.sweep_row import SweepRow
from kernlens.model.trip_figures import OF_TRIPS, WEIGHED_BYTES, WEIGHED_CYCLES

#: Spills cost a kernel on every input, where cycles are an estimate that does not know how often loops run.
DEFAULT_WEIGHING = "spills,cycles,size"
#: Where the rounds of loops are stated, which weigh what spills cost too.
DEFAULT_WITH_TRIPS = f"{as_name(WEIGHED_CYCLES)},spills,size"
#: Names for what is not one figure, or has a longer name: the keys of the figures that it is the sum of.
_SUMS = {"spills": SPILL_KEYS, "cycles": CYCLES, "waits": (WAIT_CYCLES,), "size": ("code_size",)}
#: Figures that count code, or are estimated from it.
_OF_TRIPS = tuple(figure.key for figure in OF_TRIPS[:3])
_OF_CODE = frozenset({"instructions", *CYCLES, *_OF_TRIPS, WAIT_SHARE, *(cost.key for cost in COSTS)})
_OF_A_THREAD = (_OF_CODE - {WAIT_SHARE}) | {"private_bytes"}
_FIGURES = {figure.key: figure for figure in EVERY_FIGURE}
#: Work-items that execute together, as the compiler of one vendor or another states it.
_WIDTHS = ("simd", "wave_size")
#: What is compared where a criterion is not known of any set: cycles are not estimated everywhere, and some code does not tell
#: which messages spill.
_INSTEAD: dict[tuple[str, ...], str] = {
    SPILL_KEYS: "vgpr_spills",
    **{(key,): "instructions" for key in CYCLES},
    CYCLES: "instructions",
    (WEIGHED_CYCLES,): "weighed_instructions",
}


@dataclass(frozen=True, slots=True)
class Criterion:
    """The sum of the figures ``keys`` as something to compare sets by, ``name`` in options and JSON. ``instead`` is compared
    where it is not known of any set."""

    name: str
    keys: tuple[str, ...]
    instead: str = ""

    @property
    def heading(self) -> str:
        """The heading of its column."""
        return _FIGURES[self.keys[0]].heading if len(self.keys) == 1 else self.name

    @property
    def more_is_better(self) -> bool:
        """True if less of it is worse."""
        return _FIGURES[self.keys[0]].more_is_better

    @property
    def is_per_work_item(self) -> bool:
        """True for what a hardware thread has of it, which is divided by the width."""
        return self.keys[0] in _OF_A_THREAD

    @property
    def is_of_code(self) -> bool:
        """True for counts of code and cycles, which only code of one shape can be compared by."""
        return not _OF_CODE.isdisjoint(self.keys)

    def value(self, row: SweepRow) -> int | None:
        """Return the sum of a row's figures; None if one is not known."""
        values = [row.value(_FIGURES[key]) for key in self.keys]
        return None if None in values else sum(value for value in values if value is not None)

    def measure(self, row: SweepRow) -> float | None:
        """Return what sets are compared by, less being better; None if it is not known."""
        value = self.value(row)
        width = width_of(row)
        if value is None or (self.is_per_work_item and not width):
            return None
        measure = value * (row.items or 1) / (width or 1) if self.is_per_work_item else float(value)
        return -measure if self.more_is_better else measure


@dataclass(frozen=True, slots=True)
class Weighing:
    """The criteria of the best set, the most important first: a later one counts between sets that are equal in those
    before."""

    criteria: tuple[Criterion, ...]

    def __str__(self) -> str:
        return ",".join(each.name for each in self.criteria)

    @property
    def needs_waits(self) -> bool:
        """True if it takes the figures of ``WAITS``."""
        return self._has(figure.key for figure in WAITS)

    @property
    def needs_pressure(self) -> bool:
        """True if it takes the figures of ``PRESSURES``."""
        return self._has(figure.key for figure in PRESSURES)

    def _has(self, keys: Iterable[str]) -> bool:
        return not {key for criterion in self.criteria for key in criterion.keys}.isdisjoint(keys)


@dataclass(frozen=True, slots=True)
class BestSet:
    """The sets of options of one kernel for one device by one toolchain.

    ``first`` is the row of the first set, ``best`` that of the best one. ``count`` counts the sets.
    ``weighing`` is the one asked for, as far as its criteria are known of this kernel. ``unranked`` are the sets that cannot
    be compared with the first by these criteria, each with the reason: none of them is the best.
    """

    first: SweepRow
    best: SweepRow
    count: int
    weighing: Weighing
    unranked: tuple[tuple[SweepRow, str], ...] = ()

    def __repr__(self) -> str:
        return in_short(f"<BestSet {self.best.options!r} for {self.best.kernel!r} on {self.best.device}>")

    @property
    def is_ranked(self) -> bool:
        """True if the best set is better than, or as good as, another; false if no other could be compared with it."""
        return not self.unranked or self.count > len(self.unranked) + 1

    @property
    def deciding(self) -> Criterion | None:
        """The criterion by which the best set is better than the first; None if they are equally good."""
        criteria = self.weighing.criteria
        return next((each for each in criteria if _score(each, self.best) != _score(each, self.first)), None)

    @property
    def ratio(self) -> float | None:
        """The ratio of the best set to the first one in the ``deciding`` criterion, per work-item. None if nothing decides,
        or the first set has 0 of it."""
        if self.deciding is None:
            return None
        before, after = self.deciding.measure(self.first), self.deciding.measure(self.best)
        return after / before if before and after is not None else None


def weighing(text: str = DEFAULT_WEIGHING) -> Weighing:
    """Read a weighing: names of figures, the most important first. Beside all figures there are ``spills``
    (stores and fills), ``cycles`` (issue and wait), ``waits`` and ``size``.

    Raises NotFoundError, with the nearest names, for what is no figure, and KernlensError for what is named twice.
    """
    known = {name: name for figure in EVERY_FIGURE for name in figure.all_names} | {name: name for name in _SUMS}
    of_name = {name: figure.key for figure in EVERY_FIGURE for name in figure.all_names}
    criteria: list[Criterion] = []
    for part in text.split(","):
        word = known_name(known, part.strip(), "metric", "--weigh")
        keys = _SUMS.get(word) or (of_name[word],)
        if keys in [criterion.keys for criterion in criteria]:
            raise KernlensError(f"--weigh {text}: {word} is named twice; name it once")
        shown = word if word in _SUMS else as_name(keys[0])
        criteria.append(Criterion(shown, keys, _INSTEAD.get(keys, "")))
    return Weighing(tuple(criteria))


def best_sets(rows: Iterable[SweepRow], by: Weighing | str = DEFAULT_WEIGHING) -> list[BestSet]:
    """Return the best set of each kernel, device and toolchain, in the order of the rows, by a weighing or what ``weighing``
    reads. Sets with which a kernel does not compile are left out, and those of which a criterion is not known come last; cycles
    are only known of a sweep with ``waits``. Raises what ``weighing`` raises."""
    by = weighing(by) if isinstance(by, str) else by
    groups: dict[tuple[str | None, ...], list[SweepRow]] = {}
    for row in rows:
        if row.kernel is not None:
            groups.setdefault((row.source, row.device, row.toolchain, row.kernel), []).append(row)
    return [_best(of_kernel, by) for of_kernel in groups.values()]


def _best(rows: Sequence[SweepRow], by: Weighing) -> BestSet:
    known = Weighing(tuple(each for criterion in by.criteria for each in _known(criterion, rows)))
    first = rows[0]
    unranked: tuple[tuple[SweepRow, str], ...] = ()
    if any(criterion.is_of_code for criterion in known.criteria):
        differences = [(row, _difference(first, row, known)) for row in rows[1:]]
        unranked = tuple((row, words) for row, words in differences if words)
    ranked = _without(rows, unranked)
    best = min(ranked, key=lambda row: [_score(each, row) for each in known.criteria])
    beside = tuple((row, words) for row in ranked if (words := _undecided(best, row, known)))
    return BestSet(first, best, len(rows), known, (*unranked, *beside))


def _without(rows: Sequence[SweepRow], unranked: Iterable[tuple[SweepRow, str]]) -> list[SweepRow]:
    left_out = {id(row) for row, _ in unranked}
    return [row for row in rows if id(row) not in left_out]


def _undecided(row: SweepRow, other: SweepRow, by: Weighing) -> str:
    """Return in words why the cycles that decide between two rows do not; empty if they do, or decide nothing."""
    deciding = next((each for each in by.criteria if _score(each, row) != _score(each, other)), None)
    if deciding is None or deciding.keys != CYCLES:
        return ""
    each_of = "work-item" if row.items == other.items == 1 else "launch"
    return undecided(cycles_of(row), cycles_of(other), each_of)


def cycles_of(row: SweepRow) -> Cycles | None:
    """Return the cycles of a work-item, or of a launch if its work-items are stated; None if they are not known."""
    issue, cycles = (Criterion("", keys).measure(row) for keys in (CYCLES[:1], CYCLES))
    if issue is None or cycles is None:
        return None
    return issue, cycles, tuple(each * (row.items or 1) / (width_of(row) or 1) for each in cycles_of_loops(row.nest))


def _difference(first: SweepRow, row: SweepRow, by: Weighing) -> str:
    """Return in words why counts of a row's code cannot be compared with the first one's; empty if they can. Code of other
    loops can where their rounds are stated, and make both move the same bytes: then neither has a loop that the other unrolled
    and that counts as often as before."""
    words = shape_of(first).difference(shape_of(row))
    if not words:
        return _undecided(first, row, by)
    if by.criteria[0].keys[0] not in _OF_TRIPS or not all(map(_is_stated, (first, row))):
        return words
    before, after = (
        (each.value(_FIGURES[WEIGHED_BYTES]) or 0) * (each.items or 1) / (width_of(each) or 1) for each in (first, row)
    )
    if before == after:
        return ""
    each_of = "work-item" if first.items == row.items == 1 else "launch"
    return f"with these trips a {each_of} accesses {after:,.0f} bytes, not {before:,.0f}: {words}"


def _is_stated(row: SweepRow) -> bool:
    """Return whether the rounds of all loops are stated, and each of them accesses memory, by which they can be told."""
    stated = row.value(_FIGURES["stated_loops"])
    return (
        row.loops is not None
        and stated == row.loops
        and all(loop.split(",")[1] != "0" for loop in row.nest.split(";")[1:])
    )


def shape_of(row: SweepRow) -> CodeShape:
    """Return the part of a row that another must have in common with it to be ranked beside it."""
    figures = row.figures
    memory = figures.get("private_bytes"), figures.get("stack_bytes"), accessed_bytes(figures)
    return CodeShape(width_of(row), row.loops, *memory, row.nest, row.items)


def width_of(row: SweepRow) -> int | None:
    """Return the work-items of a thread; None if they are not known."""
    return next((width for key in _WIDTHS if (width := row.value(_FIGURES[key]))), None)


def unranked_sentence(sets: Sequence[BestSet]) -> str:
    """Return how many sets were not ranked; empty if all were."""
    count, unranked = sum(each.count for each in sets), sum(len(each.unranked) for each in sets)
    if not unranked:
        return ""
    return f"{unranked:,} of {count:,} variants cannot be ranked against the others"


def _known(criterion: Criterion, rows: Sequence[SweepRow]) -> Iterable[Criterion]:
    """Yield a criterion, or what is compared in its place, if it is known of a row."""
    others = [Criterion(criterion.instead, (criterion.instead,))] if criterion.instead else []
    for each in (criterion, *others):
        if any(each.measure(row) is not None for row in rows):
            yield each
            return


def _score(criterion: Criterion, row: SweepRow) -> tuple[bool, float]:
    """Return what rows are ordered by, the best first: (it is not known, how good it is)."""
    measure = criterion.measure(row)
    return measure is None, measure or 0.0
