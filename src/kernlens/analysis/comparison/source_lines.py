"""The lines of an old source and of a new one that belong together, and the lines that were edited."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from kernlens.analysis.comparison.matching import common_pairs
from kernlens.dataclass import dataclass
from kernlens.model.build import Source
from kernlens.model.source_comments import without_comments
from kernlens.model.source_path import end_alike, is_nameless, pieces_of

_WORD = re.compile(r"[A-Za-z0-9_]+")
#: Words of a line by which it is told what it was before, and pairs of lines of a file that are looked at for that; of larger
#: files the lines that differ at one place are paired in their order.
_MOST_WORDS, _MOST_CELLS = 40, 20_000


@dataclass(frozen=True, slots=True, order=True)
class LineKey:
    """A line of both sides, the path being the new one's; a number is 0 where that side does not have the line."""

    path: str
    old: int
    new: int


#: Lines of a program, by the path and the number.
Lines = Collection[tuple[str, int]]


class _File:
    """One file of both sides; ``only`` are the lines of each that count, all if it is None."""

    def __init__(self, old: Source, new: Source, only: tuple[Lines, Lines] | None) -> None:
        self.old, self.new = old.path, new.path
        texts = [[line.rstrip() for line in source.text.split("\n")] for source in (old, new)]
        self.is_edited = only is not None or (texts[0] != texts[1] and not (old.unread or new.unread))
        self.new_of: dict[int, int] = {}
        self.edited: list[LineKey] = []
        if not self.is_edited:
            return
        sides = [
            [number for number in range(1, len(lines) + 1) if only is None or (source.path, number) in only[side]]
            for side, (source, lines) in enumerate(zip((old, new), texts, strict=True))
        ]
        chosen = [[lines[number - 1] for number in numbers] for lines, numbers in zip(texts, sides, strict=True)]
        before = (-1, -1)
        gaps: list[tuple[list[int], list[int]]] = []
        for pair in [*common_pairs(*chosen), (len(sides[0]), len(sides[1]))]:
            gaps.append((sides[0][before[0] + 1 : pair[0]], sides[1][before[1] + 1 : pair[1]]))
            if pair[0] < len(sides[0]):
                self.new_of[sides[0][pair[0]]] = sides[1][pair[1]]
            before = pair
        moved = _moved(texts[0], texts[1], gaps)
        come_back = set(moved.values())
        edited = dict(moved)
        cells = _MOST_CELLS
        for left, right in gaps:
            gone = [line for line in left if line not in moved]
            come = [line for line in right if line not in come_back]
            cells -= len(gone) * len(come)
            both = _most_alike(gone, come, texts) if cells >= 0 else list(zip(gone, come, strict=False))
            edited.update(both)
            self.edited += [LineKey(self.new, line, 0) for line in gone if line not in edited]
            pairs = {line for _, line in both}
            self.edited += [LineKey(self.new, 0, line) for line in come if line not in pairs]
        self.new_of.update(edited)
        self.edited += [LineKey(self.new, *lines) for lines in edited.items()]

    @cached_property
    def old_of(self) -> dict[int, int]:
        return {new: old for old, new in self.new_of.items()}


def _moved(old: Sequence[str], new: Sequence[str], gaps: Iterable[tuple[list[int], list[int]]]) -> dict[int, int]:
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


def _most_alike(gone: Sequence[int], come: Sequence[int], texts: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Return pairs, both ascending, of lines that are the same ones, edited: those that have most words in common."""
    old, new = (
        [Counter(_WORD.findall(lines[number - 1])[:_MOST_WORDS]) for number in numbers]
        for lines, numbers in zip(texts, (gone, come), strict=True)
    )
    alike = [[1 + _alike(before, after) for after in new] for before in old]
    best = [[0] * (len(come) + 1) for _ in range(len(gone) + 1)]
    for at in range(len(gone) - 1, -1, -1):
        for place in range(len(come) - 1, -1, -1):
            both = best[at + 1][place + 1] + alike[at][place]
            best[at][place] = max(both, best[at + 1][place], best[at][place + 1])
    pairs = []
    at = place = 0
    while at < len(gone) and place < len(come):
        if best[at][place] == best[at + 1][place + 1] + alike[at][place]:
            pairs.append((gone[at], come[place]))
            at, place = at + 1, place + 1
        elif best[at + 1][place] >= best[at][place + 1]:
            at += 1
        else:
            place += 1
    return pairs


def _alike(old: Counter[str], new: Counter[str]) -> int:
    """Return how many in a hundred of the words of two lines both have."""
    words = old.total() + new.total()
    return 200 * sum(min(count, new[word]) for word, count in old.items()) // words if words else 0


class SourceLines:
    """The lines of the files of two programs. Where a file's text is missing on a side, equal numbers are one line. ``only``
    are the lines of each side that count, by path and number; ``compiled`` is what each side was compiled from, if it is
    known: a nameless file of a side without any text is what the other was compiled from."""

    def __init__(
        self,
        old: Iterable[Source],
        new: Iterable[Source],
        only: tuple[Lines, Lines] | None = None,
        compiled: tuple[str, str] = ("", ""),
    ) -> None:
        left = {source.path: source for source in old}
        waiting = list(new)
        self._sources = dict(left), {source.path: source for source in waiting}
        self._texts: dict[tuple[int, str], list[str]] = {}
        self._plain: dict[tuple[int, str], list[str]] = {}
        self._mains = [
            next((path for path in sources if main and end_alike(path, main)), "")
            for sources, main in zip(self._sources, compiled, strict=True)
        ]
        self._files: list[_File] = []
        for is_same in (lambda old_path, other_path: old_path == other_path, end_alike, _has_same_name):
            for source in list(waiting):
                alike = [path for path in left if is_same(path, source.path)]
                if len(alike) == 1:
                    waiting.remove(source)
                    self._files.append(_File(left.pop(alike[0]), source, only))
        if len(left) == len(waiting) == 1:  # One file of another name.
            self._files.append(_File(next(iter(left.values())), waiting[0], only))
        self._of_old = {file.old: file for file in self._files}
        self._of_new = {file.new: file for file in self._files}
        self.edited = frozenset(key for file in self._files for key in file.edited)

    def old_key(self, path: str, line: int) -> LineKey:
        """Return the key of a line of the old side."""
        file = self._of_old.get(path)
        if file is None:
            return LineKey(self._named(0, path), line, line)
        return LineKey(file.new, line, file.new_of.get(line, 0) if file.is_edited else line)

    def new_key(self, path: str, line: int) -> LineKey:
        """Return the key of a line of the new side."""
        file = self._of_new.get(path)
        path = path if file else self._named(1, path)
        return LineKey(path, file.old_of.get(line, 0) if file and file.is_edited else line, line)

    def _named(self, side: int, path: str) -> str:
        """Return the path of a side's file: what the other side was compiled from, if it is a nameless one of a side without
        any text."""
        main = self._mains[1 - side]
        return main if main and not self._sources[side] and is_nameless(path) else path

    def old_path(self, key: LineKey) -> str:
        """Return the path that the line's file has on the old side."""
        file = self._of_new.get(key.path)
        return file.old if file else key.path

    def has_code(self, key: LineKey) -> bool:
        """Return whether a line has more on either side than comments and white space; True if its text is not known."""
        sides = ((0, self.old_path(key), key.old), (1, key.path, key.new))
        return any(number and self._has_code(side, path, number) for side, path, number in sides)

    def _has_code(self, side: int, path: str, number: int) -> bool:
        plain = self._plain.get((side, path))
        if plain is None:
            source = self._sources[side].get(path)
            plain = without_comments(source.text, has_lines=True).split("\n") if source and not source.unread else []
            self._plain[side, path] = plain
        return number > len(plain) or bool(plain[number - 1].strip())

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
