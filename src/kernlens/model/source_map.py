"""The join of a kernel's instructions with its line table."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain, compress, islice, pairwise, repeat
from operator import attrgetter, getitem, is_not, ne
from typing import TypeVar

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError, NearestNames
from kernlens.model.code_function import CodeFunction
from kernlens.model.line_code import LineCode, LineOf
from kernlens.model.line_table import InlinedCall, LineTable
from kernlens.model.source_path import joined

Of = TypeVar("Of")
Answer = TypeVar("Answer")
#: ``SourceMap.row_of`` of an instruction that no row covers; of one whose row the compiler lost; of one in the prologue.
NO_ROW, LOST, PROLOGUE = -1, -2, -3
#: Where an instruction's line is from (``SourceMap.origin``).
FROM_TABLE = "table"
FROM_STAGE = "stage"
UNCERTAIN = "uncertain"
INHERITED = "inherited"
IN_PROLOGUE = "prologue"
LINE_LOST = "lost"
NO_LINE = "none"
#: The origins of an instruction of a row: where it is not certain, and where it is.
_OF_TABLE, _OF_NO_LINE = (UNCERTAIN, FROM_TABLE), (NO_LINE, NO_LINE)
#: The inlined calls that the instructions of any kernel may lie in, all counted together, and how many more for each
#: instruction. A kernel of few instructions may be inlined hundreds of times deep; honest large ones are below 20.
FRAMES = 1 << 20
FRAMES_PER_INSTRUCTION = 32


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A source place: a file, a line, a column; ``column`` 0 means the whole line."""

    path: str
    line: int
    column: int = 0


@dataclass(frozen=True, slots=True)
class StatedPlace:
    """The statement of the compiler itself on an instruction while it compiled: its place, None if it gave the
    instruction none, and the calls through which it was inlined, innermost first."""

    place: SourcePlace | None
    calls: tuple[SourcePlace, ...] = ()


@dataclass(frozen=True)
class SourceMap(NearestNames):
    """The source place of each instruction, and the instructions of each line. All that is shown of lines is decided here.

    An instruction to which the compiler gave no place stands under its neighbour's line in the line table. Where the
    stages of the compile tell such instructions, they count for no line (``inherited``). Elsewhere they cannot be told
    from a line's own ones, except from those that are ``certain``; so ``lines`` and ``line_of`` have both, and say of how
    many it is certain.

    ``row_of[i]`` is the line-table row of instruction ``i`` or NO_ROW, LOST or PROLOGUE; ``offsets[i]`` its offset in the
    kernel. ``prologue`` is the number of leading instructions that load the kernel's payload rather than do a line's
    work. ``functions`` are the kernel's own code and that of the functions that stayed calls, empty if there is none.
    ``stated`` holds what the stages of the compile say of each instruction, None where they do not; it is empty where
    they were not kept. ``begins_own``: the compiler is known to begin a row at no instruction but one that has the row's
    place, so that the first instruction of a row is certainly of its line. ``stages_by`` is the command that keeps such stages.
    """

    table: LineTable = field(repr=False)
    offsets: Sequence[int] = field(repr=False)
    row_of: Sequence[int] = field(repr=False)
    prologue: int = 0
    functions: tuple[CodeFunction, ...] = field(default=(), repr=False)
    stated: Sequence[StatedPlace | None] = field(default=(), repr=False)
    begins_own: bool = field(default=True, repr=False)
    stages_by: str = field(default="", repr=False)

    def __repr__(self) -> str:
        files = {path for path, _ in self.lines}
        return f"<SourceMap instructions={len(self.offsets)} lines={len(self.lines)} files={len(files)}>"

    def place(self, index: int) -> SourcePlace | None:
        """Return where instruction ``index`` came from, None if nothing says it (``origin`` says why)."""
        row = self.row_of[index]
        if row >= 0:
            return self._row_places[row]
        stated = self._stated(index)
        return stated.place if stated and row != PROLOGUE else None

    def origin(self, index: int) -> str:
        """Return what the line of instruction ``index`` is from.

        FROM_TABLE: the line table, and it is certainly the instruction's own. UNCERTAIN: the line table, in which it
        cannot be told from one that has no place. FROM_STAGE: the table lost it, and the stages of the compile, which
        were kept, tell it. INHERITED: the compiler gave the instruction no place, as these stages show, and the table
        holds it for its neighbour's line. Those without a line are IN_PROLOGUE, LINE_LOST (the compiler lost the rows) or
        NO_LINE.
        """
        row = self.row_of[index]
        if row == PROLOGUE:
            return IN_PROLOGUE
        stated = self._stated(index)
        if row < 0:
            if stated and stated.place:
                return FROM_STAGE
            return LINE_LOST if row == LOST and stated is None else NO_LINE
        if self._row_places[row] is None:
            return NO_LINE
        if self.certain[index]:
            return FROM_TABLE
        return INHERITED if stated and stated.place is None else UNCERTAIN

    @cached_property
    def certain(self) -> bytes:
        """For each instruction 1 if its line is certainly its own (or it has certainly none), else 0.

        It is what the kept stages state, or the instruction is the first of a row. IGC (``VISADebugEmitter.cpp``) and LLVM
        (``DwarfDebug.cpp``) begin a row at an instruction that has a place other than the last one's, and let those
        without a place stay in it. A function's first row alone is written for the function itself.
        """
        places = self._row_places
        certain = bytearray(len(self.offsets))
        if self.begins_own:
            # NO_ROW, LOST and PROLOGUE count from the list's end.
            begins = [*self.table.offsets, -1, -1, -1]
            for row in (0, *(end + 1 for end in self.table.ends_of_sequences)):
                begins[row] = -1
            row_of, offsets = self.row_of, self.offsets
            for index in compress(range(len(row_of)), map(ne, row_of, chain((None,), row_of))):
                if begins[row_of[index]] == offsets[index]:
                    certain[index] = 1
            for function in self.functions:
                certain[function.code.start] = 0
        for index, stated in enumerate(self.stated):
            row = self.row_of[index]
            if stated is None or stated.place is None or row == PROLOGUE:
                continue
            place = places[row] if row >= 0 else stated.place
            if place is not None and (place.path, place.line) == (stated.place.path, stated.place.line):
                certain[index] = 1
        return bytes(certain)

    @cached_property
    def uncertainty(self) -> str | None:
        """The number of instructions under lines that are certainly theirs, in one sentence that can stand alone; None if
        that is all."""
        count = sum(map(len, chain.from_iterable(self.lines.values())))
        certain = sum([code.certain for code in self.lines.values()])
        if certain == count:
            return None
        why = "the line table does not tell"
        if self.stated:
            why = "neither the line table nor the compile stages tell"
        elif self.stages_by:
            why += f" ({self.stages_by} keeps what does)"
        return (
            f"{certain:,} of {count:,} instructions under source lines are certain, as the compiler gave them this line; the"
            f" others may be of no line: {why}"
        )

    def function_at(self, index: int) -> CodeFunction | None:
        """Return the function that holds instruction ``index``; None in a kernel that calls none."""
        position = bisect_right(self.functions, index, key=lambda function: function.code.start)
        return self.functions[position - 1] if position else None

    @cached_property
    def warning(self) -> str | None:
        """The known fault of the line table, in one sentence that can stand alone; None if there is none."""
        counts = Counter[str]()
        for function in self.functions or [CodeFunction("all", range(len(self.row_of)), 0, 0)]:
            name = function.name or f"a function at {function.offset:#x}"
            counts[name] += sum(self.row_of[index] == LOST for index in function.code)
        if not counts.total():
            return None
        parts = ", ".join(f"{count:,} in {name}" for name, count in counts.items() if count)
        origins = [self.origin(index) for index, row in enumerate(self.row_of) if row == LOST]
        told = origins.count(FROM_STAGE)
        if told:
            remedy = f"the compile stages, which were kept, tell the line of {told:,} of them"
        elif LINE_LOST in origins:
            remedy = f"a recording with the compile stages tells more ({self.stages_by})"
        else:
            remedy = "the compile stages, which were kept, tell no line of them either"
        why = "as it does in kernels with calls or inline assembly"
        return f"the compiler lost line rows, {why} (instructions: {parts}); {remedy}"

    def _stated(self, index: int) -> StatedPlace | None:
        return self.stated[index] if self.stated else None

    def place_at(self, offset: int) -> SourcePlace | None:
        """Return where the instruction that holds byte ``offset`` came from; None if none does or it has no line. The
        instruction is ``kernel.instructions.at(offset)``."""
        index = bisect_right(self.offsets, offset) - 1
        if index < 0 or self.offsets[index] != offset >= self.table.offsets[-1]:
            return None
        return self.place(index)

    def inlined_at(self, index: int) -> tuple[SourcePlace, ...]:
        """Return the calls through which instruction ``index`` was inlined, innermost first, empty if it was not."""
        return self.stacks[index]

    def inner_places(self, index: int) -> tuple[SourcePlace, ...]:
        """Return the places that were inlined into ``place``, where that is a caller's: the instruction's own first. It
        is empty where the place is the instruction's own (``analysis.own_lines`` has others)."""
        return self.inner[index]

    @cached_property
    def inner(self) -> Sequence[tuple[SourcePlace, ...]]:
        """The ``inner_places`` of each instruction."""
        return [()] * len(self.offsets)

    @cached_property
    def places(self) -> list[SourcePlace | None]:
        """The ``place`` of each instruction."""
        # NO_ROW, LOST and PROLOGUE count from the list's end.
        places = list(map([*self._row_places, None, None, None].__getitem__, self.row_of))
        for index in range(len(places)) if self.stated else ():
            if self.row_of[index] < 0:
                places[index] = self.place(index)
        return places

    @cached_property
    def origins(self) -> list[str]:
        """The ``origin`` of each instruction."""
        if self.stated:
            return [self.origin(index) for index in range(len(self.row_of))]
        of_row = [_OF_TABLE if place else _OF_NO_LINE for place in self._row_places]
        # PROLOGUE, LOST and NO_ROW count from the list's end.
        pairs = map([*of_row, (IN_PROLOGUE,) * 2, (LINE_LOST,) * 2, _OF_NO_LINE].__getitem__, self.row_of)
        return list(map(getitem, pairs, self.certain))

    @cached_property
    def stacks(self) -> list[tuple[SourcePlace, ...]]:
        """The ``inlined_at`` of each instruction: instructions between two ends of calls share the tuple.

        Raises FormatError if that is too much."""
        stacks = list(self._table_stacks)
        for index in compress(range(len(stacks)), map(NO_ROW.__gt__, self.row_of)):
            stated = self._stated(index) if self.row_of[index] == LOST else None
            stacks[index] = stated.calls if stated else ()
        return stacks

    def line_of(self, index: int) -> LineOf:
        """Return the line that instruction ``index`` counts for, or why it counts for none: its origin is then IN_PROLOGUE,
        INHERITED or NO_LINE."""
        place, origin = self.places[index], self.origins[index]
        if place is None or origin == INHERITED:
            return LineOf(None, origin if origin in (IN_PROLOGUE, INHERITED) else NO_LINE, False)
        return LineOf((place.path, place.line), origin, origin != UNCERTAIN)

    @cached_property
    def lines(self) -> dict[tuple[str, int], LineCode]:
        """The instructions of each (path, line): a line that the scheduler spread out has many runs. They are the line's
        own; those that only inherit it are ``inherited``."""
        count = self.certain.count
        return {
            line: LineCode(runs, sum([count(1, run.start, run.stop) for run in runs]))
            for line, runs in self._by_line[0].items()
        }

    @cached_property
    def inherited(self) -> dict[tuple[str, int], tuple[range, ...]]:
        """The ranges of those instructions of each (path, line) whose ``origin`` is INHERITED, and that count for no
        line. It is empty where the stages of the compile were not kept: then nothing tells them."""
        return self._by_line[1]

    @cached_property
    def _by_line(self) -> tuple[dict[tuple[str, int], tuple[range, ...]], dict[tuple[str, int], tuple[range, ...]]]:
        own: dict[tuple[str, int], list[range]] = {}
        inherited: dict[tuple[str, int], list[range]] = {}
        for key, is_inherited, run in self._runs():
            (inherited if is_inherited else own).setdefault(key, []).append(run)
        return _frozen(own), _frozen(inherited)

    def _runs(self) -> list[tuple[tuple[str, int], bool, range]]:
        """Return the maximal runs of neighbouring instructions of one line, in order, and whether they only inherit it."""
        places = self.places
        inherits = [origin == INHERITED for origin in self.origins] if self.stated else []
        runs: list[tuple[tuple[str, int], bool, range]] = []
        start, key, is_inherited = 0, None, False
        for index in [0, *changes(places, *([inherits] if inherits else []))] if places else ():
            place = places[index]
            line = None if place is None else (place.path, place.line)
            inheriting = inherits[index] if inherits else False
            if line == key and inheriting == is_inherited:
                continue
            if key is not None:
                runs.append((key, is_inherited, range(start, index)))
            start, key, is_inherited = index, line, inheriting
        if key is not None:
            runs.append((key, is_inherited, range(start, len(places))))
        return runs

    @cached_property
    def _row_places(self) -> list[SourcePlace | None]:
        """The source place of each row; rows of one place share the object."""
        files, rows = (
            self.table.files,
            list(zip(self.table.files_of, self.table.lines, self.table.columns, strict=True)),
        )
        place_of = {
            (file, line, column): SourcePlace(files[file].path, line, column) if line else None
            for file, line, column in dict.fromkeys(rows)
        }
        return list(map(place_of.__getitem__, rows))

    @cached_property
    def _table_stacks(self) -> list[tuple[SourcePlace, ...]]:
        """The calls around each instruction in the debug data. Raises FormatError if that is too much."""
        calls = [call for call in self.table.inlined if call.low < call.high]
        frames: list[tuple[SourcePlace, ...]] = [()] * len(self.offsets)
        starts, ends = sorted(calls, key=attrgetter("low")), sorted(calls, key=attrgetter("high"))
        boundaries = sorted({call.low for call in calls} | {call.high for call in calls})
        offsets = self.offsets
        active: dict[int, tuple[InlinedCall, SourcePlace]] = {}
        #: The scheduler has the same calls alternate: their stacks are one object, by the places in it.
        shared: dict[tuple[int, ...], tuple[SourcePlace, ...]] = {}
        places: dict[tuple[int, int, int], SourcePlace] = {}
        room = FRAMES + FRAMES_PER_INSTRUCTION * len(offsets)
        next_start = next_end = 0
        for boundary, following in pairwise(boundaries):
            while next_end < len(ends) and ends[next_end].high <= boundary:
                call = ends[next_end]
                next_end += 1
                if call.depth in active and active[call.depth][0] is call:
                    del active[call.depth]
            while next_start < len(starts) and starts[next_start].low <= boundary:
                call = starts[next_start]
                next_start += 1
                active[call.depth] = call, self._call_place(call, places)
            if active:
                first, last = bisect_left(offsets, boundary), bisect_left(offsets, following)
                if first == last:
                    continue
                room -= len(active) * (last - first)
                if room < 0:
                    raise FormatError(
                        f"its {len(offsets):,} instructions lie so deep in inlined calls, up to {len(active)}, that they"
                        f" have more than {FRAMES_PER_INSTRUCTION} each",
                        format="dwarf",
                    )
                stack = tuple([active[depth][1] for depth in sorted(active, reverse=True)])
                stack = shared.setdefault(tuple(map(id, stack)), stack)
                frames[first:last] = [stack] * (last - first)
        return frames

    def whole_places(self) -> list[tuple[SourcePlace | None, tuple[SourcePlace, ...]]]:
        """Return each instruction's own place, None if it has none (those that inherit one too), and the calls it was
        inlined through, innermost first, with the paths as the compiler saw them."""
        # A line table repeats few places very often.
        full: dict[SourcePlace, SourcePlace] = {}

        def absolute(place: SourcePlace) -> SourcePlace:
            if place not in full:
                full[place] = SourcePlace(joined(self.table.directory, place.path), place.line, place.column)
            return full[place]

        return [
            (absolute(place) if place and origin != INHERITED else None, tuple(map(absolute, stack)))
            for place, origin, stack in zip(self.places, self.origins, self.stacks, strict=True)
        ]

    def _call_place(self, call: InlinedCall, known: dict[tuple[int, int, int], SourcePlace]) -> SourcePlace:
        """Return where a call stands. Few calls are around very many instructions, so each place is made once."""
        key = call.call_file, call.call_line, call.call_column
        if key not in known:
            files = self.table.files
            path = files[call.call_file].path if 0 <= call.call_file < len(files) else ""
            known[key] = SourcePlace(path, call.call_line, call.call_column)
        return known[key]


def of_each(column: Sequence[Of], answer: Callable[[Of], Answer]) -> list[Answer]:
    """Return the answer for each value of a map's column, asked once for each object: those live as long as the map."""
    answers: dict[int, Answer] = {}
    every: list[Answer] = []
    for start, stop in pairwise([0, *changes(column), len(column)]) if column else ():
        value = column[start]
        if id(value) not in answers:
            answers[id(value)] = answer(value)
        every += repeat(answers[id(value)], stop - start)
    return every


def changes(*columns: Sequence[object]) -> list[int]:
    """Return the indexes, ascending, at which a column holds another object than at the index before, without a loop
    over the instructions in Python. Neighbours share their places, stacks and origins."""
    indexes = (compress(range(1, len(column)), map(is_not, column, islice(column, 1, None))) for column in columns)
    return list(*indexes) if len(columns) == 1 else sorted(set(chain.from_iterable(indexes)))


def _frozen(runs_of: dict[tuple[str, int], list[range]]) -> dict[tuple[str, int], tuple[range, ...]]:
    return {key: tuple(ranges) for key, ranges in runs_of.items()}
