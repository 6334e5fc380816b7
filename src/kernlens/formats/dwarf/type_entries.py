"""Types of variables: their names, as the source has them, their sizes and their elements.

Source: DWARF version 5, chapter 5 "Type Entries"; ``DW_AT_GNU_vector`` is what compilers mark OpenCL's vectors with.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from kernlens.errors import FormatError
from kernlens.formats.dwarf import units
from kernlens.formats.dwarf.forms import DW_FORM_REF_ADDR
from kernlens.formats.dwarf.strings import DebugStrings
from kernlens.formats.dwarf.units import Attributes, Header, UnitReader, number_of

_ARRAY, _POINTER, _REFERENCE, _SUBRANGE, _RVALUE = 0x01, 0x0F, 0x10, 0x21, 0x42
_TYPEDEF, _CONST, _VOLATILE, _RESTRICT, _ATOMIC = 0x16, 0x26, 0x35, 0x37, 0x47
_QUALIFIERS = {_CONST: "const ", _VOLATILE: "volatile ", _RESTRICT: "", _ATOMIC: "_Atomic "}
_MARKS = {_POINTER: "*", _REFERENCE: "&", _RVALUE: "&&"}
_UNNAMED = {0x04: "enum", 0x13: "struct", 0x17: "union"}
#: A type that leads through more others is damage.
_DEEPEST = 12
_LONGEST_NAME = 200
_MOST_ELEMENTS = 1 << 20


class TypeEntry(NamedTuple):
    """A type: ``size`` in bytes, None if it is not known. A vector or an array has ``elements`` of ``element_size``."""

    name: str | None
    size: int | None = None
    elements: int = 1
    element_size: int | None = None


_UNKNOWN = TypeEntry(None)


class TypeEntries:
    """The types of one unit, each read once."""

    def __init__(self, reader: UnitReader, header: Header, strings: DebugStrings) -> None:
        self._reader = reader
        self._header = header
        self._strings = strings
        self._known: dict[int, TypeEntry] = {}

    def of(self, attributes: Attributes) -> TypeEntry:
        """Return the type that an entry's DW_AT_type leads to; nothing of it is known where the entries are damaged."""
        try:
            return self._of(attributes, 0)
        except (IndexError, struct.error, FormatError):
            return _UNKNOWN

    def _of(self, attributes: Attributes, depth: int) -> TypeEntry:
        form, value = attributes.get(units.DW_AT_TYPE, (0, None))
        if not isinstance(value, int):
            return TypeEntry("void")
        offset = value if form == DW_FORM_REF_ADDR else self._header.start + value
        if depth > _DEEPEST or not self._header.entries <= offset < self._header.end:
            return _UNKNOWN
        known = self._known.get(offset)
        if known is None:
            known = self._read(offset, depth)
            if depth == 0 or known.name is not None:
                self._known[offset] = known
        return known

    def _read(self, offset: int, depth: int) -> TypeEntry:
        abbreviation, attributes, behind = self._reader.entry(self._header, offset)
        if abbreviation is None:
            return _UNKNOWN
        tag = abbreviation.tag
        name = self._strings.text(attributes.get(units.DW_AT_NAME))[:_LONGEST_NAME] or None
        size = number_of(attributes, units.DW_AT_BYTE_SIZE)
        if tag in _QUALIFIERS:
            inner = self._of(attributes, depth + 1)
            qualifier = _QUALIFIERS[tag]
            if inner.name and inner.name.endswith(("*", "&")):
                return inner._replace(name=_joined("", inner.name, f" {qualifier}".rstrip()))
            return inner._replace(name=_joined(qualifier, inner.name))
        if tag in _MARKS:
            inner = self._of(attributes, depth + 1)
            return TypeEntry(_joined("", inner.name, _MARKS[tag]), size or self._header.encoding.address_size)
        if tag == _TYPEDEF:
            return self._of(attributes, depth + 1)._replace(name=name)
        if tag == _ARRAY:
            inner = self._of(attributes, depth + 1)
            count = self._count(behind) if abbreviation.has_children else None
            if count is None or inner.size is None:
                return TypeEntry(_joined("", inner.name, "[]"), size)
            return TypeEntry(_joined("", inner.name, f"[{count}]"), size or count * inner.size, count, inner.size)
        return TypeEntry(name or _UNNAMED.get(tag), size)

    def _count(self, position: int) -> int | None:
        """Return the number of elements of the array whose entry ends at ``position``, of all of its dimensions."""
        count = 1
        for _ in range(4):
            abbreviation, attributes, position = self._reader.entry(self._header, position)
            if abbreviation is None or abbreviation.tag != _SUBRANGE:
                break
            stated = number_of(attributes, units.DW_AT_COUNT)
            if stated is None:
                highest = number_of(attributes, units.DW_AT_UPPER_BOUND)
                stated = None if highest is None else highest + 1
            if stated is None or not 0 < stated <= _MOST_ELEMENTS:
                return None
            count *= stated
        return count if count <= _MOST_ELEMENTS else None


def _joined(before: str, name: str | None, behind: str = "") -> str | None:
    return f"{before}{name}{behind}"[:_LONGEST_NAME] if name else None
