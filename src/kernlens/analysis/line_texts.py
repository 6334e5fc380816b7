"""The texts of single source lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernlens.model.program import Program


def source_texts(program: Program) -> dict[str, list[str]]:
    """Return the lines of each source whose text is known, by its path."""
    return {source.path: source.text.split("\n") for source in program.sources}


def source_line(texts: Mapping[str, Sequence[str]], path: str, line: int) -> str | None:
    """Return a line of source without its indentation; None where its text is not known."""
    lines = texts.get(path, [])
    return lines[line - 1].strip() if 0 < line <= len(lines) else None
