"""The texts of single source lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def source_line(texts: Mapping[str, Sequence[str]], path: str, line: int) -> str | None:
    """Return a line of source without its indentation; None where its text is not known."""
    lines = texts.get(path, [])
    return lines[line - 1].strip() if 0 < line <= len(lines) else None
