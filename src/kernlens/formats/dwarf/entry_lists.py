"""Range lists and location lists: the pieces of code that an entry covers, and where a variable is in each.

Both have the same two encodings, before DWARF 5 and since; those of locations have an expression behind each range.

Source: DWARF version 5, sections 2.6.2 "Location Lists", 2.17.3 "Non-Contiguous Address Ranges", 7.7.3 "Location Lists", 7.25
"Non-Contiguous Address Ranges", 7.28 "Range List Table" and 7.29 "Location List Table"; version 4, sections 2.6.2 and 2.17.3,
for .debug_loc and .debug_ranges.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from functools import partial
from typing import ClassVar

from kernlens.dataclass import NamedTuple
from kernlens.formats.dwarf import units
from kernlens.formats.dwarf.forms import Encoding, malformed, read_unsigned
from kernlens.formats.dwarf.relocation import DebugSections
from kernlens.formats.dwarf.units import Attributes, Header, UnitReader, number_of

DW_FORM_LOCLISTX, DW_FORM_RNGLISTX = 0x22, 0x23

_U16, _U32, _U64 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q")
#: Where a location list says that it holds wherever no other entry does.
EVERYWHERE = (0, 1 << 32)
#: Entries, and bytes of expressions, that may be read beyond what the sections' sizes allow.
_SLACK = 1 << 14

#: Index -> the address of that index in .debug_addr.
AddressAt = Callable[[int], int]


class _Kind(Enum):
    """The kinds of entries in DW_RLE and DW_LLE encoding."""

    END = auto()
    BASE_ADDRESSX = auto()
    STARTX_ENDX = auto()
    STARTX_LENGTH = auto()
    OFFSET_PAIR = auto()
    DEFAULT = auto()
    BASE_ADDRESS = auto()
    START_END = auto()
    START_LENGTH = auto()


_BASES = (_Kind.BASE_ADDRESS, _Kind.BASE_ADDRESSX)
_ADDRESSED = (_Kind.BASE_ADDRESS, _Kind.START_END, _Kind.START_LENGTH)
_INDEXED = (_Kind.BASE_ADDRESSX, _Kind.STARTX_ENDX, _Kind.STARTX_LENGTH)


class LocationEntry(NamedTuple):
    """One entry of a list: [``low``, ``high``) are offsets in the kernel; there the variable is where ``expression`` says.
    Ranges have no expression."""

    low: int
    high: int
    expression: bytes = b""


class _EntryLists:
    """The reader of the lists of one file.

    Compilers write a list for each entry. In a hostile file many entries may name one list, or lists that share their tails; so
    the entries of all lists that are read may be twice as many as the sections can hold, and no more, and so may the bytes of
    their expressions.
    """

    #: The list's name and that of its readers, its form by index, its sections before DWARF 5 and since.
    _title: ClassVar[str]
    _users: ClassVar[str]
    _indexed_form: ClassVar[int]
    _sections_before: ClassVar[str]
    _sections_since: ClassVar[str]
    #: The size of the smallest entry in either.
    _smallest: ClassVar[tuple[int, int]]
    _kinds: ClassVar[tuple[_Kind, ...]]
    _has_expressions: ClassVar[bool]

    def __init__(self, sections: DebugSections) -> None:
        self._sections = sections
        self._room: int | None = None
        self._bytes = 0

    def read(
        self, form: int, value: int, encoding: Encoding, lists_base: int | None, base: int, address_at: AddressAt
    ) -> list[LocationEntry]:
        """Read the list that an attribute names by ``form`` and ``value``; empty ranges are left out.

        ``base`` is the unit's start as the file has it, ``lists_base`` its DW_AT_rnglists_base or DW_AT_loclists_base. Raises
        FormatError.
        """
        name = self._sections_since if encoding.version >= 5 else self._sections_before
        buffer = self._sections[name]
        if not buffer:
            raise malformed(f"{self._users} refer to a {self._title}, but the file has no section of these", name)
        try:
            if form == self._indexed_form:
                number = _U64 if encoding.offset_size == 8 else _U32
                start = (12 if encoding.offset_size == 4 else 20) if lists_base is None else lists_base
                value = start + number.unpack_from(buffer, start + value * number.size)[0]
            if encoding.version >= 5:
                entries = list(self._entries(buffer, value, base, encoding, address_at))
            else:
                entries = list(self._pairs(buffer, value, base, encoding))
        except (IndexError, struct.error):
            raise malformed(f"a {self._title} ends without its end", name, value) from None
        self._count(entries, name, value)
        return [self._placed(entry) for entry in entries if entry.low < entry.high]

    def _placed(self, entry: LocationEntry) -> LocationEntry:
        if entry[:2] == EVERYWHERE:
            return entry
        low = self._sections.code_offset(entry.low)
        return LocationEntry(low, low + entry.high - entry.low, entry.expression)

    def _count(self, entries: Sequence[LocationEntry], name: str, offset: int) -> None:
        """Draw the entries of a list from what all lists may have; one list has no more than its section can hold."""
        if self._room is None:
            sizes = [len(self._sections[section]) for section in (self._sections_before, self._sections_since)]
            self._room = _SLACK + 2 * sum(
                size // smallest for size, smallest in zip(sizes, self._smallest, strict=True)
            )
            self._bytes = _SLACK + 2 * sum(sizes)
        self._room -= len(entries)
        self._bytes -= sum([len(entry.expression) for entry in entries])
        if min(self._room, self._bytes) < 0:
            raise malformed(
                f"{self._title}s are shared by so many {self._users} that they cannot all be read", name, offset
            )

    def _pairs(self, buffer: bytes, position: int, base: int, encoding: Encoding) -> Iterator[LocationEntry]:
        """Yield the entries of a list before DWARF 5, by addresses of the file. One that only sets the base gives an empty
        range, so that it counts."""
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
                yield LocationEntry(0, 0)
                continue
            expression = b""
            if self._has_expressions:
                (length,) = _U16.unpack_from(buffer, position)
                expression, position = self._expression(buffer, position + 2, length, self._sections_before)
            yield LocationEntry(base + begin, base + end, expression)

    def _entries(
        self, buffer: bytes, position: int, base: int, encoding: Encoding, address_at: AddressAt
    ) -> Iterator[LocationEntry]:
        """Yield the entries of a list of DWARF 5 by addresses of the file; one that only sets the base is an empty range."""
        address = _U64 if encoding.address_size == 8 else _U32
        while True:
            start, number = position, buffer[position]
            position += 1
            if number >= len(self._kinds):
                raise malformed(f"{self._title} entry of unknown kind {number}", self._sections_since, start)
            kind = self._kinds[number]
            if kind is _Kind.END:
                return
            low, high = EVERYWHERE
            if kind in _ADDRESSED:
                low = address.unpack_from(buffer, position)[0]
                position += address.size
            elif kind in _INDEXED:
                index, position = read_unsigned(buffer, position)
                low = address_at(index)
            elif kind is _Kind.OFFSET_PAIR:
                begin, position = read_unsigned(buffer, position)
                low = base + begin
            if kind in _BASES:
                base = low
                yield LocationEntry(0, 0)
                continue
            if kind is _Kind.START_END:
                high = address.unpack_from(buffer, position)[0]
                position += address.size
            elif kind is not _Kind.DEFAULT:
                second, position = read_unsigned(buffer, position)
                high = second + (base if kind is _Kind.OFFSET_PAIR else low)
                if kind is _Kind.STARTX_ENDX:
                    high = address_at(second)
            expression = b""
            if self._has_expressions:
                length, position = read_unsigned(buffer, position)
                expression, position = self._expression(buffer, position, length, self._sections_since)
            yield LocationEntry(low, high, expression)

    @staticmethod
    def _expression(buffer: bytes, position: int, length: int, section: str) -> tuple[bytes, int]:
        end = position + length
        if end > len(buffer):
            raise malformed(f"an expression of {length} bytes reaches beyond the end", section, position)
        return buffer[position:end], end


class RangeLists(_EntryLists):
    """The reader of the range lists of one file (DW_AT_ranges), and of the code of entries, which they may state."""

    _title, _users = "range list", "entries"
    _indexed_form = DW_FORM_RNGLISTX
    _sections_before, _sections_since = ".debug_ranges", ".debug_rnglists"
    _smallest = 8, 3
    _kinds = tuple(kind for kind in _Kind if kind is not _Kind.DEFAULT)
    _has_expressions = False

    def code(
        self, reader: UnitReader, header: Header, unit: Attributes, attributes: Attributes
    ) -> tuple[tuple[int, int], ...]:
        """Return an entry's code as [low, high) offsets in the kernel; ``unit`` are the attributes of its unit."""
        form, value = attributes.get(units.DW_AT_RANGES, (0, None))
        if isinstance(value, int):
            lists_base = number_of(unit, units.DW_AT_RNGLISTS_BASE)
            base = reader.raw_address(header, unit, unit) or 0
            address_at = partial(reader.indexed_address, header, unit)
            entries = self.read(form, value, header.encoding, lists_base, base, address_at)
            return tuple((entry.low, entry.high) for entry in entries)
        low = reader.address(header, unit, attributes)
        form, value = attributes.get(units.DW_AT_HIGH_PC, (0, None))
        if low is None or not isinstance(value, int):
            return ()
        # DW_AT_high_pc is an address or, as a constant, a size.
        end = reader.address(header, unit, attributes, units.DW_AT_HIGH_PC)
        if end is None:
            end = low + value
        return ((low, end),) if low < end else ()


class LocationLists(_EntryLists):
    """The reader of the location lists of one file: DW_AT_location."""

    _title, _users = "location list", "variables"
    _indexed_form = DW_FORM_LOCLISTX
    _sections_before, _sections_since = ".debug_loc", ".debug_loclists"
    _smallest = 10, 2
    _kinds = tuple(_Kind)
    _has_expressions = True
