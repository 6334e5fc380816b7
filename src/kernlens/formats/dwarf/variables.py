"""The variables and arguments of one compile unit, with the places that location lists state.

Source: DWARF version 5, sections 4.1 "Data Object Entries", 3.3.8.2 "Concrete Instances" and 3.5 "Lexical Block Entries"; the
attribute of the number of lanes is Intel's (``DIE.hpp`` of intel-graphics-compiler).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kernlens.formats.dwarf import forms, units
from kernlens.formats.dwarf.entry_lists import EVERYWHERE, LocationEntry, LocationLists, RangeLists
from kernlens.formats.dwarf.expressions import Evaluated, evaluate
from kernlens.formats.dwarf.forms import malformed
from kernlens.formats.dwarf.strings import DebugStrings
from kernlens.formats.dwarf.type_entries import TypeEntries, TypeEntry
from kernlens.formats.dwarf.units import Attributes, UnitReader, number_of
from kernlens.model.variable import CONSTANT, NOWHERE, REGISTER, Location, Pieces, Place, Variable

_INFO = ".debug_info"
_MOST_OF_UNIT = 100_000
_MOST_LANES = 32
_LANE = 0xED
_BLOCKS = frozenset((0x03, 0x04, 0x09, 0x0A, forms.DW_FORM_DATA16, 0x18))

NO_PLACE = "the compiler states no place for it"
_EMPTY_LIST = "the compiler's list of its places is empty"

_Ranges = tuple[tuple[int, int], ...]


class _Scope(NamedTuple):
    """The surroundings of an entry: the code in which it is visible, its function, and the calls that that was inlined through.
    ``is_abstract``: it describes a function that has no code of its own here."""

    ranges: _Ranges
    function: str
    calls: tuple[tuple[int, int], ...]
    lanes: int
    is_abstract: bool


class Variables:
    """The reader of the variables of a file's units, which share the file's lists."""

    def __init__(self, reader: UnitReader, ranges: RangeLists, locations: LocationLists) -> None:
        self._reader = reader
        self._ranges = ranges
        self._locations = locations

    def of_unit(self, offset: int, strings: DebugStrings) -> tuple[Variable, ...]:
        """Read the variables of the unit at ``offset`` of .debug_info, in the order of its entries. Raises FormatError."""
        if self._reader.is_empty:
            return ()
        try:
            return tuple(_UnitVariables(self._reader, self._ranges, self._locations, offset, strings).read())
        except (IndexError, struct.error):
            raise malformed("the unit's entries are damaged: one reaches beyond the end", _INFO, offset) from None


class _UnitVariables:
    """The collector of the variables of one unit."""

    def __init__(
        self, reader: UnitReader, ranges: RangeLists, locations: LocationLists, offset: int, strings: DebugStrings
    ) -> None:
        self._reader = reader
        self._range_lists = ranges
        self._location_lists = locations
        self._strings = strings
        self._header = reader.header(offset)
        _abbreviation, self._unit, self._first = reader.entry(self._header, self._header.entries)
        self._base = reader.raw_address(self._header, self._unit, self._unit) or 0
        self._types = TypeEntries(reader, self._header, strings)
        self._origins: dict[int, Attributes] = {}
        #: Expression, lanes, elements -> the pieces of each lane: many entries repeat an expression.
        self._evaluated: dict[tuple[bytes, int, int], tuple[Pieces, ...]] = {}

    def read(self) -> list[Variable]:
        variables: list[Variable] = []
        lanes = _lanes(self._unit, 1)
        scopes = [_Scope((), "", (), lanes, True)]
        for position, abbreviation, attributes in self._reader.entries(self._header, self._first):
            if abbreviation is None:
                scopes.pop()
                continue
            tag, scope = abbreviation.tag, scopes[-1]
            if tag in (units.DW_TAG_VARIABLE, units.DW_TAG_FORMAL_PARAMETER) and not scope.is_abstract:
                variables.append(self._variable(tag == units.DW_TAG_FORMAL_PARAMETER, attributes, scope))
                if len(variables) > _MOST_OF_UNIT:
                    raise malformed(f"a unit has more than {_MOST_OF_UNIT:,} variables", _INFO, position)
            if abbreviation.has_children:
                scopes.append(self._within(tag, attributes, scope))
        return variables

    def _within(self, tag: int, attributes: Attributes, scope: _Scope) -> _Scope:
        """Return what surrounds the entries in this one."""
        if tag == units.DW_TAG_SUBPROGRAM:
            ranges = self._range_lists.code(self._reader, self._header, self._unit, attributes)
            # Compilers that lose a function's end give it no size.
            has_code = bool(ranges) or self._reader.address(self._header, self._unit, attributes) is not None
            return _Scope((), self._name(attributes), (), _lanes(attributes, scope.lanes), not has_code)
        if tag == units.DW_TAG_INLINED_SUBROUTINE:
            call = number_of(attributes, units.DW_AT_CALL_FILE) or 0, number_of(attributes, units.DW_AT_CALL_LINE) or 0
            return scope._replace(
                ranges=self._range_lists.code(self._reader, self._header, self._unit, attributes),
                function=self._name(attributes),
                calls=(*scope.calls, call),
            )
        if tag == units.DW_TAG_LEXICAL_BLOCK:
            return scope._replace(
                ranges=self._range_lists.code(self._reader, self._header, self._unit, attributes) or scope.ranges
            )
        return scope._replace(is_abstract=True)

    def _variable(self, is_argument: bool, attributes: Attributes, scope: _Scope) -> Variable:
        origin = self._origin(attributes)
        type_of = self._types.of(attributes if units.DW_AT_TYPE in attributes else origin)
        locations, reason = self._locations_of(attributes, type_of, scope.lanes)
        return Variable(
            name=self._strings.text(attributes.get(units.DW_AT_NAME) or origin.get(units.DW_AT_NAME)),
            type_name=type_of.name,
            size=type_of.size,
            is_argument=is_argument,
            function=scope.function,
            calls=scope.calls,
            file=_either(attributes, origin, units.DW_AT_DECL_FILE),
            line=_either(attributes, origin, units.DW_AT_DECL_LINE),
            scope=scope.ranges,
            locations=locations,
            reason=reason,
        )

    def _locations_of(
        self, attributes: Attributes, type_of: TypeEntry, lanes: int
    ) -> tuple[tuple[Location, ...], str | None]:
        """Return the locations that an entry states, or why it has none."""
        form, value = attributes.get(units.DW_AT_LOCATION, (0, None))
        if isinstance(value, bytes):
            entries = [LocationEntry(*EVERYWHERE, value)] if form in _BLOCKS and value else []
        elif isinstance(value, int):
            address_at = partial(self._reader.indexed_address, self._header, self._unit)
            lists_base = number_of(self._unit, units.DW_AT_LOCLISTS_BASE)
            entries = self._location_lists.read(form, value, self._header.encoding, lists_base, self._base, address_at)
        else:
            constant = attributes.get(units.DW_AT_CONST_VALUE)
            if constant is None:
                return (), NO_PLACE
            pieces = (_constant(constant[1], type_of.size),)
            return (Location(*EVERYWHERE, lambda: (pieces,)),), None
        if not entries:
            return (), _EMPTY_LIST
        return tuple(Location(entry.low, entry.high, self._finder(entry, type_of, lanes)) for entry in entries), None

    def _finder(self, entry: LocationEntry, type_of: TypeEntry, lanes: int) -> Callable[[], tuple[Pieces, ...]]:
        elements = type_of.elements if type_of.element_size else 1
        bits = 8 * (type_of.element_size or type_of.size or 0)

        def find() -> tuple[Pieces, ...]:
            key = entry.expression, elements, bits
            known = self._evaluated.get(key)
            if known is None:
                known = self._evaluated[key] = pieces_of_lanes(entry.expression, lanes, elements, bits)
            return known

        return find

    def _name(self, attributes: Attributes) -> str:
        """Return the name of a function's entry, or of the one that it is an instance of."""
        for _ in range(4):
            if units.DW_AT_NAME in attributes:
                return self._strings.text(attributes[units.DW_AT_NAME])
            attributes = self._origin(attributes)
        return ""

    def _origin(self, attributes: Attributes) -> Attributes:
        """Return the attributes of the entry that this one is an instance of, or specifies; none if there is none."""
        for attribute in (units.DW_AT_ABSTRACT_ORIGIN, units.DW_AT_SPECIFICATION):
            form, value = attributes.get(attribute, (0, None))
            if isinstance(value, int):
                offset = value if form == forms.DW_FORM_REF_ADDR else self._header.start + value
                if not self._header.entries <= offset < self._header.end:
                    return {}
                if offset not in self._origins:
                    self._origins[offset] = self._reader.entry(self._header, offset)[1]
                return self._origins[offset]
        return {}


def _either(attributes: Attributes, origin: Attributes, attribute: int) -> int:
    stated = number_of(attributes, attribute)
    return (number_of(origin, attribute) or 0) if stated is None else stated


def _lanes(attributes: Attributes, otherwise: int) -> int:
    stated = number_of(attributes, units.DW_AT_INTEL_SIMD_WIDTH)
    return stated if stated is not None and 0 < stated <= _MOST_LANES else otherwise


def _constant(value: int | str | bytes, size: int | None) -> Place:
    if isinstance(value, int):
        value = (value & (1 << 64) - 1).to_bytes(8, "little")
    content = value.encode() if isinstance(value, str) else value
    content = content[:size] if size else content
    return Place(CONSTANT, 8 * len(content), value=content)


def pieces_of_lanes(expression: bytes, lanes: int, elements: int, bits: int) -> tuple[Pieces, ...]:
    """Return the pieces of each lane, of all together where the expression does not ask for the lane. The variable has so many
    ``elements`` of so many ``bits``, 0 if that is not known."""
    if _LANE not in expression:
        lanes = 1
    results = [evaluate(expression, lane) for lane in range(lanes)]
    if elements > 1 and bits and all(len(result.values) == elements for result in results):
        return _vectors(results, elements, bits)
    size = elements * bits or None
    found_pieces = tuple(_sized(result.pieces or result.values[-1:], size) for result in results)
    return found_pieces[:1] if len(set(found_pieces)) == 1 else found_pieces


def _sized(pieces: Pieces, bits: int | None) -> Pieces:
    """Return the pieces of a variable of so many bits. A single constant is cut to these, and a place that has no size takes
    its size."""
    if any(piece.kind == REGISTER and piece.bits == 0 for piece in pieces):
        return (
            Place(NOWHERE, bits, text="the compiler's expression states a size of 0 bits, which does not fit its byte"),
        )
    if len(pieces) != 1 or bits is None:
        return pieces
    (piece,) = pieces
    if piece.kind == CONSTANT and len(piece.value) > bits // 8:
        return (piece._replace(bits=bits, value=piece.value[: bits // 8]),)
    return (piece._replace(bits=bits),) if piece.bits is None else pieces


def _vectors(results: list[Evaluated], elements: int, bits: int) -> tuple[Pieces, ...]:
    """Return the pieces of a vector whose expression leaves a value for each element on the stack, and no piece.

    Intel's compiler writes these as if each lane's vector lay in one piece, and each element had the vector's size (0 where
    that does not fit into a byte). Of that only the first register is right: its code keeps the first elements of all lanes
    there, then all the second ones. A half of the lanes that the expression branches to has registers of its own.
    """
    pieces: list[Pieces] = []
    first_of: dict[int, int] = {}
    width_of: dict[int, int] = {}
    for lane, result in enumerate(results):
        first_of.setdefault(result.branches, lane)
        width_of[result.branches] = width_of.get(result.branches, 0) + 1
    for lane, result in enumerate(results):
        first = first_of[result.branches]
        base = results[first].values[0]
        if base.kind != REGISTER:
            return tuple(result.values[-1:] for result in results)
        start = base.bit + (lane - first) * bits
        step = width_of[result.branches] * bits
        pieces.append(tuple(base._replace(bits=bits, bit=start + number * step) for number in range(elements)))
    return tuple(pieces)
