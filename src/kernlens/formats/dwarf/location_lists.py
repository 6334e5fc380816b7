"""Location lists: where a variable is, range by range of the code.

Source: DWARF version 5, sections 2.6.2 "Location Lists", 7.7.3 "Location Lists" and 7.29 "Location List Table"; version 4,
section 2.6.2, for .debug_loc.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kernlens.formats.dwarf.forms import Encoding, malformed, read_unsigned
from kernlens.formats.dwarf.relocation import DebugSections

DW_FORM_LOCLISTX = 0x22

_LOC, _LISTS = ".debug_loc", ".debug_loclists"
(
    _END,
    _BASE_ADDRESSX,
    _STARTX_ENDX,
    _STARTX_LENGTH,
    _OFFSET_PAIR,
    _DEFAULT,
    _BASE_ADDRESS,
    _START_END,
    _START_LENGTH,
) = range(9)
_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
#: The smallest entries: two addresses of 4 bytes and a length, a kind with a number.
_SMALLEST = {_LOC: 10, _LISTS: 2}
_SLACK = 1 << 12
#: Where a list says that it holds wherever no other entry does.
EVERYWHERE = (0, 1 << 32)

#: Index -> the address of that index in .debug_addr.
AddressAt = Callable[[int], int]


class LocationEntry(NamedTuple):
    """One entry of a list: in [``low``, ``high``), offsets in the kernel, the variable is where ``expression`` says."""

    low: int
    high: int
    expression: bytes


class LocationLists:
    """The reader of the location lists of one file.

    Compilers write a list for each variable. In a hostile file many may name one list, or lists that share their tails; so the
    entries of all lists that are read may be twice as many as the sections can hold, and no more, and so may their bytes.
    """

    def __init__(self, sections: DebugSections) -> None:
        self._sections = sections
        self._room: int | None = None
        self._bytes = 0

    def read(
        self, form: int, value: int, encoding: Encoding, lists_base: int | None, base: int, address_at: AddressAt
    ) -> list[LocationEntry]:
        """Read the list that DW_AT_location names by ``form`` and ``value``; empty ranges are left out.

        ``base`` is the unit's start, ``lists_base`` its DW_AT_loclists_base. Raises FormatError.
        """
        name = _LISTS if encoding.version >= 5 else _LOC
        buffer = self._sections[name]
        if not buffer:
            raise malformed("a variable refers to a location list, but the file has no section of these", name)
        try:
            if form == DW_FORM_LOCLISTX:
                number = _U64 if encoding.offset_size == 8 else _U32
                start = (12 if encoding.offset_size == 4 else 20) if lists_base is None else lists_base
                value = start + number.unpack_from(buffer, start + value * number.size)[0]
            code_offset = self._sections.code_offset
            if name == _LISTS:
                entries = _lists(buffer, value, base, encoding, address_at, code_offset)
            else:
                entries = _pairs(buffer, value, base, encoding, code_offset)
            return [entry for entry in self._counted(entries, name, value) if entry.low < entry.high]
        except (IndexError, struct.error):
            raise malformed("a location list ends without its end", name, value) from None

    def _counted(self, entries: Iterator[LocationEntry], name: str, offset: int) -> Iterator[LocationEntry]:
        if self._room is None:
            self._room = _SLACK + 2 * sum(len(self._sections[section]) // size for section, size in _SMALLEST.items())
            self._bytes = _SLACK + 2 * sum(len(self._sections[section]) for section in _SMALLEST)
        for entry in entries:
            self._room -= 1
            self._bytes -= len(entry.expression)
            if min(self._room, self._bytes) < 0:
                raise malformed(
                    "location lists are shared by so many variables that they cannot all be read", name, offset
                )
            yield entry


def _pairs(
    buffer: bytes, position: int, base: int, encoding: Encoding, code_offset: Callable[[int], int]
) -> Iterator[LocationEntry]:
    """Yield the entries of a list of .debug_loc. One that only sets the base gives an empty range, so that it counts."""
    size = encoding.address_size
    pair = struct.Struct("<QQ" if size == 8 else "<II")
    largest = (1 << 8 * size) - 1
    while True:
        begin, end = pair.unpack_from(buffer, position)
        position += pair.size
        if begin == end == 0:
            return
        if begin == largest:
            base = code_offset(end)
            yield LocationEntry(0, 0, b"")
            continue
        (length,) = _U16.unpack_from(buffer, position)
        expression, position = _expression(buffer, position + 2, length, _LOC)
        yield LocationEntry(code_offset(base + begin), code_offset(base + end), expression)


def _lists(
    buffer: bytes,
    position: int,
    base: int,
    encoding: Encoding,
    address_at: AddressAt,
    code_offset: Callable[[int], int],
) -> Iterator[LocationEntry]:
    """Yield the entries of a list of .debug_loclists. One that only sets the base gives an empty range."""
    address = _U64 if encoding.address_size == 8 else _U32
    while True:
        start, kind = position, buffer[position]
        position += 1
        if kind == _END:
            return
        low, high = EVERYWHERE
        if kind in (_BASE_ADDRESS, _START_END, _START_LENGTH):
            low = code_offset(address.unpack_from(buffer, position)[0])
            position += address.size
        elif kind in (_BASE_ADDRESSX, _STARTX_ENDX, _STARTX_LENGTH):
            index, position = read_unsigned(buffer, position)
            low = code_offset(address_at(index))
        elif kind == _OFFSET_PAIR:
            begin, position = read_unsigned(buffer, position)
            low = code_offset(base + begin)
        elif kind != _DEFAULT:
            raise malformed(f"location list entry of unknown kind {kind}", _LISTS, start)
        if kind in (_BASE_ADDRESS, _BASE_ADDRESSX):
            base = low
            yield LocationEntry(0, 0, b"")
            continue
        if kind == _START_END:
            high = code_offset(address.unpack_from(buffer, position)[0])
            position += address.size
        elif kind != _DEFAULT:
            second, position = read_unsigned(buffer, position)
            if kind == _STARTX_ENDX:
                high = code_offset(address_at(second))
            else:
                high = code_offset(base + second) if kind == _OFFSET_PAIR else low + second
        length, position = read_unsigned(buffer, position)
        expression, position = _expression(buffer, position, length, _LISTS)
        yield LocationEntry(low, high, expression)


def _expression(buffer: bytes, position: int, length: int, section: str) -> tuple[bytes, int]:
    end = position + length
    if end > len(buffer):
        raise malformed(f"an expression of {length} bytes reaches beyond the end", section, position)
    return buffer[position:end], end
