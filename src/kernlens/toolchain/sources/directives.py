"""The directives of a text that may include a file or define a macro, also where a comment or a string might hold them.

More is found than a preprocessor obeys: who asks wants to know what a compile could read at most.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

#: The sign of a directive, in all its spellings, of one that may include a file.
_SIGN = re.compile(r"(?:#|%:|\?\?=)(?=[ \t\f\v]*(?:/\*|i|e))")
_WORD = re.compile(r"(?:include(?:_next)?|import|embed)\b")
_FILE_OR_MACRO = re.compile(r"[\"<]([^\">\n]*)|([A-Za-z_]\w*)")
_BLANKS = re.compile(r"[ \t\f\v]*")
_CONTINUED = re.compile(r"(?:\\|\?\?/)[ \t\f\v]*\r?\n")
_DEFINED = re.compile(r"\bdefine[ \t]+([A-Za-z_]\w*)")


def joined_lines(text: str) -> str:
    """Return the text with continued lines joined, as directives are read."""
    return _CONTINUED.sub("", text)


def macros_defined(text: str) -> set[str]:
    """Return the names of the macros that a text of joined lines may define."""
    return set(_DEFINED.findall(text))


def inclusions(text: str) -> Iterator[tuple[str, str]]:
    """Yield what each directive of a text of joined lines may include: a file's name, or else the name of a macro."""
    gaps = _Gaps(text)
    begin = end = 0
    for sign in _SIGN.finditer(text):
        if begin <= sign.start() < end:
            continue  # It is a part of a name.
        word = _WORD.match(text, gaps.end(sign.end()))
        operand = word and _FILE_OR_MACRO.match(text, gaps.end(word.end()))
        if operand:
            begin, end = operand.span()
            yield operand[1] or "", operand[2] or ""


class _Gaps:
    """The white space and comments of a text. Each is gone through once, however many directives stand in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: dict[int, int] = {}
        self._comment_ends: list[int] | None = None

    def end(self, start: int) -> int:
        """Return where white space and comments end that may begin at ``start``; a comment that is not closed is none."""
        passed = []
        place: int | None = start
        while place is not None and place not in self._ends:
            passed.append(place)
            end = _BLANKS.match(self._text, place).end()  # type: ignore[union-attr]  # it matches anywhere
            place = self._behind_comment(end) if self._text.startswith("/*", end) else None
        if place is not None:
            end = self._ends[place]
        self._ends.update(dict.fromkeys(passed, end))
        return end

    def _behind_comment(self, start: int) -> int | None:
        if self._comment_ends is None:
            self._comment_ends = [match.end() for match in re.finditer(r"\*/", self._text)]
        index = bisect_left(self._comment_ends, start + 4)
        return self._comment_ends[index] if index < len(self._comment_ends) else None
