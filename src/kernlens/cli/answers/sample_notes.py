"""Samples beside the lines and instructions of a listing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from kernlens.analysis.placed_samples import PlacedSamples
from kernlens.model.kernel import Kernel
from kernlens.model.samples import Counts
from kernlens.report.describe import plural
from kernlens.report.style import style

#: The most rows and offsets that are named one by one.
_NAMED = 4


class SampleNotes:
    """The samples of a kernel as a column of its source lines, notes behind its instructions, and sentences above both."""

    heading = "samples      %"
    meaning = "samples on them with % of the kernel's samples"

    def __init__(self, kernel: Kernel, placed: PlacedSamples) -> None:
        self._kernel = kernel
        self._placed = placed
        self._total = placed.total
        self._waits: dict[int, dict[int, int]] = defaultdict(dict)
        for blame in placed.blames:
            self._waits[blame.waiter][blame.producer] = blame.samples
        self._laid = placed.laid_on()

    def above(self) -> list[str]:
        """Return the sentences above a kernel's lines."""
        return [f"  {sentence}" for sentence in sample_sentences(self._placed)]

    def of_line(self, path: str, line: int) -> str:
        """Return the cell of a line; blank if no sample is on its own instructions."""
        number, _ = self._numbers(path, line)
        return f"{number:7,} {share(number, self._total):>6}" if number else " " * len(self.heading)

    def below(self, path: str, line: int) -> Iterator[str]:
        """Yield a line on samples of a line that may be of none, if it has such."""
        number, certain = self._numbers(path, line)
        if certain < number:
            yield style(
                f"{certain:,} of {plural(number, 'sample')} are on instructions that are certainly its own",
                dim=True,
            )
        if measured := measure_words(self._placed.measured_of(self._rows(path, line))):
            yield style(measured, dim=True)

    def _rows(self, path: str, line: int) -> list[int]:
        source_map = self._kernel.source_map
        return [row for run in source_map.lines.get((path, line), ()) for row in run] if source_map else []

    def _numbers(self, path: str, line: int) -> tuple[int, int]:
        """Return the number of samples on a line's own instructions, and on those that are certainly its own."""
        source_map = self._kernel.source_map
        rows = self._rows(path, line)
        sure = [row for row in rows if source_map and source_map.certain[row]]
        return sum(self._placed.sum_of(rows)), sum(self._placed.sum_of(sure))

    def of_row(self, row: int) -> str:
        """Return the note behind an instruction; empty if it has no sample and none is laid on it."""
        parts = []
        if counts := self._placed.counts.get(row):
            parts.append(f"{plural(sum(counts), 'sample')}: {reason_words(self._placed, counts)}")
        if measured := measure_words(self._placed.measured_of([row])):
            parts.append(measured)
        if waits := self._waits.get(row):
            parts.append(f"waits for {', '.join(self._offset(producer) for producer in waits)}")
        if laid := self._laid.get(row):
            parts.append(f"{plural(laid, 'sample')} wait{'s' if laid == 1 else ''} for it")
        return style(f"  ; {'; '.join(parts)}", dim=True) if parts else ""

    def rows(self) -> Iterator[tuple[int, str]]:
        """Yield the instructions that have a note, with it."""
        for row in {*self._placed.counts, *self._placed.measured, *self._laid}:
            yield row, self.of_row(row)

    def _offset(self, row: int) -> str:
        return f"{self._kernel.instructions.offsets[row]:#06x}"


def sample_sentences(placed: PlacedSamples) -> Iterator[str]:
    """Yield what a kernel's samples are, and which of them are on no instruction or lie on no producer."""
    numbers = [device for device in placed.devices if device is not None]
    where = f", device{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}" if numbers else ""
    if not placed.counts and not placed.unplaced:
        counted = f"; {placed.profiler} counted what it did all the same" if placed.measured else ""
        yield f"no samples of this kernel{counted}"
        return
    counts = placed.sum_of(placed.counts)
    yield f"{plural(sum(counts), 'sample')} of {placed.profiler}{where}: {reason_words(placed, counts)}"
    if placed.unplaced:
        number = sum(map(sum, placed.unplaced.values()))
        offsets = [f"{offset:#06x}" for offset in placed.unplaced]
        more = f" and {len(offsets) - _NAMED:,} more" if len(offsets) > _NAMED else ""
        yield (
            f"{plural(number, 'more sample')} at offsets where no instruction begins ({', '.join(offsets[:_NAMED])}{more}):"
            " compare with the binary that ran"
        )
    if placed.unblamed:
        yield f"{plural(placed.unblamed, 'sample')} of waits for what the code alone does not tell"


def reason_words(placed: PlacedSamples, counts: Counts) -> str:
    """Return counts in words, the largest first."""
    named = sorted(zip(counts, (reason.name for reason in placed.reasons), strict=True), key=lambda each: -each[0])
    return ", ".join(f"{count:,} {name}" for count, name in named if count) or "none"


def measure_words(measured: Mapping[str, int]) -> str:
    """Return a profiler's further counts in words, under its names."""
    return ", ".join(f"{count:,} {name}" for name, count in measured.items())


def share(number: int, total: int) -> str:
    """Return a share of all samples."""
    return f"{100 * number / total:.1f}%" if total else "-"
