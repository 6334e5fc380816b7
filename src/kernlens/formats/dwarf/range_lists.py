"""Range lists: the code of an entry that lies in several pieces.

Source: DWARF version 5, sections 2.17.3 "Non-Contiguous Address Ranges", 7.25 "Non-Contiguous Address Ranges" and 7.28
"Range List Table"; version 4, section 2.17.3, for .debug_ranges.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from kernlens.formats.dwarf.forms import Encoding, malformed, read_unsigned
from kernlens.formats.dwarf.relocation import DebugSections

DW_FORM_RNGLISTX = 0x23

_RANGES, _LISTS = ".debug_ranges", ".debug_rnglists"
_END, _BASE_ADDRESSX, _STARTX_ENDX, _STARTX_LENGTH, _OFFSET_PAIR, _BASE_ADDRESS, _START_END, _START_LENGTH = range(8)
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
#: The smallest entries: two addresses of 4 bytes, a kind with two numbers.
_SMALLEST = {_RANGES: 8, _LISTS: 3}
_SLACK = 1 << 14

#: Index -> the address of that index in .debug_addr.
AddressAt = Callable[[int], int]


class RangeLists:
    """The reader of the range lists of one file.

    Compilers write a list for each entry. In a hostile file many entries may name one list, or lists that share their
    tails; so the entries of all lists that are read may be twice as many as the sections can hold, and no more.
    """

    def __init__(self, sections: DebugSections) -> None:
        self._sections = sections
        self._room: int | None = None

    def read(
        self, form: int, value: int, encoding: Encoding, lists_base: int | None, base: int, address_at: AddressAt
    ) -> list[tuple[int, int]]:
        """Read the list that DW_AT_ranges names by ``form`` and ``value`` as [low, high) offsets in the kernel; empty
        ranges are left out.

        ``base`` is the unit's start as the file has it, ``lists_base`` its DW_AT_rnglists_base. Raises FormatError.
        """
        name = _LISTS if encoding.version >= 5 else _RANGES
        buffer = self._sections[name]
        if not buffer:
            raise malformed("an entry refers to a range list, but the file has no section of range lists", name)
        try:
            if form == DW_FORM_RNGLISTX:
                number = _U64 if encoding.offset_size == 8 else _U32
                start = (12 if encoding.offset_size == 4 else 20) if lists_base is None else lists_base
                value = start + number.unpack_from(buffer, start + value * number.size)[0]
            code_offset = self._sections.code_offset
            if name == _LISTS:
                pairs = _lists(buffer, value, base, encoding, address_at, code_offset)
            else:
                pairs = _ranges(buffer, value, base, encoding, code_offset)
            return [(low, high) for low, high in self._counted(pairs, name, value) if low < high]
        except (IndexError, struct.error):
            raise malformed("a range list ends without its end", name, value) from None

    def _counted(self, pairs: Iterator[tuple[int, int]], name: str, offset: int) -> Iterator[tuple[int, int]]:
        if self._room is None:
            self._room = _SLACK + 2 * sum(len(self._sections[name]) // size for name, size in _SMALLEST.items())
        for pair in pairs:
            self._room -= 1
            if self._room < 0:
                raise malformed("range lists are shared by so many entries that they cannot all be read", name, offset)
            yield pair


def _ranges(
    buffer: bytes, position: int, base: int, encoding: Encoding, code_offset: Callable[[int], int]
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of a list of .debug_ranges. One that only sets the base gives an empty range, so that it counts."""
    size = encoding.address_size
    pair = struct.Struct("<QQ" if size == 8 else "<II")
    largest = (1 << 8 * size) - 1
    while True:
        begin, end = pair.unpack_from(buffer, position)
        position += pair.size
        if begin == end == 0:
            return
        if begin == largest:
            base = end
            yield 0, 0
        else:
            low = code_offset(base + begin)
            yield low, low + end - begin


def _lists(
    buffer: bytes,
    position: int,
    base: int,
    encoding: Encoding,
    address_at: AddressAt,
    code_offset: Callable[[int], int],
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of a list of .debug_rnglists. One that only sets the base gives an empty range, so that it counts."""
    address, begin = _U64 if encoding.address_size == 8 else _U32, 0
    while True:
        start, kind = position, buffer[position]
        position += 1
        if kind == _END:
            return
        if kind in (_BASE_ADDRESS, _START_END, _START_LENGTH):
            first = address.unpack_from(buffer, position)[0]
            position += address.size
        elif kind in (_BASE_ADDRESSX, _STARTX_ENDX, _STARTX_LENGTH):
            index, position = read_unsigned(buffer, position)
            first = address_at(index)
        elif kind == _OFFSET_PAIR:
            begin, position = read_unsigned(buffer, position)
            first = base + begin
        else:
            raise malformed(f"range list entry of unknown kind {kind}", _LISTS, start)
        if kind in (_BASE_ADDRESS, _BASE_ADDRESSX):
            base = first
            yield 0, 0
            continue
        low = code_offset(first)
        if kind == _START_END:
            high = code_offset(address.unpack_from(buffer, position)[0])
            position += address.size
        else:
            second, position = read_unsigned(buffer, position)
            if kind == _STARTX_ENDX:
                high = code_offset(address_at(second))
            else:
                high = low + second - begin if kind == _OFFSET_PAIR else low + second
        yield low, high
