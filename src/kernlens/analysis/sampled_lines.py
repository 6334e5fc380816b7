"""Samples by source line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernlens.analysis.placed_samples import PlacedSamples
from kernlens.dataclass import dataclass, field
from kernlens.model.samples import Counts, summed
from kernlens.model.source_map import SourceMap


@dataclass(frozen=True, slots=True)
class SampledLine:
    """The samples on the instructions of a line: ``counts`` by reason. ``laid`` are those of waits, of any line, that are
    laid on its instructions. ``certain`` is the number of samples on instructions that are certainly the line's. ``measured``
    are the profiler's other counts of its instructions."""

    path: str
    line: int
    counts: Counts
    laid: int
    certain: int = 0
    measured: Mapping[str, int] = field(default_factory=dict)

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
        of = source_map.line_of(row)
        if of.line is None:
            apart[of.origin] = summed(apart[of.origin], each) if of.origin in apart else each
        else:
            counts[of.line] = summed(counts[of.line], each) if of.line in counts else each
            certain[of.line] = certain.get(of.line, 0) + sum(each) * of.is_certain
    for row, number in placed.laid_on().items():
        if (line := source_map.line_of(row).line) is not None:
            laid[line] = laid.get(line, 0) + number
    rows: dict[tuple[str, int], list[int]] = {}
    for row in placed.measured:
        if (line := source_map.line_of(row).line) is not None:
            rows.setdefault(line, []).append(row)
    none = (0,) * len(placed.reasons)
    lines = [
        SampledLine(
            *line,
            counts.get(line, none),
            laid.get(line, 0),
            certain.get(line, 0),
            placed.measured_of(rows.get(line, ())),
        )
        for line in dict.fromkeys((*counts, *laid, *rows))
    ]
    return SampledLines(sorted(lines, key=lambda each: (-each.total, -each.laid, each.path, each.line)), apart)
