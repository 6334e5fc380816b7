"""The differences between two kernels: figures, the instructions of each source line, and the edits that cause them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from kernlens.analysis.comparison.matching import common_pairs
from kernlens.analysis.comparison.normal_form import Code, Origin, Reader
from kernlens.analysis.comparison.pairs import KernelPair
from kernlens.analysis.comparison.source_lines import LineKey, SourceLines
from kernlens.dataclass import dataclass, field, in_short, replace
from kernlens.model.figures import FIGURES, STATED, Figure
from kernlens.model.kernel import Kernel
from kernlens.model.source_map import INHERITED, SourceMap
from kernlens.model.spills import COUNTED_SPILLS, SPILLED_BYTES, may_spill

#: What a group of instructions without a line of their own is called: those of the prologue, those that only stand under a
#: neighbour's line, and all others.
PROLOGUE = LineKey("prologue", 0, 0)
NEIGHBOURS = LineKey("a neighbour's line", 0, 0)
NO_LINE = LineKey("no line", 0, 0)
WITHOUT_LINE = (PROLOGUE, NEIGHBOURS, NO_LINE)
#: How a line has changed: its instructions are others; or the same on other operands.
INSTRUCTIONS, OPERANDS = "instructions", "operands"

#: Memory that each thread takes for what did not fit into registers: of all that can grow, the worst.
_THREAD_MEMORY = "bytes per hardware thread"


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A figure with both values, None where one is not known."""

    figure: Figure
    old: int | None
    new: int | None

    @property
    def growth(self) -> int:
        """The amount by which it got worse, below 0 where it got better; 0 where a value is not known."""
        if self.old is None or self.new is None:
            return 0
        return self.old - self.new if self.figure.more_is_better else self.new - self.old


@dataclass(frozen=True, slots=True)
class LineChange:
    """A source line whose instructions differ: the indexes of the old ones and the new ones. ``change`` is INSTRUCTIONS
    or OPERANDS. ``is_cause``: the source line itself was edited; None where no edit is known."""

    key: LineKey
    change: str
    old: tuple[int, ...]
    new: tuple[int, ...]
    is_cause: bool | None = None


@dataclass(frozen=True, slots=True)
class KernelChange:
    """The differences between the kernels of a pair.

    ``is_same_code``: the instructions are the same one by one, names of registers aside. ``lines`` are those that changed,
    what was edited first; ``edited`` are edited lines to which no changed instruction belongs, where no line is the cause
    otherwise: a macro, a declaration.
    """

    pair: KernelPair
    figures: tuple[FigureChange, ...]
    is_same_code: bool
    lines: tuple[LineChange, ...] = ()
    edited: tuple[LineKey, ...] = ()
    has_lines: bool = True
    codes: tuple[Code, Code] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        words = [f"{change.figure.heading} {change.old} -> {change.new}" for change in self.figures[:3]]
        return in_short(
            f"<KernelChange {self.pair.new.name!r}: {', '.join([*words, f'{len(self.lines):,} changed lines'])}>"
        )

    @property
    def differs(self) -> bool:
        """True if anything differs."""
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
        if figure in FIGURES or self.change_of(figure) or self.pair.old.code == self.pair.new.code:
            return self
        change = FigureChange(figure, figure.read(self.pair.old), figure.read(self.pair.new))
        return self if change.old == change.new else replace(self, figures=(*self.figures, change))

    def growths(self, figure: Figure) -> list[int]:
        """Return by how much a figure got worse, and what counts next: of spilled bytes, which may be unknown, the spills
        that are counted in the code."""
        return [self.growth(each) for each in (figure, *(COUNTED_SPILLS if figure == SPILLED_BYTES else ()))]


def by_badness(changes: Iterable[KernelChange], order: Figure | None = None) -> list[KernelChange]:
    """Return the changes with the worst first: of the figure ``order``, which each then has, or of spills and other
    memory of threads, and then of all other figures in the order of their list."""
    if order is not None:
        return sorted(
            (change.with_figure(order) for change in changes),
            key=lambda change: [-growth for growth in change.growths(order)],
        )
    figures = sorted(FIGURES, key=lambda figure: figure.unit != _THREAD_MEMORY)
    return sorted(changes, key=lambda change: [-growth for figure in figures for growth in change.growths(figure)])


class Comparison:
    """A comparison of kernels; what repeats in them is read once."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._sources: dict[tuple[int, int], SourceLines] = {}

    def kernel_change(self, pair: KernelPair) -> KernelChange:
        """Return the differences between the kernels of a pair."""
        is_equal = pair.old.code == pair.new.code and pair.old_program.device == pair.new_program.device
        # What is counted in the code is equal if the code is, which then need not be decoded.
        compared = STATED if is_equal else FIGURES
        if not is_equal and (may_spill(pair.old) or may_spill(pair.new)):
            compared = (*compared, *COUNTED_SPILLS)
        values = ((figure, figure.read(pair.old), figure.read(pair.new)) for figure in compared)
        figures = tuple(FigureChange(*each) for each in values if each[1] != each[2])
        if is_equal:
            return KernelChange(pair, figures, True)
        old = Code(pair.old.instructions, pair.old_program.device, self._reader)
        new = Code(pair.new.instructions, pair.new_program.device, self._reader)
        if old.is_same(new):
            return KernelChange(pair, figures, True)
        has_lines = bool(pair.old.source_map and pair.new.source_map)
        sources = self._source_lines(pair) if has_lines else SourceLines((), ())
        lines = _changed_lines((pair.old, pair.new), (old, new), sources, has_lines)
        lines.sort(key=lambda line: (not line.is_cause, line.key in WITHOUT_LINE, line.change == OPERANDS, line.key))
        edited: tuple[LineKey, ...] = ()
        if sources.edited and not any(line.is_cause for line in lines):
            edited = tuple(sorted(sources.edited))
        return KernelChange(pair, figures, False, tuple(lines), edited, has_lines, (old, new))

    def _source_lines(self, pair: KernelPair) -> SourceLines:
        key = id(pair.old_program), id(pair.new_program)
        if key not in self._sources:
            self._sources[key] = SourceLines(pair.old_program.sources, pair.new_program.sources)
        return self._sources[key]


def _changed_lines(
    kernels: tuple[Kernel, Kernel], codes: tuple[Code, Code], sources: SourceLines, has_lines: bool
) -> list[LineChange]:
    # Where the stages of one side alone were kept, nothing tells what the other side's instructions inherit.
    maps = [kernel.source_map for kernel in kernels] if has_lines else [None, None]
    is_told = all(source_map is not None and source_map.stated for source_map in maps)
    old_keys = _keys(maps[0], codes[0], sources.old_key, is_told)
    new_keys = _keys(maps[1], codes[1], sources.new_key, is_told)
    old_groups, new_groups = _groups(old_keys), _groups(new_keys)
    has_same_prologue = _forms(codes[0], old_groups.get(PROLOGUE, ())) == _forms(codes[1], new_groups.get(PROLOGUE, ()))
    changes = []
    for key in dict.fromkeys([*old_groups, *new_groups]):
        old, new = old_groups.get(key, ()), new_groups.get(key, ())
        if _count(codes[0], old) != _count(codes[1], new):
            change = INSTRUCTIONS
        elif key != PROLOGUE and _operands(codes[0], old, old_keys, has_same_prologue) != _operands(
            codes[1], new, new_keys, has_same_prologue
        ):
            change = OPERANDS
        else:
            continue
        is_cause = key in sources.edited if sources.edited else None
        changes.append(LineChange(key, change, old, new, is_cause))
    return changes


def _keys(
    source_map: SourceMap | None, code: Code, key_of: Callable[[str, int], LineKey], is_told: bool
) -> list[LineKey]:
    """Return the line of each instruction; ``is_told``: those that inherit it stand apart."""
    if source_map is None:
        return [NO_LINE] * len(code)
    known: dict[tuple[str, int], LineKey] = {}
    keys = [PROLOGUE] * source_map.prologue
    for index in range(source_map.prologue, len(code)):
        place = source_map.places[index]
        if place is None:
            keys.append(NO_LINE)
            continue
        if is_told and source_map.origins[index] == INHERITED:
            keys.append(NEIGHBOURS)
            continue
        line = place.path, place.line
        if line not in known:
            known[line] = key_of(*line)
        keys.append(known[line])
    return keys


def _groups(keys: Sequence[LineKey]) -> dict[LineKey, tuple[int, ...]]:
    groups: dict[LineKey, list[int]] = {}
    for index, key in enumerate(keys):
        groups.setdefault(key, []).append(index)
    return {key: tuple(indexes) for key, indexes in groups.items()}


def _forms(code: Code, indexes: Iterable[int]) -> list[str]:
    return [code.texts[index] for index in indexes]


def _count(code: Code, indexes: Iterable[int]) -> Counter[str]:
    """Count the instructions that do something."""
    return Counter(code.texts[index] for index in indexes if not code.forms[index].waits)


def _operands(
    code: Code, indexes: Iterable[int], keys: Sequence[LineKey], has_same_prologue: bool
) -> Counter[tuple[Hashable, ...]]:
    """Count the instructions of a line by their text and the lines that their operands come from."""

    def source(origin: Origin, own: LineKey) -> Hashable:
        if isinstance(origin, int):
            return origin if has_same_prologue else None
        writer, place = origin
        key = keys[writer]
        if key == PROLOGUE:
            return (writer, place) if has_same_prologue else None
        # Of its own line, what the operand is made by; which of several lines computes what they share, the compiler
        # decides anew.
        return (code.texts[writer] if key == own else key), place

    return Counter(
        (code.texts[index], *(source(origin, keys[index]) for origin in code.origins[index]))
        for index in indexes
        if not code.forms[index].waits
    )


@dataclass(frozen=True, slots=True)
class InstructionPair:
    """An instruction of a line: its index on each side, None where that side does not have it."""

    old: int | None
    new: int | None


def instruction_pairs(codes: tuple[Code, Code], line: LineChange) -> list[InstructionPair]:
    """Return the line's old and new instructions side by side, in the order of the code."""
    before = (-1, -1)
    lined_up: list[InstructionPair] = []
    pairs = common_pairs(_forms(codes[0], line.old), _forms(codes[1], line.new))
    for pair in [*pairs, (len(line.old), len(line.new))]:
        lined_up += [InstructionPair(line.old[index], None) for index in range(before[0] + 1, pair[0])]
        lined_up += [InstructionPair(None, line.new[index]) for index in range(before[1] + 1, pair[1])]
        if pair[0] < len(line.old):
            lined_up.append(InstructionPair(line.old[pair[0]], line.new[pair[1]]))
        before = pair
    return lined_up
