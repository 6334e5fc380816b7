"""The cycles of a kernel's shortest and longest way by pipe, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernlens.model.path_cycles import PIPES, PathCycles, Paths
from kernlens.report.style import style
from kernlens.report.table import Cell, table

_NAMES = ("whole", "shortest", "longest")
_TITLES = {"whole": "all code", "shortest": "shortest path", "longest": "longest path"}


def path_lines(paths: Paths | str) -> Iterator[str]:
    """Yield a table of the cycles, or the reason why they are not known."""
    if isinstance(paths, str):
        yield style(f"  No cycles: {paths}", fg="yellow")
        return
    shown = [pipe for pipe in PIPES if paths.whole.cycles.get(pipe)]
    rows = [_row(_TITLES[name], getattr(paths, name), shown) for name in _NAMES]
    yield from table(["cycles by pipe", *shown, "total", "bound by"], rows)
    yield style(f"    {paths.origin}", dim=True)


def _row(title: str, path: PathCycles, shown: list[str]) -> list[Cell]:
    return [title, *(path.cycles.get(pipe, 0) for pipe in shown), path.total, path.bound]


def paths_document(paths: Paths | str) -> dict[str, Any]:
    """Return the cycles for JSON: each way by pipe, with its total and the pipe that bounds it; or a ``reason``."""
    if isinstance(paths, str):
        return {**dict.fromkeys(_NAMES), "reason": paths}
    return {**{name: _path(getattr(paths, name)) for name in _NAMES}, "reason": None}


def _path(path: PathCycles) -> dict[str, Any]:
    return {
        "cycles": {pipe: path.cycles.get(pipe, 0) for pipe in PIPES},
        "total": path.total,
        "bound": path.bound or None,
    }
