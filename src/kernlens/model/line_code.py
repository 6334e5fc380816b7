"""The code of a source line, and the line of an instruction, each with what is certain of it."""

from __future__ import annotations

from collections.abc import Iterator

from kernlens.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LineCode:
    """The instructions of a source line: their ``runs``, ranges of indexes, ascending, which it yields, and the number of
    those that are certainly its own. Whoever counts by line has both."""

    runs: tuple[range, ...]
    certain: int

    def __iter__(self) -> Iterator[range]:
        return iter(self.runs)

    @property
    def count(self) -> int:
        """The number of instructions."""
        return sum(map(len, self.runs))


#: A line without instructions of its own.
NO_CODE = LineCode((), 0)


@dataclass(frozen=True, slots=True)
class LineOf:
    """The line that an instruction counts for: None if for none, as ``origin`` says (``SourceMap.origin``).
    ``is_certain``: the instruction is certainly this line's."""

    line: tuple[str, int] | None
    origin: str
    is_certain: bool
