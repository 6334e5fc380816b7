"""Samples as stacks for the viewers of flame graphs: folded lines and speedscope's file.

A stack is the kernel, the calls through which an instruction was inlined, outermost first, and its own line; where that is
not certain, a frame below it says so. The weight is its samples. Folded: one stack a line, frames separated by ``;``, then a
blank and the weight, as https://github.com/brendangregg/FlameGraph reads them. speedscope:
https://www.speedscope.app/file-format-schema.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kernlens.analysis.cxx_names import kernel_title
from kernlens.analysis.placed_samples import PlacedSamples
from kernlens.model.kernel import Kernel
from kernlens.model.samples import SampledKernel
from kernlens.model.source_map import IN_PROLOGUE, SourcePlace

#: The frames of samples that have no line.
_PROLOGUE, _NO_LINE, _NO_INSTRUCTION, _NO_KERNEL = "[prologue]", "[no line]", "[no instruction]", "[not in the input]"
#: The frame below a line, of samples that may be of no line.
_UNCERTAIN = "[uncertain]"


class Frame(NamedTuple):
    """A frame: a kernel, or a line of a file."""

    name: str
    path: str | None = None
    line: int | None = None


Stack = tuple[Frame, ...]


def sample_stacks(kernel: Kernel, placed: PlacedSamples) -> dict[Stack, int]:
    """Return the stacks of a kernel's samples with their weights, those on no instruction too."""
    stacks: dict[Stack, int] = {}
    root = Frame(kernel_title(kernel.name))
    for row, counts in placed.counts.items():
        stack = (root, *_frames(kernel, row))
        stacks[stack] = stacks.get(stack, 0) + sum(counts)
    if placed.unplaced:
        stacks[root, Frame(_NO_INSTRUCTION)] = sum(map(sum, placed.unplaced.values()))
    return {stack: weight for stack, weight in stacks.items() if weight}


def unmatched_stacks(unmatched: Iterable[SampledKernel]) -> dict[Stack, int]:
    """Return the stacks of samples of kernels that the input does not hold."""
    stacks: dict[Stack, int] = {}
    for kernel in unmatched:
        stack = (Frame(kernel.name), Frame(_NO_KERNEL))
        stacks[stack] = stacks.get(stack, 0) + kernel.total
    return {stack: weight for stack, weight in stacks.items() if weight}


def folded_lines(stacks: dict[Stack, int]) -> Iterator[str]:
    """Yield the stacks as folded lines, in the order of their text; a separator within a name is written as a comma."""
    lines: dict[str, int] = {}
    for stack, weight in stacks.items():
        text = ";".join(" ".join(frame.name.replace(";", ",").split()) for frame in stack)
        lines[text] = lines.get(text, 0) + weight
    return (f"{text} {weight}" for text, weight in sorted(lines.items()))


def speedscope_document(stacks: dict[Stack, int], name: str, exporter: str) -> dict[str, Any]:
    """Return speedscope's file of these stacks, as one sampled profile; the largest weights come first."""
    ordered: Sequence[tuple[Stack, int]] = sorted(stacks.items(), key=lambda item: (item[0][0].name, -item[1]))
    numbers: dict[Frame, int] = {}
    samples = [[numbers.setdefault(frame, len(numbers)) for frame in stack] for stack, _ in ordered]
    frames = [
        {"name": frame.name}
        | ({"file": frame.path} if frame.path is not None else {})
        | ({"line": frame.line} if frame.line else {})
        for frame in numbers
    ]
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": frames},
        "profiles": [
            {
                "type": "sampled",
                "name": name,
                "unit": "none",
                "startValue": 0,
                "endValue": sum(stacks.values()),
                "samples": samples,
                "weights": [weight for _, weight in ordered],
            }
        ],
        "activeProfileIndex": 0,
        "exporter": exporter,
        "name": name,
    }


def _frames(kernel: Kernel, row: int) -> Iterator[Frame]:
    """Yield the frames of an instruction below its kernel."""
    source_map = kernel.source_map
    place = source_map.place(row) if source_map else None
    if source_map is None or place is None:
        is_prologue = source_map is not None and source_map.origin(row) == IN_PROLOGUE
        yield Frame(_PROLOGUE if is_prologue else _NO_LINE)
        return
    yield from map(_frame, reversed(source_map.inlined_at(row)))
    yield _frame(place)
    if not source_map.line_of(row).is_certain:
        yield Frame(_UNCERTAIN)


def _frame(place: SourcePlace) -> Frame:
    return Frame(f"{place.path.rsplit('/', 1)[-1]}:{place.line}", place.path, place.line)
