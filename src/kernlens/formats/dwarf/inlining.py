"""Inlined calls of one compile unit.

Source: DWARF version 5, section 3.3.8 "Inlinable and Inlined Subroutines". The unit's entries are read in file order, each
once: DW_AT_sibling, which may lead anywhere in a damaged file, is not followed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from operator import attrgetter

from kernlens.errors import FormatError
from kernlens.formats.dwarf import units
from kernlens.formats.dwarf.entry_lists import RangeLists
from kernlens.formats.dwarf.forms import DW_FORM_REF_ADDR, malformed
from kernlens.formats.dwarf.strings import DebugStrings
from kernlens.formats.dwarf.units import Attributes, UnitReader, number_of
from kernlens.model.line_table import DebugFunction, InlinedCall

_INFO = ".debug_info"
#: Ranges of inlined calls that one unit, and all units of a file, may have: a kernel of several megabytes has some thousand.
_MOST_OF_UNIT = 100_000
_MOST_OF_FILE = 1_000_000
#: Where a call stands.
_PLACE = (units.DW_AT_CALL_FILE, units.DW_AT_CALL_LINE, units.DW_AT_CALL_COLUMN)


class InlinedCalls:
    """The reader of the inlined calls of a file's units, which share the file's range lists."""

    def __init__(self, reader: UnitReader, ranges: RangeLists) -> None:
        self._reader = reader
        self._ranges = ranges
        self._left = _MOST_OF_FILE

    def of_unit(self, offset: int, strings: DebugStrings) -> tuple[InlinedCall, ...]:
        """Read the inlined calls of the unit at ``offset`` of .debug_info that have code, outer ones before inner ones.
        Calls of which no code is left are left out. Raises FormatError."""
        if self._reader.is_empty:
            return ()
        try:
            calls = _UnitCalls(self._reader, self._ranges, offset, strings).read()
        except (IndexError, struct.error):
            raise _cut(offset) from None
        self._left -= len(calls)
        if self._left < 0:
            raise malformed(f"its units have more than {_MOST_OF_FILE:,} inlined calls", _INFO, offset)
        return calls

    def functions(self, offset: int, strings: DebugStrings) -> tuple[DebugFunction, ...]:
        """Read the functions of the unit at ``offset`` of .debug_info that have code, in file order. Raises FormatError."""
        if self._reader.is_empty:
            return ()
        try:
            return _UnitCalls(self._reader, self._ranges, offset, strings).functions()
        except (IndexError, struct.error):
            raise _cut(offset) from None


def _cut(offset: int) -> FormatError:
    return malformed("the unit's entries are damaged: one reaches beyond the end", _INFO, offset)


class _UnitCalls:
    """The collector of the inlined calls of one unit."""

    def __init__(self, reader: UnitReader, ranges: RangeLists, offset: int, strings: DebugStrings) -> None:
        self._reader = reader
        self._lists = ranges
        self._strings = strings
        self._header = reader.header(offset)
        _abbreviation, self._unit, self._first = reader.entry(self._header, self._header.entries)
        # As it is: of a linked file's unit whose code lies in pieces it is 0, where no code is.
        #: Subprogram -> its attributes, as far as they lead to its name.
        self._subprograms: dict[int, Attributes] = {}
        self._names: dict[int, str] = {}

    def read(self) -> tuple[InlinedCall, ...]:
        ranges: list[tuple[int, Attributes, int, tuple[tuple[int, int], ...]]] = []
        count = 0
        for position, tag, attributes, depth in self._entries():
            if tag == units.DW_TAG_SUBPROGRAM:
                self._subprograms[position] = attributes
            elif tag == units.DW_TAG_INLINED_SUBROUTINE:
                code = self._lists.code(self._reader, self._header, self._unit, attributes)
                ranges.append((self._reference(attributes, units.DW_AT_ABSTRACT_ORIGIN), attributes, depth, code))
                count += len(code)
                if count > _MOST_OF_UNIT:
                    raise malformed(f"a unit has more than {_MOST_OF_UNIT:,} inlined calls", _INFO, position)
        calls: list[InlinedCall] = []
        for origin, attributes, depth, code in ranges:
            if code:  # The scheduler leaves six ranges of a call.
                name = self._name(origin)
                file, line, column = (number_of(attributes, attribute) or 0 for attribute in _PLACE)
                calls += [InlinedCall(name, low, high, file, line, column, depth) for low, high in code]
        return tuple(sorted(calls, key=attrgetter("depth", "low")))

    def functions(self) -> tuple[DebugFunction, ...]:
        low_of: dict[int, int] = {}
        for position, tag, attributes, _depth in self._entries():
            if tag == units.DW_TAG_SUBPROGRAM:
                self._subprograms[position] = attributes
                low = self._reader.address(self._header, self._unit, attributes)
                if low is not None:
                    low_of[position] = low
        return tuple(DebugFunction(self._name(position), low) for position, low in low_of.items())

    def _entries(self) -> Iterator[tuple[int, int, Attributes, int]]:
        """Yield the unit's entries in file order: place, tag, attributes, and the number of inlined calls around it."""
        # For each open entry, the number of inlined calls around what is in it.
        depths = [0]
        for position, abbreviation, attributes in self._reader.entries(self._header, self._first):
            if abbreviation is None:
                depths.pop()
                continue
            yield position, abbreviation.tag, attributes, depths[-1]
            if abbreviation.has_children:
                depths.append(depths[-1] + (abbreviation.tag == units.DW_TAG_INLINED_SUBROUTINE))

    def _name(self, entry: int) -> str:
        """Return the name of the subprogram at ``entry``, or of the one that it is an instance of."""
        name = self._names.get(entry)
        if name is None:
            name = self._names[entry] = self._found_name(entry)
        return name

    def _found_name(self, entry: int) -> str:
        for _ in range(4):
            attributes = self._subprograms.get(entry, {})
            if units.DW_AT_NAME in attributes:
                return self._strings.text(attributes[units.DW_AT_NAME])
            leads = (
                units.DW_AT_SPECIFICATION if units.DW_AT_SPECIFICATION in attributes else units.DW_AT_ABSTRACT_ORIGIN
            )
            entry = self._reference(attributes, leads)
        return ""

    def _reference(self, attributes: Attributes, attribute: int) -> int:
        """Return the offset in .debug_info that a reference points to, -1 if it is absent."""
        form, value = attributes.get(attribute, (0, None))
        if not isinstance(value, int):
            return -1
        return value if form == DW_FORM_REF_ADDR else self._header.start + value
