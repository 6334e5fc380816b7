"""The lines of an old source and of a new one that belong together, and the lines that were edited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from kernlens.analysis.comparison.matching import common_pairs
from kernlens.dataclass import dataclass
from kernlens.model.build import Source
from kernlens.model.source_path import end_alike, pieces_of


@dataclass(frozen=True, slots=True, order=True)
class LineKey:
    """A line of both sides, the path being the new one's; a number is 0 where that side does not have the line."""

    path: str
    old: int
    new: int


class _File:
    """One file of both sides."""

    def __init__(self, old: Source, new: Source) -> None:
        self.old, self.new = old.path, new.path
        old_lines, new_lines = ([line.rstrip() for line in source.text.split("\n")] for source in (old, new))
        self.is_edited = old_lines != new_lines and not (old.unread or new.unread)
        self.new_of: dict[int, int] = {}
        self.edited: list[LineKey] = []
        if not self.is_edited:
            return
        before = (-1, -1)
        gaps: list[tuple[range, range]] = []
        for pair in [*common_pairs(old_lines, new_lines), (len(old_lines), len(new_lines))]:
            gaps.append((range(before[0] + 2, pair[0] + 1), range(before[1] + 2, pair[1] + 1)))
            if pair[0] < len(old_lines):
                self.new_of[pair[0] + 1] = pair[1] + 1
            before = pair
        moved = _moved(old_lines, new_lines, gaps)
        come_back = set(moved.values())
        self.new_of.update(moved)
        self.edited += [LineKey(self.new, *lines) for lines in moved.items()]
        for left, right in gaps:
            # Of what stands between two lines of both, the first lines of each are the same ones, edited.
            gone = [line for line in left if line not in moved]
            come = [line for line in right if line not in come_back]
            both = list(zip(gone, come, strict=False))
            self.new_of.update(both)
            self.edited += [LineKey(self.new, *lines) for lines in both]
            self.edited += [LineKey(self.new, line, 0) for line in gone[len(both) :]]
            self.edited += [LineKey(self.new, 0, line) for line in come[len(both) :]]

    @cached_property
    def old_of(self) -> dict[int, int]:
        return {new: old for old, new in self.new_of.items()}


def _moved(old: Sequence[str], new: Sequence[str], gaps: Iterable[tuple[range, range]]) -> dict[int, int]:
    """Return the new numbers of lines that stand elsewhere now: their text, but for its indentation, is what one line of
    those left over has on either side. Lines without a word, such as a brace, are none."""
    sides = dict[str, list[int]](), dict[str, list[int]]()
    for gap in gaps:
        for numbers, texts, lines in zip(gap, (old, new), sides, strict=True):
            for number in numbers:
                text = texts[number - 1].strip()
                if any(map(str.isalnum, text)):
                    lines.setdefault(text, []).append(number)
    return {
        numbers[0]: others[0]
        for text, numbers in sides[0].items()
        if len(numbers) == 1 == len(others := sides[1].get(text, []))
    }


class SourceLines:
    """The lines of the files of two programs. Where a file's text is missing on a side, equal numbers are one line."""

    def __init__(self, old: Iterable[Source], new: Iterable[Source]) -> None:
        left = {source.path: source for source in old}
        waiting = list(new)
        self._sources = dict(left), {source.path: source for source in waiting}
        self._texts: dict[tuple[int, str], list[str]] = {}
        self._files: list[_File] = []
        for is_same in (lambda old_path, other_path: old_path == other_path, end_alike, _has_same_name):
            for source in list(waiting):
                alike = [path for path in left if is_same(path, source.path)]
                if len(alike) == 1:
                    waiting.remove(source)
                    self._files.append(_File(left.pop(alike[0]), source))
        if len(left) == len(waiting) == 1:  # One file of another name.
            self._files.append(_File(next(iter(left.values())), waiting[0]))
        self._of_old = {file.old: file for file in self._files}
        self._of_new = {file.new: file for file in self._files}
        self.edited = frozenset(key for file in self._files for key in file.edited)

    def old_key(self, path: str, line: int) -> LineKey:
        """Return the key of a line of the old side."""
        file = self._of_old.get(path)
        if file is None:
            return LineKey(path, line, line)
        return LineKey(file.new, line, file.new_of.get(line, 0) if file.is_edited else line)

    def new_key(self, path: str, line: int) -> LineKey:
        """Return the key of a line of the new side."""
        file = self._of_new.get(path)
        return LineKey(path, file.old_of.get(line, 0) if file and file.is_edited else line, line)

    def old_path(self, key: LineKey) -> str:
        """Return the path that the line's file has on the old side."""
        file = self._of_new.get(key.path)
        return file.old if file else key.path

    def texts(self, key: LineKey) -> tuple[str | None, str | None]:
        """Return the line's text on both sides; None where a side does not have the line, or its text is not known."""
        return self._text(0, self.old_path(key), key.old), self._text(1, key.path, key.new)

    def _text(self, side: int, path: str, number: int) -> str | None:
        lines = self._texts.get((side, path))
        if lines is None:
            source = self._sources[side].get(path)
            lines = self._texts[side, path] = source.text.split("\n") if source and not source.unread else []
        return lines[number - 1].rstrip() if 0 < number <= len(lines) else None


def _has_same_name(first: str, second: str) -> bool:
    return pieces_of(first)[-1:] == pieces_of(second)[-1:] != []
