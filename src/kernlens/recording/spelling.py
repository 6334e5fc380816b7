"""Source text as compilers write it, brought to one spelling: white space, quotes, backslashes and bytes beyond ASCII have
several in messages, LLVM IR, assembly and the text of SPIR-V.

What is one character of a source is the same bytes after ``spelled``, however it was written; the reverse does not hold
(``a\\t`` and ``a ``). Each step goes over the text once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

#: A backslash, in its own right or before others: compilers double it, LLVM IR writes 5C.
_BACK = rb"\\(?:5C|\\)*"
#: What has several spellings: white space of any length; a quote; a byte beyond ASCII (hexadecimal in LLVM IR, octal in
#: assembly); a backslash. One before any of the others may belong to their spelling.
_SPELLED = re.compile(
    rb"(?P<space>(?:[ \t]|%(back)b(?:09|t|[ \t]))+)|%(back)b(?:(?P<quote>22|\")|(?P<hex>[89A-F][0-9A-F])"
    rb"|(?P<octal>[23][0-7]{2})|(?P<byte>[\x80-\xff])|(?P<back>))" % {b"back": _BACK}
)
#: The same where \22 before a digit is read as the beginning of an octal number.
_OCTAL_FIRST = re.compile(_SPELLED.pattern.replace(rb"(?P<quote>22|", rb"(?P<quote>22(?![0-7])|"))
_IS_EITHER = re.compile(rb"\\(?:5C)*22[0-7]")
_HAS_SPELLINGS = re.compile(rb"[\\\t]|  ")
#: Bytes that are no UTF-8, and the character that stands for them in a text that was read all the same. Several are one.
_UTF8 = rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()
_BEYOND_ASCII = re.compile(rb"(?P<none>(?:%b|(?!%b)[\x80-\xff])+)|(?:%b)" % (_REPLACEMENT, _UTF8, _UTF8))


class _Rewritten:
    """Bytes of which parts are replaced; ``place`` leads back from a byte to those that it came from."""

    def __init__(self, content: bytes, parts: Iterable[tuple[int, int, bytes]]) -> None:
        #: Where each part stands in ``text`` and ends there, and where it stood and ended in the content.
        self._at: list[int] = []
        self._places: list[tuple[int, int, int]] = []
        pieces: list[bytes] = []
        end = size = 0
        for start, stop, replacement in parts:
            pieces += (content[end:start], replacement)
            size += start - end
            self._at.append(size)
            size += len(replacement)
            self._places.append((size, start, stop))
            end = stop
        self.text = b"".join((*pieces, content[end:]))

    def place(self, index: int) -> tuple[int, int]:
        before = bisect_right(self._at, index) - 1
        if before < 0:
            return index, index + 1
        end, start, stop = self._places[before]
        return (start, stop) if index < end else (stop + index - end, stop + index - end + 1)


class Spelled:
    """Bytes in the one spelling. ``text`` is what they are then; ``places`` leads back to the bytes that were spelled.

    With ``is_lossy`` bytes that are no UTF-8 are the character that stands for them where a text was read all the same.
    """

    def __init__(self, content: bytes, *, is_lossy: bool = False, octal_first: bool = False) -> None:
        self.text = content
        self._steps: list[_Rewritten] = []
        if _HAS_SPELLINGS.search(content):
            matches = (_OCTAL_FIRST if octal_first else _SPELLED).finditer(content)
            self._rewrite((each.start(), each.end(), _one_spelling(each)) for each in matches)
        if is_lossy:
            self._rewrite((*each.span(), _REPLACEMENT) for each in _no_utf8(self.text))

    def _rewrite(self, parts: Iterable[tuple[int, int, bytes]]) -> None:
        self._steps.append(_Rewritten(self.text, parts))
        self.text = self._steps[-1].text

    def places(self, start: int, end: int) -> tuple[int, int]:
        """Return where the part of ``text`` from ``start`` to ``end``, which is not empty, begins and ends in the content."""
        last = end - 1
        for step in reversed(self._steps):
            start, last = step.place(start)[0], step.place(last)[1] - 1
        return start, last + 1


def spellings(content: bytes, *, is_lossy: bool = False) -> list[Spelled]:
    """Return the content in one spelling; two where it can be read in two ways."""
    read = [Spelled(content, is_lossy=is_lossy)]
    if b"\\" in content and _IS_EITHER.search(content):
        read.append(Spelled(content, is_lossy=is_lossy, octal_first=True))
    return read


def _no_utf8(content: bytes) -> Iterator[re.Match[bytes]]:
    """Yield runs of bytes that are not UTF-8, and of characters that stand for such."""
    return (match for match in _BEYOND_ASCII.finditer(content) if match["none"])


def _one_spelling(match: re.Match[bytes]) -> bytes:
    kind = match.lastgroup
    if kind == "space":
        return b" "
    if kind == "quote":
        return b'"'
    if kind == "back":
        return b"\\"
    if kind == "byte":
        return match["byte"]
    return bytes([int(match[kind or ""], 16 if kind == "hex" else 8)])
