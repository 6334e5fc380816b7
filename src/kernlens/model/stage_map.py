"""The source line of each instruction of a stage, and one line followed through all stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from kernlens.dataclass import dataclass, field
from kernlens.model.line_choice import LineChoice
from kernlens.model.source_map import SourcePlace

#: What ``StageMap.positions`` count: lines of the snapshot's text from 1, or bytes from the kernel's start.
LINE = "line"
OFFSET = "offset"


@dataclass(frozen=True)
class StageRows:
    """The instructions that a reader finds in a stage's text, one entry per instruction, in order.

    ``lines`` are line numbers of the text, from 1. ``places`` holds None where the stage names no source line;
    ``calls`` holds the calls through which the instruction was inlined, innermost first; ``functions`` holds the function
    or kernel that it is in, empty if the text does not name one.
    """

    lines: list[int] = field(default_factory=list)
    places: list[SourcePlace | None] = field(default_factory=list)
    calls: list[tuple[SourcePlace, ...]] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)

    def add(self, line: int, place: SourcePlace | None, calls: tuple[SourcePlace, ...], function: str) -> None:
        """Append one row: the instruction on ``line`` of the snapshot, with the place that it came from."""
        self.lines.append(line)
        self.places.append(place)
        self.calls.append(calls)
        self.functions.append(function)


def chosen_lines(text: str, numbers: Sequence[int]) -> list[str]:
    """Return the lines of a text with these numbers, from 1."""
    lines = text.split("\n")
    return [lines[number - 1] for number in numbers]


@dataclass(frozen=True)
class StageMap:
    """The source map of one snapshot, as data: entry ``i`` of each column is about its ``i``-th instruction.

    ``unit`` says what ``positions`` count: LINE or OFFSET. ``kernel`` is None for a stage of the whole program.
    ``find_texts`` gives each instruction's text, on first use. ``attempt`` is the snapshot's; of a stage of the program
    with several, each map leaves out the kernels that another attempt counts for.
    """

    stage: str
    kernel: str | None
    unit: str
    positions: Sequence[int] = field(repr=False)
    places: Sequence[SourcePlace | None] = field(repr=False)
    calls: Sequence[tuple[SourcePlace, ...]] = field(repr=False)
    functions: Sequence[str] = field(repr=False)
    find_texts: Callable[[], Sequence[str]] = field(repr=False, compare=False)
    attempt: int = 1

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def texts(self) -> Sequence[str]:
        """Each instruction's text as the stage writes it."""
        return self.find_texts()

    @cached_property
    def lines(self) -> dict[tuple[str, int], tuple[int, ...]]:
        """The indexes of the instructions of each (path, line), ascending."""
        indexes_of: dict[tuple[str, int], list[int]] = {}
        for index, place in enumerate(self.places):
            if place is not None:
                indexes_of.setdefault((place.path, place.line), []).append(index)
        return {key: tuple(indexes) for key, indexes in indexes_of.items()}

    def at(self, choice: LineChoice) -> tuple[int, ...]:
        """Return the indexes of the instructions that came from the line, ascending."""
        matching = [
            index
            for (path, line), indexes in self.lines.items()
            if choice.holds(SourcePlace(path, line))
            for index in indexes
        ]
        return tuple(sorted(matching))


@dataclass(frozen=True, slots=True)
class PassLines:
    """The rest of all source lines after a pass. ``lines`` is None where the compiler dumped only a part of the
    program; ``stage`` is the pass's name, empty for the program before the first one."""

    stage: str
    attempt: int
    lines: StageMap | None
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class StagePart:
    """One source line's part in one stage: instructions ``indexes`` of ``map``; empty if nothing of it is left there."""

    map: StageMap = field(repr=False)
    indexes: tuple[int, ...]

    @property
    def stage(self) -> str:
        """The stage's name."""
        return self.map.stage

    @property
    def kernel(self) -> str | None:
        """The kernel, None for a stage of the whole program."""
        return self.map.kernel

    @property
    def attempt(self) -> int:
        """The attempt of the compiler that it is of (see ``Snapshot``)."""
        return self.map.attempt

    @property
    def positions(self) -> tuple[int, ...]:
        """The places of the part's instructions, in the map's unit."""
        return tuple(self.map.positions[index] for index in self.indexes)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the part's instructions."""
        return tuple(self.map.texts[index] for index in self.indexes)

    def runs(self) -> Iterator[tuple[int, ...]]:
        """Yield the part's indexes, in groups of neighbours of one function."""
        start = 0
        functions = self.map.functions
        for end in range(1, len(self.indexes) + 1):
            last = self.indexes[end - 1]
            if end < len(self.indexes):
                following = self.indexes[end]
                if following == last + 1 and functions[following] == functions[last]:
                    continue
            yield self.indexes[start:end]
            start = end


@dataclass(frozen=True, slots=True)
class ProgramLine:
    """One source line of a program. ``maps`` are the program's stage maps in pipeline order."""

    choice: LineChoice
    maps: tuple[StageMap, ...] = field(repr=False)

    @property
    def stages(self) -> tuple[StagePart, ...]:
        """The line's part in each stage, and in each kernel of a stage that is per kernel. Kernels without any part are
        left out; a stage in which nothing is left of the line appears once, without instructions."""
        parts_of_all: list[StagePart] = []
        for stage in dict.fromkeys(stage_map.stage for stage_map in self.maps):
            parts = [
                StagePart(stage_map, stage_map.at(self.choice)) for stage_map in self.maps if stage_map.stage == stage
            ]
            parts_of_all += [part for part in parts if part.indexes] or parts[:1]
        return tuple(parts_of_all)
