"""The differences between two kernels: figures, the instructions of each source line, and the edits that cause them."""

from __future__ import annotations

from collections.abc import Iterable

from kernlens.analysis.comparison.behaviour_changes import BehaviourChange, behaviour_change
from kernlens.analysis.comparison.line_changes import LineChange, changed_lines
from kernlens.analysis.comparison.normal_form import Code, Reader
from kernlens.analysis.comparison.pairs import KernelPair
from kernlens.analysis.comparison.source_lines import LineKey, SourceLines
from kernlens.dataclass import dataclass, field, in_short, replace
from kernlens.model.figure import Figure
from kernlens.model.figures import FIGURES, OF_FAMILIES, OF_RUNS, STATED, figure_named, own_figures
from kernlens.model.launch_limits import MAX_WORK_GROUP
from kernlens.model.spills import COUNTED_SPILLS, SPILLED_BYTES, may_spill
from kernlens.model.trial import Trial

#: Memory that each thread takes for what did not fit into registers: of all that can grow, the worst.
_THREAD_MEMORY = "bytes per hardware thread"
_LARGEST_GROUP = figure_named(MAX_WORK_GROUP)


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A figure with both values, None where one is not known."""

    figure: Figure
    old: int | None
    new: int | None

    @property
    def has_both(self) -> bool:
        """True if both values are known."""
        return self.old is not None and self.new is not None

    @property
    def growth(self) -> int:
        """The amount by which it got worse, below 0 where it got better; 0 where a value is not known."""
        if self.old is None or self.new is None:
            return 0
        return self.old - self.new if self.figure.more_is_better else self.new - self.old

    @property
    def badness(self) -> float:
        """The amount that ranks it: bytes of memory of threads, where 0 is usual, and of other metrics the share that grew."""
        is_thread_memory = self.figure.unit == _THREAD_MEMORY or self.figure in COUNTED_SPILLS
        return self.growth if is_thread_memory else self.growth / (self.old or 1)


@dataclass(frozen=True, slots=True)
class KernelChange:
    """The differences between the kernels of a pair.

    ``is_same_code``: the instructions are the same one by one, names of registers aside. ``lines`` are those that changed,
    what was edited first; ``edited`` are edited lines to which no changed instruction belongs, where no line is the cause
    otherwise: a macro, a declaration.

    Of two instruction sets ``figures`` are those that both sides state, and ``own_figures`` those that one side's binary
    states alone, the other value being None: they are not compared. ``behaviour`` is what they did otherwise on data. Without
    ``has_code`` a side was observed and never compiled: then that alone is compared. ``launches`` compares launches
    of which the work-items are stated.
    """

    pair: KernelPair
    figures: tuple[FigureChange, ...]
    is_same_code: bool
    lines: tuple[LineChange, ...] = ()
    edited: tuple[LineKey, ...] = ()
    has_lines: bool = True
    codes: tuple[Code, Code] | None = field(default=None, repr=False)
    sources: SourceLines = field(default=SourceLines((), ()), repr=False)
    own_figures: tuple[FigureChange, ...] = ()
    behaviour: BehaviourChange | None = None
    has_code: bool = True
    launches: Trial | None = None

    def __repr__(self) -> str:
        words = [f"{change.figure.heading} {change.old} -> {change.new}" for change in self.figures[:3]]
        return in_short(
            f"<KernelChange {self.pair.new.name!r}: {', '.join([*words, f'{len(self.lines):,} changed lines'])}>"
        )

    @property
    def differs(self) -> bool:
        """True if anything differs, or what alone is to be compared cannot be. Of what equal code did on data faults count."""
        if self.behaviour is not None and self.behaviour.has_other_faults:
            return True
        if not self.has_code:
            return self.behaviour is not None and bool(self.behaviour.lines or self.behaviour.reason)
        return bool(self.figures) or not self.is_same_code

    def change_of(self, figure: Figure) -> FigureChange | None:
        """Return the change of a figure; None if it is the same."""
        return next((change for change in self.figures if change.figure == figure), None)

    def growth(self, figure: Figure) -> int:
        """Return by how much a figure got worse."""
        change = self.change_of(figure)
        return change.growth if change else 0

    def with_figure(self, figure: Figure) -> KernelChange:
        """Return the same with a figure that is not compared by default, such as a cost of code, if it changed."""
        is_of_code = figure not in OF_RUNS
        is_compared = figure in (*FIGURES, *OF_FAMILIES) or self.pair.old.code == self.pair.new.code
        if self.change_of(figure) or (is_of_code and is_compared):
            return self
        change = FigureChange(figure, figure.read(self.pair.old), figure.read(self.pair.new))
        if change.old == change.new or (self.pair.has_two_isas and not change.has_both):
            return self
        return replace(self, figures=(*self.figures, change))

    def badnesses(self, figure: Figure) -> list[float]:
        """Return how much worse a figure got, and what counts next: of spilled bytes, which may be unknown, the spills that are
        counted in the code."""
        changes = map(self.change_of, (figure, *(COUNTED_SPILLS if figure == SPILLED_BYTES else ())))
        return [change.badness if change else 0 for change in changes]


def by_badness(changes: Iterable[KernelChange], order: Figure | None = None) -> list[KernelChange]:
    """Return the changes with the worst first: of the figure ``order``, which each then has, or of spills and other
    memory of threads, and then of all other figures, by the share that they grew, in the order of their list."""
    if order is not None:
        return sorted(
            (change.with_figure(order) for change in changes),
            key=lambda change: [-each for each in change.badnesses(order)],
        )
    figures = sorted((*FIGURES, *OF_FAMILIES), key=lambda figure: figure.unit != _THREAD_MEMORY)
    return sorted(changes, key=lambda change: [-each for figure in figures for each in change.badnesses(figure)])


class Comparison:
    """A comparison of kernels; what repeats in them is read once."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._sources: dict[tuple[int, int], SourceLines] = {}

    def kernel_change(self, pair: KernelPair) -> KernelChange:
        """Return the differences between the kernels of a pair."""
        if any(kernel.behaviours and not kernel.code_size for kernel in (pair.old, pair.new)):
            sources = self._source_lines(pair)
            behaviour = behaviour_change(pair, sources)
            return KernelChange(pair, (), True, sources=sources, behaviour=behaviour, has_code=False)
        change = self._code_change(pair)
        if not (pair.old.behaviours or pair.new.behaviours):
            return change
        observed = replace(change, behaviour=behaviour_change(pair, self._source_lines(pair)))
        return observed if observed.differs else change

    def _code_change(self, pair: KernelPair) -> KernelChange:
        is_equal = pair.old.code == pair.new.code and pair.old_program.device == pair.new_program.device
        # What is counted in the code is equal if the code is, which then need not be decoded.
        compared = STATED if is_equal else FIGURES
        for side in () if is_equal else (pair.old, pair.new):
            _ = side.whole_instructions
        if not is_equal and (may_spill(pair.old) or may_spill(pair.new)):
            compared = (*compared, *COUNTED_SPILLS)
        own = {*own_figures(pair.old), *own_figures(pair.new)}
        own |= {figure for figure in (_LARGEST_GROUP,) if None not in (figure.read(pair.old), figure.read(pair.new))}
        compared = (*compared, *(figure for figure in OF_FAMILIES if figure in own and figure not in OF_RUNS))
        values = ((figure, figure.read(pair.old), figure.read(pair.new)) for figure in compared)
        figures = tuple(FigureChange(*each) for each in values if each[1] != each[2])
        if is_equal:
            return KernelChange(pair, figures, True)
        own_of_one: tuple[FigureChange, ...] = ()
        if pair.has_two_isas:
            own_of_one = tuple(each for each in figures if not each.has_both)
            figures = tuple(each for each in figures if each.has_both)
        old, new = self._codes(pair)
        if old.is_same(new):
            return KernelChange(pair, figures, True)
        has_lines = bool(pair.old.source_map and pair.new.source_map)
        sources = self._source_lines(pair) if has_lines else SourceLines((), ())
        lines = changed_lines((pair.old, pair.new), (old, new), sources, has_lines=has_lines)
        edited: tuple[LineKey, ...] = ()
        if sources.edited and not any(line.is_cause for line in lines):
            edited = tuple(sorted(filter(sources.has_code, sources.edited)))
        return KernelChange(pair, figures, False, tuple(lines), edited, has_lines, (old, new), sources, own_of_one)

    def _codes(self, pair: KernelPair) -> tuple[Code, Code]:
        """Return both sides' instructions without names, marked by their instruction sets if these are two."""
        old, new = pair.old_program.device, pair.new_program.device
        isas = (old.isa if old and pair.has_two_isas else "", new.isa if new and pair.has_two_isas else "")
        return (
            Code(pair.old.instructions, old, self._reader, isas[0]),
            Code(pair.new.instructions, new, self._reader, isas[1]),
        )

    def _source_lines(self, pair: KernelPair) -> SourceLines:
        key = id(pair.old_program), id(pair.new_program)
        if key not in self._sources:
            old, new = pair.old_program, pair.new_program
            compiled = old.build.source, new.build.source
            self._sources[key] = SourceLines(old.sources, new.sources, compiled=compiled)
        sources = self._sources[key]
        if sources.edited or pair.old.name == pair.new.name:
            return sources
        # Two kernels of one source: what their lines have in common stands at other places of it.
        lines = tuple(kernel.source_map.lines if kernel.source_map else () for kernel in (pair.old, pair.new))
        return SourceLines(pair.old_program.sources, pair.new_program.sources, (lines[0], lines[1]))
