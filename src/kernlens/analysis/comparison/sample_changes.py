"""The samples of a kernel on two sides, by the lines that belong together."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.analysis.comparison.pairs import KernelPair
from kernlens.analysis.comparison.source_lines import LineKey, SourceLines
from kernlens.analysis.placed_samples import PlacedSamples, placed_samples
from kernlens.analysis.sampled_kernels import SampledKernels
from kernlens.analysis.sampled_lines import sampled_lines
from kernlens.dataclass import dataclass
from kernlens.model.kernel import Kernel


@dataclass(frozen=True, slots=True)
class LineSamples:
    """The samples on one line of both sides."""

    key: LineKey
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class SampleChange:
    """The samples of one kernel on both sides. ``lines`` are those of either side, the ones with most samples on a side
    first; empty if a side has no lines. ``sources`` has their texts."""

    pair: KernelPair
    old: PlacedSamples
    new: PlacedSamples
    lines: Sequence[LineSamples]
    sources: SourceLines


def sample_change(pair: KernelPair, old: SampledKernels, new: SampledKernels) -> SampleChange | None:
    """Return the samples of a pair of kernels; None if neither has any."""
    if not (old.of(pair.old.name) or new.of(pair.new.name)):
        return None
    placed = _placed(old, pair.old), _placed(new, pair.new)
    lines: list[LineSamples] = []
    sources = SourceLines(pair.old_program.sources, pair.new_program.sources)
    if pair.old.source_map and pair.new.source_map:
        numbers: dict[LineKey, list[int]] = {}
        sides = ((pair.old.source_map, sources.old_key), (pair.new.source_map, sources.new_key))
        for side, (source_map, key_of) in enumerate(sides):
            for line in sampled_lines(placed[side], source_map).lines:
                numbers.setdefault(key_of(line.path, line.line), [0, 0])[side] += line.total
        lines = [LineSamples(key, *both) for key, both in numbers.items() if any(both)]
        lines.sort(key=lambda line: (-max(line.old, line.new), line.key))
    return SampleChange(pair, *placed, lines, sources)


def _placed(sampled: SampledKernels, kernel: Kernel) -> PlacedSamples:
    return placed_samples(sampled, kernel.name, kernel.instructions)
