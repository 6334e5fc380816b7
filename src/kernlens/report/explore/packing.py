"""The encodings of an ``explore`` document's parts: JSON, packed with DEFLATE (RFC 1951), which browsers unpack by themselves,
and as base85 where they stand in a page."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b85encode
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

#: Level 9 packs texts 1% to 4% smaller in twice the time.
LEVEL = 6
#: For one kernel, in a file that is kept.
SMALLEST = 9
#: What browsers call "deflate-raw": without a header. Chromium has it since 103, Firefox 113, Safari 16.4.
_RAW = -15
#: The largest chunk that is made, and that a reader unpacks, in bytes.
RAW_LIMIT = 1 << 26
#: What stands at the end of a text that is cut.
_CUT = "\n... the rest is too large to be shown"
_SURROGATE = re.compile("[\ud800-\udfff]")
_BASE85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
#: Without what HTML gives a meaning to.
ALPHABET = _BASE85.translate(bytes.maketrans(b"&<>`", b".,:/"))
_TO_ALPHABET = bytes.maketrans(_BASE85, ALPHABET)


def within(text: str, limit: int = RAW_LIMIT // 8) -> str:
    """Return a text, cut to so many characters: each may take six bytes in JSON."""
    return text if len(text) <= limit else text[:limit] + _CUT


def encoded(value: Any) -> bytes:
    """Return JSON in UTF-8 that any parser takes: lone surrogates, from file names that are not UTF-8, are replaced."""
    import orjson

    try:
        return orjson.dumps(value)
    except TypeError:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).encode()


def packed(content: bytes, level: int = LEVEL) -> bytes:
    """Return what DEFLATE makes of a content, without a header."""
    compressor = zlib.compressobj(level, zlib.DEFLATED, _RAW)
    return compressor.compress(content) + compressor.flush()


def deltas(numbers: Iterable[int]) -> list[int]:
    """Return each number's difference from the one before it, the first's from 0."""
    return [following - number for number, following in pairwise((0, *numbers))]


def in_base85(content: bytes) -> bytes:
    """Return bytes as base85: five letters for four bytes, the last of which are filled up with zeros."""
    return b85encode(content, pad=True).translate(_TO_ALPHABET)


def padded(content: bytes) -> bytes:
    """Return bytes filled up with zeros to a whole number of groups of four."""
    return content + bytes(-len(content) % 4)
