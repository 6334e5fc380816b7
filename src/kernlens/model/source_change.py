"""The sources of two sides that were compared: which differ, and which do not compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernlens.dataclass import dataclass

if TYPE_CHECKING:
    from kernlens.model.build import Build


@dataclass(frozen=True, slots=True)
class SourceChange:
    """A source that differs, or includes what does, by its name on each side, None where that side has no such source.
    ``lines`` are those that differ in it and in what it includes. ``old_failed`` and ``new_failed`` are each side's builds
    that failed."""

    old: str | None
    new: str | None
    lines: int = 0
    old_failed: tuple[Build, ...] = ()
    new_failed: tuple[Build, ...] = ()

    @property
    def name(self) -> str:
        """Its name, the new side's if both have it."""
        return self.new or self.old or ""

    @property
    def old_failure(self) -> str:
        """Why the old side does not compile, "" if it does."""
        return self.old_failed[0].told_failure if self.old_failed else ""

    @property
    def new_failure(self) -> str:
        """Why the new side does not compile, "" if it does."""
        return self.new_failed[0].told_failure if self.new_failed else ""

    @property
    def failed(self) -> bool:
        """True if a side of it does not compile."""
        return bool(self.old_failed or self.new_failed)


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
