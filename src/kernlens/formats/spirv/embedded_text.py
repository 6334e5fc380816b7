"""The source text that SPIR-V modules hold, wherever the modules lie in a file.

Source: SPIR-V Specification, sections 2.3 "Physical Layout" and 3.42 "Instructions" (OpSource, OpSourceContinued,
OpString), and OpenCL.DebugInfo.100 specification, section 4 "DebugSource". All of these stand before the first function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from struct import Struct

from kernlens.dataclass import dataclass, field
from kernlens.formats.spirv.magic import BIG_ENDIAN, LITTLE_ENDIAN

_HEADER_WORDS = 5
_OP_SOURCE_CONTINUED, _OP_SOURCE, _OP_STRING, _OP_EXT_INST, _OP_FUNCTION = 2, 3, 7, 12, 54
_DEBUG_SOURCE = 35
#: How translators write a checksum in the place of the source's text.
_CHECKSUM = b"//__CSK_MD5:"
_BEGINNING = re.compile(b"|".join(map(re.escape, (LITTLE_ENDIAN, BIG_ENDIAN))))
_IN_LINE = re.compile(rb"[^\r\n]")


@dataclass()
class _Texts:
    """The strings of a module that may be text, as lists of their pieces: each from one byte to another."""

    big_endian: bool
    sources: list[list[tuple[int, int]]] = field(default_factory=list)
    strings: dict[int, tuple[int, int]] = field(default_factory=dict)
    debug_sources: list[int] = field(default_factory=list)

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        named = (self.strings.get(id) for id in dict.fromkeys(self.debug_sources))
        return chain(self.sources, ([piece] for piece in named if piece is not None))

    def read(self, content: bytes, pieces: list[tuple[int, int]]) -> bytes:
        """Return the text that the pieces hold, each up to its NUL."""
        return b"".join(_in_order(content[start:end], self.big_endian).partition(b"\0")[0] for start, end in pieces)


def embedded_texts(content: bytes) -> Iterator[bytes]:
    """Yield each source text in the modules that ``content`` is or holds; checksums that stand for a text are none."""
    for texts in _modules(content):
        for pieces in texts:
            text = texts.read(content, pieces)
            if text and not text.startswith(_CHECKSUM):
                yield text


def without_embedded_texts(content: bytes, stand_in: bytes) -> bytes:
    """Return ``content`` with a byte in place of each byte of these texts; lines keep their ends and all its size."""
    changed = bytearray()
    for texts in _modules(content):
        for pieces in texts:
            if texts.read(content, pieces).startswith(_CHECKSUM):
                continue
            changed = changed or bytearray(content)
            for start, end in pieces:
                text, nul, rest = _in_order(content[start:end], texts.big_endian).partition(b"\0")
                changed[start:end] = _in_order(_IN_LINE.sub(stand_in, text) + nul + rest, texts.big_endian)
    return bytes(changed) or content


def _in_order(words: bytes, big_endian: bool) -> bytes:
    """Return the characters of words, which stand in each from its low byte on; or the words of characters."""
    return b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4)) if big_endian else words


def _modules(content: bytes) -> Iterator[_Texts]:
    at = 0
    while (beginning := _BEGINNING.search(content, at)) is not None:
        big_endian = beginning.group() == BIG_ENDIAN
        texts = _Texts(big_endian)
        # What was walked over is not walked over again, however many beginnings there are.
        at = _walk(content, beginning.start(), Struct(">I" if big_endian else "<I"), texts)
        yield texts


def _walk(content: bytes, start: int, word: Struct, texts: _Texts) -> int:
    """Note the texts of the module at ``start``, as far as there is one; return where to go on."""
    end = start + (len(content) - start) // 4 * 4
    at = start + 4 * _HEADER_WORDS
    if at > end:
        return start + 1
    version, schema = word.unpack_from(content, start + 4)[0], word.unpack_from(content, start + 16)[0]
    if version & 0xFF0000FF or schema:
        return start + 1
    while at < end:
        first = word.unpack_from(content, at)[0]
        opcode, after = first & 0xFFFF, at + 4 * (first >> 16)
        if after == at or after > end or opcode == _OP_FUNCTION:
            break
        if opcode == _OP_SOURCE:
            texts.sources.append([(at + 16, after)] if after > at + 16 else [])
        elif opcode == _OP_SOURCE_CONTINUED and texts.sources:
            texts.sources[-1].append((at + 4, after))
        elif opcode == _OP_STRING and after > at + 8:
            texts.strings[word.unpack_from(content, at + 4)[0]] = at + 8, after
        elif opcode == _OP_EXT_INST and after > at + 24 and word.unpack_from(content, at + 16)[0] == _DEBUG_SOURCE:
            # An instruction of this number in another set names no string that is this one's.
            texts.debug_sources.append(word.unpack_from(content, at + 24)[0])
        at = after
    return at
