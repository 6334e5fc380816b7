"""A search for any of many lines in a text, in time that grows with the text and not with the number of lines.

A line is cut in two at its first boundary of a word. Each boundary in the text is looked up by the few characters around it;
of the lines that agree there, sorted lists give those whose first half ends, and whose second half begins, as the text does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain

_WORD = re.compile(rb"\w+")
#: Where a line is cut: before a word that does not begin it; else behind the word that does.
_CUT = re.compile(rb"(?<=\W)(?=\w)")
_END = re.compile(rb"(?<=\w)(?=\W)")
#: A word with something before and after it.
_INNER_WORD = re.compile(rb"(?<=\W)\w+(?=\W)")
#: So many things can be looked for one after another.
_FEW = 64
#: How many characters behind a cut lines are looked up by; of a shorter second half one.
_BEHIND = 3


class LineSearch:
    """The lines that are looked for: bytes, each in the spelling of the text."""

    def __init__(self) -> None:
        #: Lines with a word that has something before and after it, and the longest such word of each: where the line
        #: stands, that is a word of the text.
        self._with_word = _Cuts()
        self._words: set[bytes] = set()
        self._others = _Cuts()
        self._marks = _Beginnings()

    def add(self, line: bytes) -> None:
        """Look for this line too; it is not empty."""
        cut = _CUT.search(line) or _END.search(line)
        words = _INNER_WORD.findall(line)
        if cut is None:
            self._marks.add(line)
        elif words:
            self._words.add(max(words, key=len))
            self._with_word.add(line, cut.start())
        else:
            self._others.add(line, cut.start())

    def places(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Yield where lines begin and end in the text. Of those that are cut in one place none that is within another."""
        if self._has_word(text):
            yield from self._with_word.places(text)
        if self._others.may_be_in(text):
            yield from self._others.places(text)
        if self._marks:
            yield from self._marked(text)

    def may_be_in(self, text: bytes) -> bool:
        """Return False if no line is in the text, as far as that can be seen quickly."""
        return self._has_word(text) or self._others.may_be_in(text) or bool(self._marks)

    def _has_word(self, text: bytes) -> bool:
        return not self._words.isdisjoint(_WORD.findall(text))

    def _marked(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Yield the places of lines without a boundary: rulers of comments, and single words spelled otherwise in part."""
        for start in range(len(text)):
            if text[start : start + 1] in self._marks.first:
                for line in self._marks.of(text[start : start + self._marks.longest]):
                    yield start, start + len(line)
                    break


class _Cuts:
    """Lines by the characters around their cuts."""

    def __init__(self) -> None:
        #: By the character before the cut and the ones behind it, which are several, or one alone.
        self._of_several: dict[bytes, _Cut] = {}
        self._of_one: dict[bytes, _Cut] = {}
        self._longest = 0

    def add(self, line: bytes, cut: int) -> None:
        before, behind = line[:cut], line[cut:]
        is_long = len(behind) >= _BEHIND
        lines, count = (self._of_several, _BEHIND) if is_long else (self._of_one, 1)
        lines.setdefault(before[-1:] + behind[:count], _Cut()).add(before, behind)
        self._longest = max(self._longest, len(line))

    def may_be_in(self, text: bytes) -> bool:
        """Return False if no line is in the text, as far as that can be seen quickly."""
        if len(self._of_several) + len(self._of_one) > _FEW:
            return True
        return any(key in text for key in chain(self._of_several, self._of_one))

    def places(self, text: bytes) -> Iterator[tuple[int, int]]:
        of_several, of_one, longest = self._of_several, self._of_one, self._longest
        for word in _WORD.finditer(text):
            for cut in word.span():
                if cut:
                    lines = of_several.get(text[cut - 1 : cut + _BEHIND])
                    if lines is not None:
                        yield from lines.places(text, cut, longest)
                    lines = of_one.get(text[cut - 1 : cut + 1]) if of_one else None
                    if lines is not None:
                        yield from lines.places(text, cut, longest)


class _Cut:
    """Lines that agree in the characters around their cut: the second halves by the first ones, which are reversed."""

    def __init__(self) -> None:
        self._before = _Beginnings()
        self._behind: dict[bytes, _Beginnings] = {}

    def add(self, before: bytes, behind: bytes) -> None:
        if before not in self._behind:
            self._behind[before] = _Beginnings()
            self._before.add(before[::-1])
        self._behind[before].add(behind)

    def places(self, text: bytes, cut: int, longest: int) -> Iterator[tuple[int, int]]:
        rest, end = text[cut : cut + longest], cut
        for reverse in self._before.of(text[max(0, cut - longest) : cut][::-1]):
            behind = next(self._behind[reverse[::-1]].of(rest), b"")
            # The first half is shorter each time: a line that ends no later is within one before it.
            if cut + len(behind) > end:
                end = cut + len(behind)
                yield cut - len(reverse), end


class _Beginnings:
    """Bytes, of which those are found quickly that a text begins with."""

    def __init__(self) -> None:
        self._new: set[bytes] = set()
        self._sorted: list[bytes] = []
        #: Of each the longest other that it begins with, and one that is shorter by far, by their places; -1: none. Of
        #: thousands that begin alike, any is some steps away.
        self._shorter: list[int] = []
        self._much_shorter: list[int] = []
        self.first: set[bytes] = set()
        self.longest = 0

    def __bool__(self) -> bool:
        return bool(self._new or self._sorted)

    def add(self, beginning: bytes) -> None:
        self._new.add(beginning)
        self.first.add(beginning[:1])
        self.longest = max(self.longest, len(beginning))

    def of(self, text: bytes) -> Iterator[bytes]:
        """Yield those that the text begins with, the longest first."""
        if self._new:
            self._sort()
        # What the text begins with is before it in order, and the nearest before it begins with that.
        place = bisect_right(self._sorted, text) - 1
        while place >= 0 and not text.startswith(self._sorted[place]):
            far = self._much_shorter[place]
            place = self._shorter[place] if far < 0 or text.startswith(self._sorted[far]) else far
        while place >= 0:
            yield self._sorted[place]
            place = self._shorter[place]

    def _sort(self) -> None:
        self._sorted = sorted({*self._sorted, *self._new})
        self._new.clear()
        self._shorter, self._much_shorter = [], []
        above: list[int] = []
        for place, beginning in enumerate(self._sorted):
            while above and not beginning.startswith(self._sorted[above[-1]]):
                above.pop()
            self._shorter.append(above[-1] if above else -1)
            depth = len(above)
            self._much_shorter.append(above[depth & (depth - 1)] if above else -1)
            above.append(place)
