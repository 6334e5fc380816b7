"""Leave source text out of a recording (``compile --redact source``, ``recording redact``).

Compilers copy source lines into much of what they write: build logs quote them, assembly listings carry them as
comments, SPIR-V and debug data can hold whole files. Every source line is therefore overwritten wherever it occurs,
in its length, so that binary formats stay valid; so are the texts in SPIR-V, and what logs quote, whether the source is
known or not. Names of kernels, functions, variables and files stay.
"""

from __future__ import annotations

import re
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

#: What may be part of a line, as long as the shortest.
_RUN = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]{%d,}" % SHORTEST)
_WORD = re.compile(rb"\w+")
#: A word with something before and after it: it is the same word wherever the line stands.
_INNER_WORD = re.compile(rb"(?<=\W)\w+(?=\W)")
#: How LLVM IR, assembly and SPIR-V's text write a character that may not stand for itself.
_ESCAPE = re.compile(rb"""\\(?:[0-9A-Fa-f]{2}|[0-3][0-7]{2}|[nt"\\])""")
_PIECE = re.compile(r"[ \t]+|.", re.DOTALL)
#: What ends a run, and ends no line.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]")
#: The most characters that are looked for together: patterns of long ones are slow to make.
_LONGEST = 1000
#: A line that a compiler quotes in a message stands above one that marks a place in it, with or without its number.
_QUOTED = re.compile(rb"^([ \t]*\d+ \|)?([^\r\n]*)(?=\r?\n(?:[ \t]*\|)?[ \t~]*\^[ \t~]*\r?$)", re.MULTILINE)
#: The stage that is source text.
SOURCE_STAGE = "source"


class Redaction:
    """Overwrites the lines of source texts wherever they occur."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._lines: set[str] = set()
        #: Lines by their longest inner word, each with the pattern of what compilers make of it once that is needed.
        self._by_word: dict[bytes, list[str]] = {}
        self._others: list[str] = []
        self._patterns: dict[str, re.Pattern[bytes]] = {}
        self.learn(texts)

    def learn(self, texts: Iterable[str]) -> None:
        """Overwrite the lines of these texts too."""
        for text in texts:
            for line in set(_lines(text)) - self._lines:
                self._lines.add(line)
                words = [] if _CONTROL.search(line) else _INNER_WORD.findall(line.encode("utf-8", "replace"))
                (self._by_word.setdefault(max(words, key=len), []) if words else self._others).append(line)

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
        for start, end in self._places(content):
            changed[start:end] = STAND_IN * (end - start)
        return bytes(changed)

    def apply_to_log(self, log: bytes) -> bytes:
        """Return what a compiler said with every line that it quotes overwritten, in the same length."""
        return _QUOTED.sub(lambda quoted: (quoted[1] or b"") + STAND_IN * len(quoted[2]), self.apply(log))

    def _places(self, content: bytes) -> Iterator[tuple[int, int]]:
        for run in _RUN.finditer(content):
            text = run.group()
            if b"\\" in text:
                text = _ESCAPE.sub(b" ", text)
            for word in set(_WORD.findall(text)):
                for line in self._by_word.get(word, ()):
                    for place in self._pattern(line).finditer(content, run.start(), run.end()):
                        yield place.span()
        for line in self._others:
            for place in self._pattern(line).finditer(content):
                yield place.span()

    def _pattern(self, line: str) -> re.Pattern[bytes]:
        pattern = self._patterns.get(line)
        if pattern is None:
            pattern = self._patterns[line] = re.compile(b"".join(map(_as_written, _PIECE.findall(line))))
        return pattern


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


def _as_written(piece: str) -> bytes:
    """The pattern of a character, or of white space, in whatever way a compiler writes it: tabs become spaces in messages."""
    if piece[0] in " \t":
        return rb"(?:[ \t]|\\09|\\t)+"
    if piece == '"':
        return rb'(?:\\?"|\\22)'
    if piece == "\\":
        return rb"(?:\\\\|\\5C|\\)"
    if piece == "\N{REPLACEMENT CHARACTER}":  # A byte that was no UTF-8 in the source.
        return rb"[\x80-\xff]{1,3}"
    if piece.isascii():
        return re.escape(piece.encode())
    return b"".join(
        rb"(?:%b|\\%02X|\\%03o)" % (re.escape(bytes([byte])), byte, byte) for byte in piece.encode("utf-8", "replace")
    )
