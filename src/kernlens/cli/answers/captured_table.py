"""The kernels that a capture has recorded, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlens.analysis.cxx_names import kernel_title
from kernlens.model.device_time import duration
from kernlens.model.figures import FIGURES, OF_RUNS, shown_figures
from kernlens.report.table import table
from kernlens.report.width import Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernlens.report.table import Cell
    from kernlens.verbs.capture.captured import CapturedKernel

_TIMES = ("device time", "share", "first", "median")


def _differing_options(kernels: Sequence[CapturedKernel]) -> list[str]:
    """Return each kernel's build options without the words that all of them have."""
    words = [kernel.options.split() for kernel in kernels]
    shared = frozenset(words[0] if words else ()).intersection(*words)
    return [" ".join(word for word in own if word not in shared) for own in words]


def _time_cells(kernel: CapturedKernel) -> list[Cell]:
    """Return the device's time of a kernel, its share, the first launch's, where that stands out, and the median one."""
    time = kernel.time
    if time is None:
        return [None] * 4
    launches = (None if each is None else duration(each) for each in (time.told_first_ns, time.median_ns))
    return [duration(time.total_ns), f"{time.share:.0%}", *launches]


def kernel_table(kernels: Sequence[CapturedKernel]) -> list[str]:
    """Return the rows of the kernels of a capture."""
    options = _differing_options(kernels)
    timed = any(kernel.time for kernel in kernels)
    with_first = any(kernel.time and kernel.time.told_first_ns is not None for kernel in kernels)
    times = [title for title in _TIMES if timed and (title != "first" or with_first)]
    all_figures = shown_figures((kernel.kernel for kernel in kernels if kernel.kernel is not None), FIGURES)
    figures = [figure for figure in all_figures if figure not in OF_RUNS]
    rows: list[list[Cell]] = [
        [
            Name(kernel_title(kernel.name)),
            kernel.build or None,
            kernel.device or None,
            *([own or None] if any(options) else []),
            kernel.known_launches,
            *(cell for cell, title in zip(_time_cells(kernel), _TIMES, strict=True) if title in times),
            *(kernel.figures.get(figure.key) for figure in figures),
            None if kernel.line_table is None else "yes" if kernel.line_table else "no",
        ]
        for kernel, own in zip(kernels, options, strict=True)
    ]
    titles = ["kernel", "program", "device", *(["build options"] if any(options) else [])]
    headings = [*titles, "launches", *times, *(figure.heading for figure in figures), "lines"]
    return list(table(headings, rows)) if rows else []
