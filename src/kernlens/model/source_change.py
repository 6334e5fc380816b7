"""The sources of two sides that were compared: which differ, and which do not compile."""

from __future__ import annotations

from kernlens.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SourceChange:
    """A source that differs, or includes what does, by its name on each side, None where that side has no such source.
    ``lines`` are those that differ in it and in what it includes. The failures say why a side does not compile, "" if it
    does."""

    old: str | None
    new: str | None
    lines: int = 0
    old_failure: str = ""
    new_failure: str = ""

    @property
    def name(self) -> str:
        """Its name, the new side's if both have it."""
        return self.new or self.old or ""

    @property
    def failed(self) -> bool:
        """True if a side of it does not compile."""
        return bool(self.old_failure or self.new_failure)


@dataclass(frozen=True, slots=True)
class SourceChanges:
    """The sources that were compiled, and the number of those that are equal on both sides with all that they include and
    were not."""

    compiled: tuple[SourceChange, ...]
    unchanged: int = 0

    @property
    def failed(self) -> bool:
        """True if a source does not compile on a side."""
        return any(change.failed for change in self.compiled)
