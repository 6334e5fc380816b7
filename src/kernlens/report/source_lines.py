"""Source lines in tables: how they are called, and their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from kernlens.model.program import Program


def short_names(paths: Collection[str]) -> dict[str, str]:
    """Each path's last part, which ``--line`` takes, or all of it where two end alike."""
    last = {path: path.rsplit("/", 1)[-1] for path in paths}
    names = Counter(last.values())
    return {path: name if names[name] == 1 else path for path, name in last.items()}


def source_texts(program: Program) -> dict[str, list[str]]:
    """The lines of each source whose text is known, by its path."""
    return {source.path: source.text.split("\n") for source in program.sources}


def source_line(texts: Mapping[str, Sequence[str]], path: str, line: int) -> str | None:
    """A line of source without its indentation; None where its text is not known."""
    lines = texts.get(path, [])
    return lines[line - 1].strip() if 0 < line <= len(lines) else None
