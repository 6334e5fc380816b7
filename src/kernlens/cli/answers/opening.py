"""The beginning of a table of the costliest lines where kernels were observed: at which line of all kernels to start."""

from __future__ import annotations

import sys
from collections.abc import Callable
from textwrap import wrap
from typing import Any

from kernlens.analysis.start_here import Start, start_here
from kernlens.report.start_words import LEAST, start_document, start_lines
from kernlens.report.style import fitting_width, style
from kernlens.verbs.programs import Selection


class Opening:
    """The lines before the kernels of a listing, which ``arrange`` orders: it is known once they are chosen."""

    def __init__(self, arrange: Callable[[Selection], Selection], width: int | None) -> None:
        self._arrange, self._width = arrange, width
        self._start = Start((), 0, 0, False)

    def arranged(self, selection: Selection) -> Selection:
        """Return the kernels in their order, and keep where to start."""
        self._start = start_here(selection)
        return self._arrange(selection)

    def text(self) -> list[str]:
        """Return the lines before those of the first kernel."""
        return opening_lines(self._start, width=self._width)

    def document(self) -> dict[str, Any]:
        """Return the key ``start_here``."""
        return {"start_here": start_document(self._start)}


def opening_lines(start: Start, *, least: int = LEAST, width: int | None = None) -> list[str]:
    """Return where to start, and a blank line; nothing if fewer kernels were observed than ``least``."""
    heading, *lines = list(start_lines(start, least)) or [""]
    limit = min((each for each in (fitting_width(), width) if each is not None), default=sys.maxsize)
    folded = [piece for line in lines for piece in _folded(line, limit)]
    return [style(heading, bold=True), *folded, ""] if heading else []


def _folded(line: str, width: int) -> list[str]:
    margin = " " * (len(line) - len(line.lstrip()))
    return wrap(line, width, subsequent_indent=f"{margin}   " if margin == "  " else margin) or [line]
