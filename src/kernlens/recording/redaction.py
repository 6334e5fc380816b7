"""The removal of source text from a recording (``compile --redact source``, ``recording redact``).

Compilers copy source lines into much of what they write: build logs quote them, SPIR-V and debug data can hold whole files.
Every source line is therefore overwritten wherever it occurs, in its length, so that binary formats stay valid; so are the
texts in SPIR-V, and what logs quote, whether the source is known or not. The texts of stages, which spell source lines in
many ways, are left out. Names of kernels, functions, variables and files stay.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kernlens.errors import OutputError, ToolError
from kernlens.formats.spirv.embedded_text import embedded_texts, without_embedded_texts

if TYPE_CHECKING:
    from kernlens.model.build import Build
    from kernlens.model.stage import Snapshot

#: A shorter line, in characters, reveals nothing and would match unrelated bytes.
SHORTEST = 8
#: A line that is one word (``vector_add``) may be a name that the binary needs.
ONE_WORD = re.compile(r"[\w.]+")
STAND_IN = b"*"

#: The most characters that are looked for together.
_LONGEST = 1000
#: A line that a compiler quotes in a message stands above one that marks a place in it, with or without its number.
_QUOTED = re.compile(rb"^([ \t]*\d+ \|)?([^\r\n]*)(?=\r?\n(?:[ \t]*\|)?[ \t~]*\^[ \t~]*\r?$)", re.MULTILINE)
#: The stage that is source text.
SOURCE_STAGE = "source"


class Redaction:
    """An overwriter of the lines of source texts, wherever they occur as they were written."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._lines = _LineSearch()
        self.learn(texts)

    def learn(self, texts: Iterable[str]) -> None:
        """Overwrite the lines of these texts too."""
        for text in texts:
            for line in set(_lines(text)):
                self._lines.add(line.encode("utf-8", "replace"))

    def learn_of(self, build: Build) -> None:
        """Overwrite the lines of the build's sources too, and of the source texts in its SPIR-V and its stages."""
        self.learn(source.text for source in build.sources)
        for content in (build.binary, build.spirv):
            self.learn(text.decode("utf-8", "replace") for text in embedded_texts(content))
        for snapshot, content in contents_of(build.snapshots):
            texts = [content] if snapshot.stage == SOURCE_STAGE else embedded_texts(content)
            self.learn(text.decode("utf-8", "replace") for text in texts)

    def apply(self, content: bytes) -> bytes:
        """Return ``content`` with every source line in it overwritten, in the same length."""
        content = without_embedded_texts(content, STAND_IN)
        changed = bytearray(content)
        for start, end in self._lines.places(content):
            changed[start:end] = STAND_IN * (end - start)
        return bytes(changed)

    def apply_to_log(self, log: bytes) -> bytes:
        """Return what a compiler said with every line that it quotes overwritten, in the same length."""
        return _QUOTED.sub(lambda quoted: (quoted[1] or b"") + STAND_IN * len(quoted[2]), self.apply(log))


class _LineSearch:
    """A search for any of many lines in a text, in time that grows with the text and not with the number of lines."""

    def __init__(self) -> None:
        self._new: set[bytes] = set()
        self._sorted: list[bytes] = []
        #: Of each the longest other that it begins with, and one that is shorter by far, by their places; -1: none. Of
        #: thousands that begin alike, any is some steps away.
        self._shorter: list[int] = []
        self._much_shorter: list[int] = []
        #: The first characters of each; each place of a text is looked up by these.
        self._first: set[bytes] = set()
        self._longest = 0

    def add(self, line: bytes) -> None:
        """Look for this line too, which is not shorter than the shortest."""
        self._new.add(line)

    def places(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Yield where lines begin and end in the text, but for those that are within one before them."""
        if self._new:
            self._sort()
        first, longest, last = self._first, self._longest, 0
        for start in range(len(text) - SHORTEST + 1 if first else 0):
            if text[start : start + SHORTEST] in first:
                end = start + self._length(text[start : start + longest])
                if end > last:
                    last = end
                    yield start, end

    def _length(self, text: bytes) -> int:
        """Return the length of the longest line that the text begins with; 0 if there is none."""
        # What the text begins with is before it in order, and the nearest before it begins with that.
        place = bisect_right(self._sorted, text) - 1
        while place >= 0 and not text.startswith(self._sorted[place]):
            far = self._much_shorter[place]
            place = self._shorter[place] if far < 0 or text.startswith(self._sorted[far]) else far
        return len(self._sorted[place]) if place >= 0 else 0

    def _sort(self) -> None:
        self._sorted = sorted({*self._sorted, *self._new})
        self._new.clear()
        self._longest = max(map(len, self._sorted))
        self._first = {line[:SHORTEST] for line in self._sorted}
        self._shorter, self._much_shorter = [], []
        above: list[int] = []
        for place, line in enumerate(self._sorted):
            while above and not line.startswith(self._sorted[above[-1]]):
                above.pop()
            self._shorter.append(above[-1] if above else -1)
            depth = len(above)
            self._much_shorter.append(above[depth & (depth - 1)] if above else -1)
            above.append(place)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text that reveal something, long ones in pieces."""
    for line in text.splitlines():
        for start in range(0, len(line), _LONGEST):
            piece = line[start : start + _LONGEST].strip()
            if len(piece) >= SHORTEST and not ONE_WORD.fullmatch(piece):
                yield piece


def contents_of(snapshots: Iterable[Snapshot]) -> Iterator[tuple[Snapshot, bytes]]:
    """Yield each snapshot that has a content, or whose content a tool that is there makes."""
    for snapshot in snapshots:
        try:
            yield snapshot, snapshot.content
        except (ToolError, OutputError, OSError):
            continue
