"""A PTX text cut to single functions, and other texts that are one part."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.formats.ptx.ptx_text import PtxFunction, read_ptx_functions
from kernlens.model.allowance import Allowance


class PtxParts:
    """A PTX text by its functions. ``rows`` are its lines; it has no tables."""

    tables: Sequence[int] = ()

    def __init__(self, text: str) -> None:
        self.rows = text.split("\n")
        functions, self.stage_rows = read_ptx_functions(text, Allowance(len(text)))
        self._functions: dict[str, PtxFunction] = {}
        for function in functions:
            self._functions.setdefault(function.name, function)

    def of_function(self, function: str) -> Sequence[int] | None:
        """Return the indexes of the rows of a function and of those that it calls, ascending; None if it is not here."""
        if function not in self._functions:
            return None
        needed, waiting = {function}, [function]
        while waiting:
            called = self._functions[waiting.pop()].called & self._functions.keys()
            waiting += called - needed
            needed |= called
        parts = sorted((each.first, each.last) for name, each in self._functions.items() if name in needed)
        return [row for first, last in parts for row in range(first - 1, last)]


class WholeText:
    """A text that is shown whole with each kernel."""

    tables: Sequence[int] = ()

    def __init__(self, text: str) -> None:
        self.rows = text.split("\n")

    def of_function(self, function: str) -> Sequence[int] | None:
        """Return the indexes of all rows."""
        return range(len(self.rows))
