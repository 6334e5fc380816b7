"""The kernels that a capture has recorded, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlens.analysis.cxx_names import kernel_title
from kernlens.model.figures import FIGURES, shown_figures
from kernlens.report.table import table
from kernlens.report.width import Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernlens.report.table import Cell
    from kernlens.verbs.capture.captured import CapturedKernel


def _differing_options(kernels: Sequence[CapturedKernel]) -> list[str]:
    """Return each kernel's build options without the words that all of them have."""
    words = [kernel.options.split() for kernel in kernels]
    shared = frozenset(words[0] if words else ()).intersection(*words)
    return [" ".join(word for word in own if word not in shared) for own in words]


def _time_cells(kernel: CapturedKernel) -> list[Cell]:
    """Return the device's time of a kernel, its share and that of its median launch."""
    from kernlens.report.describe import duration

    if kernel.time is None:
        return [None, None, None]
    return [
        duration(kernel.time.total_ns),
        f"{kernel.time.share:.0%}",
        None if kernel.time.median_ns is None else duration(kernel.time.median_ns),
    ]


def kernel_table(kernels: Sequence[CapturedKernel]) -> list[str]:
    """Return the rows of the kernels of a capture."""
    options = _differing_options(kernels)
    timed = any(kernel.time for kernel in kernels)
    figures = shown_figures((kernel.kernel for kernel in kernels if kernel.kernel is not None), FIGURES)
    rows: list[list[Cell]] = [
        [
            Name(kernel_title(kernel.name)),
            kernel.build or None,
            kernel.device or None,
            *([own or None] if any(options) else []),
            kernel.known_launches,
            *(_time_cells(kernel) if timed else []),
            *(kernel.figures.get(figure.key) for figure in figures),
            None if kernel.line_table is None else "yes" if kernel.line_table else "no",
        ]
        for kernel, own in zip(kernels, options, strict=True)
    ]
    titles = ["kernel", "program", "device", *(["build options"] if any(options) else [])]
    times = ["device time", "share", "median"] if timed else []
    headings = [*titles, "launches", *times, *(figure.heading for figure in figures), "lines"]
    return list(table(headings, rows)) if rows else []
