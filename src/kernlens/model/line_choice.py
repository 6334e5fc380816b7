"""The choice of one source line, as a user makes it."""

from __future__ import annotations

from collections.abc import Collection

from kernlens.dataclass import dataclass, field, replace
from kernlens.model.source_map import SourcePlace
from kernlens.model.source_path import is_nameless


@dataclass(frozen=True, slots=True)
class LineChoice:
    """A line of any file, or of those whose path is ``path`` or ends with it.

    ``text`` is that of the user's own file of this name, "" if there is none. ``also`` is what line tables call the file if it
    is a program's own source and came without a name; "" if it has one (``Program.meant_line``).
    """

    path: str | None
    line: int
    text: str = field(default="", repr=False)
    also: str = ""

    def holds(self, place: SourcePlace | None) -> bool:
        """Return whether ``place`` is on the chosen line; its path may be longer than the chosen one by whole folders."""
        return place is not None and place.line == self.line and self.names(place.path)

    def names(self, path: str) -> bool:
        """Return whether the chosen file is this one."""
        if self.path is None or path == self.path or path.endswith("/" + self.path):
            return True
        return bool(self.also) and (path == self.also or is_nameless(path))

    def in_source(self, path: str, names: Collection[str], text: str) -> LineChoice:
        """Return the choice for a program whose own source has no name but ``path``: that is meant by one of these names, and
        by the name of a file whose whole text is in it, which an application may have read and added lines to."""
        if self.path is None or not path:
            return self
        if any(name == self.path or name.endswith("/" + self.path) for name in names if name):
            return replace(self, also=path)
        before = _lines_before(self.text, text)
        return self if before is None else replace(self, also=path, line=self.line + before)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.path else f"line {self.line}"


def _lines_before(part: str, text: str) -> int | None:
    """Return the number of lines of a text before those of its ``part``; None if it does not hold them all, and once."""
    lines, inner = (f"\n{chr(10).join(each.splitlines()).rstrip()}\n" for each in (text, part))
    at = lines.find(inner) if inner.strip() else -1
    return lines.count("\n", 0, at) if at >= 0 and lines.find(inner, at + 1) < 0 else None
