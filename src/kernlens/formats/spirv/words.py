"""A SPIR-V module as the words that it consists of, and the one walk over its instructions.

Source: SPIR-V Specification, sections 2.3 "Physical Layout of a SPIR-V Module and Instruction": a header of five words; of an
instruction's first word the high half is the number of words, the low half the opcode.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping

from kernlens.dataclass import NamedTuple
from kernlens.errors import FormatError
from kernlens.formats.spirv.magic import BIG_ENDIAN, is_spirv

MAGIC = 0x07230203


class SpirvHeader(NamedTuple):
    """The words that begin a module (section 2.3): ``version`` is 0x00MMmm00, ``generator`` the tool's number in its
    high half, ``bound`` above every id; ``schema`` is 0."""

    magic: int
    version: int
    generator: int
    bound: int
    schema: int


HEADER_WORDS = len(SpirvHeader._fields)


def read_words(data: memoryview) -> tuple[array[int], bool]:
    """Read the module's words in this machine's byte order; return them and whether the file's order is big-endian.
    Only the header is checked. Raises FormatError."""
    if not is_spirv(data):
        raise FormatError(
            "this is not SPIR-V: it does not begin with the magic number 0x07230203", format="spirv", offset=0
        )
    if len(data) % 4 or len(data) < 4 * HEADER_WORDS:
        raise FormatError(
            f"{len(data)} bytes are not a whole number of words, or fewer than the header's {HEADER_WORDS}: it is cut off",
            format="spirv",
            offset=len(data) & ~3,
        )
    words = array("I")
    words.frombytes(data)
    big_endian = bytes(data[:4]) == BIG_ENDIAN
    if big_endian != (sys.byteorder == "big"):
        words.byteswap()
    return words, big_endian


#: The fewest words that an instruction may have, and the number of the list that its place goes into.
Rule = tuple[int, int]
#: In the place of that number: the place is not kept, and the walk ends here.
NOT_KEPT, LAST = -1, -2


def walk(words: array[int], rules: Mapping[int, Rule], lists: int) -> list[list[int]]:
    """Go through the instructions with the rules for their opcodes, and returns ``lists`` lists of places: where the
    first word of each instruction is that a rule keeps. Raises FormatError for a word count that does not fit."""
    positions: list[list[int]] = [[] for _ in range(lists)]
    position, end, count = HEADER_WORDS, len(words), 0
    while position < end:
        first = words[position]
        count, opcode = first >> 16, first & 0xFFFF
        if opcode in rules:
            least, number = rules[opcode]
            if count < least:
                raise _misfit(words, position, least)
            if number >= 0:
                positions[number].append(position)
            elif number == LAST:
                return positions
        elif not count:
            raise _misfit(words, position)
        position += count
    if position != end:
        raise _misfit(words, position - count)
    return positions


def text_of(words: array[int], start: int, end: int) -> tuple[str, int]:
    """Return the string literal within words [start, end), and the word after it. Raises FormatError if it has no end."""
    piece = words[start:end]
    if sys.byteorder == "big":
        piece.byteswap()
    # Characters stand in each word from its low byte on, in whatever order the word's own bytes are.
    text, terminator, _rest = piece.tobytes().partition(b"\0")
    if not terminator:
        raise spirv_error("a string is not terminated within its instruction", start)
    return text.decode("utf-8", "backslashreplace"), start + len(text) // 4 + 1


def spirv_error(message: str, word: int) -> FormatError:
    """Return the error of what stands at a word."""
    return FormatError(message, format="spirv", offset=4 * word)


def _misfit(words: array[int], position: int, least: int = 0) -> FormatError:
    count, opcode, left = words[position] >> 16, words[position] & 0xFFFF, len(words) - position
    if not 0 < count <= left:
        return spirv_error(f"instruction {opcode} claims {count} words, but {left} are left", position)
    return spirv_error(f"instruction {opcode} has {count} words, at least {least} expected", position)
