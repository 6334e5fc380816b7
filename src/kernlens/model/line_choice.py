"""The choice of one source line, as a user makes it."""

from __future__ import annotations

from kernlens.dataclass import dataclass
from kernlens.model.source_map import SourcePlace


@dataclass(frozen=True, slots=True)
class LineChoice:
    """A line of any file, or of those whose path is ``path`` or ends with it."""

    path: str | None
    line: int

    def holds(self, place: SourcePlace | None) -> bool:
        """Return whether ``place`` is on the chosen line; its path may be longer than the chosen one by whole folders."""
        if place is None or place.line != self.line:
            return False
        return self.path is None or place.path == self.path or place.path.endswith("/" + self.path)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.path else f"line {self.line}"
