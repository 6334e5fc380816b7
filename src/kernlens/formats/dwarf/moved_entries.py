"""The addresses of a unit's entries, range lists and location lists, moved with the code that they mean.

Source: DWARF version 4 (and 2, 3), sections 2.17 "Code Addresses and Ranges", 2.6.2 "Location Lists", 7.5.3, 7.7.3; version 5
for units without lists of its own sections, which no compiler of Intel's writes unless it is told to.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from kernlens.errors import UnsupportedError
from kernlens.formats.dwarf import forms
from kernlens.formats.dwarf.debug_copy import DebugCopy
from kernlens.formats.dwarf.forms import malformed, read_form, read_signed, read_unsigned
from kernlens.formats.dwarf.units import DW_AT_HIGH_PC, DW_AT_LOW_PC, DW_AT_RANGES, DW_AT_STMT_LIST, Header

_INFO, _ABBREV, _LOC, _RANGES = ".debug_info", ".debug_abbrev", ".debug_loc", ".debug_ranges"
#: DW_AT_entry_pc, DW_AT_call_return_pc, DW_AT_call_pc.
_ADDRESSES = frozenset((DW_AT_LOW_PC, DW_AT_HIGH_PC, 0x52, 0x7D, 0x81))
_FIXED_SIZES = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8}
_UDATA, _SEC_OFFSET, _LOCLISTX, _RNGLISTX = 0x0F, 0x17, 0x22, 0x23
#: Attributes that may be location lists: location, string_length, return_addr, data_member_location, frame_base, segment,
#: static_link, use_location, vtable_elem_location.
_LOCATIONS = frozenset((0x02, 0x19, 0x2A, 0x38, 0x40, 0x46, 0x48, 0x4A, 0x4D))


class _Value(NamedTuple):
    """An attribute in an entry: its form, and where its bytes are in .debug_info."""

    attribute: int
    form: int
    start: int
    end: int


class EntryMover:
    """The mover of the entries of units that describe the edited code. Each list is moved once."""

    def __init__(self, copy: DebugCopy) -> None:
        self._copy = copy
        # Numbers are stored in place: the entries stay where they are.
        self._info = bytes(copy.contents.get(_INFO, b""))
        self._table = bytes(copy.contents.get(_ABBREV, b""))
        self._abbreviations: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._ends: dict[int, int] = {}
        self._moved: set[tuple[str, int]] = set()

    def move(self, unit: Header) -> None:
        """Move all addresses of a unit. Raises FormatError for damaged data, UnsupportedError for lists of version 5."""
        try:
            base: int | None = None
            for values in self._entries(unit):
                low = self._low(values, unit)
                base = low if base is None else base
                self._move_entry(values, unit, base or 0, low)
        except (IndexError, struct.error):
            raise malformed("the unit ends within an entry", _INFO, unit.start) from None

    def line_program_at(self, unit: Header) -> tuple[int, int] | None:
        """Return where a unit's first entry has the offset of its line program, and in how many bytes."""
        try:
            for values in self._entries(unit):
                for value in values:
                    if value.attribute == DW_AT_STMT_LIST:
                        return value.start, value.end - value.start
                break
        except (IndexError, struct.error):
            raise malformed("the unit ends within an entry", _INFO, unit.start) from None
        return None

    def _entries(self, unit: Header) -> Iterator[list[_Value]]:
        info = self._info
        position = unit.entries
        while position < unit.end:
            code, position = read_unsigned(info, position)
            if code == 0:
                continue
            values = []
            for attribute, form in self._abbreviation(unit.debug_abbrev_offset, code):
                start = position
                if form == forms.DW_FORM_INDIRECT:
                    form, start = read_unsigned(info, position)
                _, position = read_form(info, start, form, unit.encoding, _INFO)
                values.append(_Value(attribute, form, start, position))
            if position > unit.end:
                raise malformed("an entry reaches beyond its unit's end", _INFO, position)
            yield values

    def _abbreviation(self, table: int, code: int) -> list[tuple[int, int]]:
        """Return the attributes and forms of an abbreviation that take bytes in each entry."""
        buffer = self._table
        position = self._ends.get(table, table)
        while (table, code) not in self._abbreviations:
            number, position = read_unsigned(buffer, position)
            if number == 0:
                raise malformed(f"abbreviation {code} is not in the table at {table:#x}", _ABBREV, position)
            _, position = read_unsigned(buffer, position)
            position += 1
            specifications: list[tuple[int, int]] = []
            while True:
                attribute, position = read_unsigned(buffer, position)
                form, position = read_unsigned(buffer, position)
                if form == forms.DW_FORM_IMPLICIT_CONST:
                    _, position = read_signed(buffer, position)
                    if attribute == DW_AT_HIGH_PC:
                        raise UnsupportedError("the size of code stands in an abbreviation, which units share")
                elif attribute == form == 0:
                    break
                elif form != forms.DW_FORM_FLAG_PRESENT:
                    specifications.append((attribute, form))
            self._abbreviations.setdefault((table, number), specifications)
            self._ends[table] = position
        return self._abbreviations[table, code]

    def _low(self, values: list[_Value], unit: Header) -> int | None:
        for value in values:
            if value.attribute == DW_AT_LOW_PC and value.form == forms.DW_FORM_ADDR:
                return self._copy.number(_INFO, value.start, unit.encoding.address_size)
        return None

    def _move_entry(self, values: list[_Value], unit: Header, base: int, low: int | None) -> None:
        copy, moves = self._copy, self._copy.moves
        for attribute, form, start, end in values:
            if attribute in _ADDRESSES and form == forms.DW_FORM_ADDR:
                copy.store(_INFO, start, end - start, moves.boundary(copy.number(_INFO, start, end - start)))
            elif attribute in _ADDRESSES and form in forms.ADDRESS_INDEX_FORMS:
                raise _version_5()
            elif attribute == DW_AT_HIGH_PC and low is not None:
                self._move_size(form, start, end, low)
            elif attribute == DW_AT_RANGES and self._is_offset(form, unit):
                if unit.encoding.version >= 5:
                    raise _version_5()
                self._move_list(_RANGES, copy.number(_INFO, start, end - start), unit, base)
            elif attribute in _LOCATIONS and self._is_offset(form, unit):
                if unit.encoding.version >= 5:
                    raise _version_5()
                self._move_list(_LOC, copy.number(_INFO, start, end - start), unit, base)

    def _is_offset(self, form: int, unit: Header) -> bool:
        """Return whether a form of a location or ranges is the offset of a list; before version 4 plain numbers are."""
        if form in (_LOCLISTX, _RNGLISTX):
            raise _version_5()
        return form == _SEC_OFFSET or (unit.encoding.version < 4 and form in (0x06, 0x07))

    def _move_size(self, form: int, start: int, end: int, low: int) -> None:
        copy, moves = self._copy, self._copy.moves
        if form in _FIXED_SIZES:
            size = copy.number(_INFO, start, end - start)
            copy.store(_INFO, start, end - start, moves.boundary(low + size) - moves.boundary(low))
        elif form == _UDATA:
            size = moves.boundary(low + read_unsigned(self._info, start)[0]) - moves.boundary(low)
            count = end - start
            if size >> 7 * count:
                raise malformed(f"{size:#x} does not fit into the {count} bytes that the file has for it", _INFO, start)
            padded = [size >> 7 * number & 0x7F | 0x80 for number in range(count)]
            padded[-1] &= 0x7F
            copy.contents[_INFO][start:end] = bytes(padded)

    def _move_list(self, name: str, position: int, unit: Header, base: int) -> None:
        """Move a list of .debug_loc or .debug_ranges: pairs of addresses, the former with an expression behind each."""
        copy, moves, size = self._copy, self._copy.moves, unit.encoding.address_size
        if name not in copy:
            raise malformed("an entry refers to a list, but the file has no such section", name)
        largest = (1 << 8 * size) - 1
        while (name, position) not in self._moved:
            self._moved.add((name, position))
            begin, end = copy.number(name, position, size), copy.number(name, position + size, size)
            has_relocation = copy.is_relocated(name, position) or copy.is_relocated(name, position + size)
            if begin == end == 0 and not has_relocation:
                return
            if begin == largest:
                base = end
                copy.store(name, position + size, size, moves.boundary(end))
                position += 2 * size
                continue
            # A relocated pair holds addresses of its own, others count from the base.
            start = 0 if has_relocation else base
            for at, value in ((position, begin), (position + size, end)):
                copy.store(name, at, size, moves.boundary(start + value) - moves.boundary(start))
            position += 2 * size
            if name == _LOC:
                position += 2 + copy.number(name, position, 2)


def _version_5() -> UnsupportedError:
    return UnsupportedError(
        "the debug data has lists of DWARF 5, whose addresses kernlens does not move; build with DWARF 4, the"
        " compiler's default, or without -g"
    )
