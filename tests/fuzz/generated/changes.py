"""Changes that know what a file is made of: integers that may be sizes or offsets, entries of tables, words of a text."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence

#: What sizes, counts and offsets go wrong with.
LIMITS = (
    0,
    1,
    2,
    7,
    0x7F,
    0xFF,
    0xFFF,
    0x7FFF,
    0xFFFF,
    0x10000,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    1 << 62,
    (1 << 64) - 1,
)
#: Bytes that most files have at most, a few, and one in thousands.
USUAL, LARGE, LARGEST = 1 << 15, 1 << 20, 10_000_000
_WORDS = re.compile(rb"\w+|\s+|[^\w\s]")
_NUMBERS = (b"0", b"-1", b"4294967295", b"18446744073709551616", b"9" * 400, b"0x" + b"f" * 300, b"1e999", b"0.", b"08")
_ODD = (
    b"\0",
    b"\r",
    b"\x1b[2J",
    b"\xff",
    b"\xe2\x80\xa8",
    b"\xed\xa0\x80",
    b"\\",
    b'"',
    b"'",
    b"/*",
    b"//",
    b"{",
    b"(",
    b"[",
)

Change = Callable[[bytearray, random.Random, int], None]


def room(chance: random.Random) -> int:
    """Return how many bytes a file may grow to."""
    drawn = chance.random()
    return LARGEST if drawn < 0.0004 else LARGE if drawn < 0.02 else USUAL


def changed(data: bytes, chance: random.Random, *, is_text: bool) -> bytes:
    """Return a file after some changes."""
    content = bytearray(data or b"\0")
    most = max(room(chance), len(content))
    changes = _OF_TEXTS if is_text and chance.random() < 0.9 else _OF_BINARIES
    for _ in range(chance.choice((1, 1, 1, 2, 2, 4, 9))):
        chance.choice(changes)(content, chance, most)
        del content[most:]
        if not content:
            content += b"\0"
    return bytes(content)


def _integer(content: bytearray, chance: random.Random, most: int) -> None:
    """Set an integer that may be a size, a count or an offset to a limit, to another's value, or near its own."""
    width = chance.choice((2, 4, 4, 8, 8))
    end = chance.choice((64, 256, 1024, len(content)))
    places = range(0, max(1, min(end, len(content)) - width), width if chance.random() < 0.9 else 1)
    likely = [
        place for place in chance.sample(places, min(len(places), 24)) if _at(content, place, width) <= len(content)
    ]
    place = chance.choice(likely or [0])
    other = chance.choice(likely or [0])
    old = _at(content, place, width)
    near = (
        old - 1,
        old + 1,
        2 * old,
        len(content),
        len(content) - 1,
        len(content) + 1,
        _at(content, other, width),
        place,
    )
    value = chance.choice((*LIMITS, *near, *near))
    content[place : place + width] = (value % (1 << 8 * width)).to_bytes(width, "little")


def _at(content: bytearray, place: int, width: int) -> int:
    return int.from_bytes(content[place : place + width], "little")


def _repeated(content: bytearray, chance: random.Random, most: int) -> None:
    """Repeat a piece, as if a table had many entries of one content."""
    size = chance.choice((1, 2, 4, 8, 12, 16, 24, 40, 64, chance.randrange(1, 300)))
    place = chance.randrange(len(content))
    piece = content[place : place + size]
    times = min(int(2 ** (chance.random() * 18)), (most - len(content)) // len(piece))
    content[place:place] = piece * max(0, times)


def _copied(content: bytearray, chance: random.Random, most: int) -> None:
    size = chance.choice((4, 8, 16, 64, 512))
    place, other = chance.randrange(len(content)), chance.randrange(len(content))
    content[place : place + size] = content[other : other + size]


def _flipped(content: bytearray, chance: random.Random, most: int) -> None:
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def _cut(content: bytearray, chance: random.Random, most: int) -> None:
    place = chance.randrange(len(content))
    del content[place : place + chance.choice((1, 4, 64, len(content)))]


def _sections(content: bytearray, chance: random.Random, most: int) -> None:
    """Give an ELF file a table of sections that all are one of its own, or change an integer of another file."""
    if content[:4] != b"\x7fELF" or len(content) < 64:
        return _integer(content, chance, most)
    (table,) = struct.unpack_from("<Q", content, 40)
    size, count = struct.unpack_from("<HH", content, 58)
    if size != 64 or not 0 < count < 4000 or table + size * count > len(content):
        return _integer(content, chance, most)
    headers = [content[table + 64 * number : table + 64 * number + 64] for number in range(count)]
    chosen = bytearray(chance.choice(headers))
    other = chance.choice(headers)
    for start, end in ((0, 4), (4, 8), (24, 40), (40, 48), (56, 64)):
        if chance.random() < 0.3:
            chosen[start:end] = other[start:end]
    times = min(int(2 ** (chance.random() * 12)), (most - len(content)) // 64, 0xFF00 - count)
    if times > 0:
        struct.pack_into("<Q", content, 40, len(content))
        struct.pack_into("<H", content, 60, count + times)
        content += b"".join(headers) + chosen * times
    return None


def _word(content: bytearray, chance: random.Random, most: int) -> None:
    """Repeat a word, a line or a run of words, replace a number, or put something odd between them."""
    start = chance.randrange(len(content))
    words = [match.span() for match in _WORDS.finditer(content, start, min(len(content), start + 400))]
    if not words:
        return
    first = chance.randrange(len(words))
    last = min(len(words) - 1, first + chance.choice((0, 0, 1, 2, 5, 30)))
    begin, end = words[first][0], words[last][1]
    kind = chance.randrange(5)
    if kind < 2:
        piece = bytes(content[begin:end]) + chance.choice((b"", b" ", b"\n", b","))
        times = min(int(2 ** (chance.random() * 18)), (most - len(content)) // len(piece))
        content[begin:begin] = piece * max(0, times)
    elif kind == 2:
        digits = [span for span in words if content[span[0] : span[0] + 1].isdigit()]
        begin, end = chance.choice(digits or [(begin, end)])
        content[begin:end] = chance.choice(_NUMBERS)
    elif kind == 3:
        piece = chance.choice(_ODD)
        times = min(int(2 ** (chance.random() * 17)), (most - len(content)) // len(piece))
        content[begin:begin] = piece * max(1, times)
    else:
        content[begin:end] = b""


_OF_BINARIES: Sequence[Change] = (
    _integer, _integer, _integer, _integer, _repeated, _copied, _flipped, _cut, _sections, _sections, _word,
)  # fmt: skip
_OF_TEXTS: Sequence[Change] = (_word, _word, _word, _word, _repeated, _copied, _cut)
