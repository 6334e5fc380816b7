"""Samples by source line."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.analysis.placed_samples import PlacedSamples
from kernlens.dataclass import dataclass
from kernlens.model.samples import Counts, summed
from kernlens.model.source_map import IN_PROLOGUE, INHERITED, NO_LINE, SourceMap


@dataclass(frozen=True, slots=True)
class SampledLine:
    """The samples on the instructions of a line: ``counts`` by reason. ``laid`` are those of waits, of any line, that are
    laid on its instructions. ``certain`` is the number of samples on instructions that are certainly the line's."""

    path: str
    line: int
    counts: Counts
    laid: int
    certain: int = 0

    @property
    def total(self) -> int:
        """The number of samples on its instructions."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class SampledLines:
    """A kernel's samples by line, the lines with most of them first. ``apart`` has those of the instructions that count for no
    line, by the reason (``SourceMap.origin``)."""

    lines: Sequence[SampledLine]
    apart: dict[str, Counts]


def sampled_lines(placed: PlacedSamples, source_map: SourceMap) -> SampledLines:
    """Return the samples by line."""
    counts: dict[tuple[str, int], Counts] = {}
    laid: dict[tuple[str, int], int] = {}
    certain: dict[tuple[str, int], int] = {}
    apart: dict[str, Counts] = {}
    for row, each in placed.counts.items():
        line, origin = line_of(source_map, row)
        if line is None:
            apart[origin] = summed(apart[origin], each) if origin in apart else each
        else:
            counts[line] = summed(counts[line], each) if line in counts else each
            certain[line] = certain.get(line, 0) + sum(each) * source_map.certain[row]
    for row, number in placed.laid_on().items():
        line, _ = line_of(source_map, row)
        if line is not None:
            laid[line] = laid.get(line, 0) + number
    none = (0,) * len(placed.reasons)
    lines = [
        SampledLine(*line, counts.get(line, none), laid.get(line, 0), certain.get(line, 0))
        for line in dict.fromkeys((*counts, *laid))
    ]
    return SampledLines(sorted(lines, key=lambda each: (-each.total, -each.laid, each.path, each.line)), apart)


def line_of(source_map: SourceMap, row: int) -> tuple[tuple[str, int] | None, str]:
    """Return the line that an instruction counts for, None if for none; and what its line is from, or why it has none:
    IN_PROLOGUE, INHERITED or NO_LINE."""
    place, origin = source_map.place(row), source_map.origin(row)
    if place is None or origin == INHERITED:
        return None, origin if origin in (IN_PROLOGUE, INHERITED) else NO_LINE
    return (place.path, place.line), origin
