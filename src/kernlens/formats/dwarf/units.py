"""The compile units of .debug_info: where the line program of each starts, and which addresses it has.

Only what a line table needs is read: the unit's own attributes. ``inlining`` reads the unit's other entries with the same
reader.

Source: DWARF version 5 (and 4), sections 7.5.1 "Unit Headers", 7.5.3 "Abbreviations Tables", 3.1.1, 3.3.1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from kernlens.dataclass import NamedTuple
from kernlens.formats.dwarf import forms
from kernlens.formats.dwarf.forms import Encoding, malformed, read_form, read_initial_length, read_signed, read_unsigned
from kernlens.formats.dwarf.relocation import DebugSections
from kernlens.formats.dwarf.strings import DebugStrings

DW_TAG_FORMAL_PARAMETER = 0x05
DW_TAG_LEXICAL_BLOCK = 0x0B
DW_TAG_INLINED_SUBROUTINE = 0x1D
DW_TAG_SUBPROGRAM = 0x2E
DW_TAG_VARIABLE = 0x34
DW_AT_LOCATION = 0x02
DW_AT_NAME = 0x03
DW_AT_BYTE_SIZE = 0x0B
DW_AT_STMT_LIST = 0x10
DW_AT_LOW_PC = 0x11
DW_AT_HIGH_PC = 0x12
DW_AT_COMP_DIR = 0x1B
DW_AT_CONST_VALUE = 0x1C
DW_AT_UPPER_BOUND = 0x2F
DW_AT_ABSTRACT_ORIGIN = 0x31
DW_AT_COUNT = 0x37
DW_AT_DECL_FILE = 0x3A
DW_AT_DECL_LINE = 0x3B
DW_AT_SPECIFICATION = 0x47
DW_AT_TYPE = 0x49
DW_AT_RANGES = 0x55
DW_AT_CALL_COLUMN = 0x57
DW_AT_CALL_FILE = 0x58
DW_AT_CALL_LINE = 0x59
DW_AT_STR_OFFSETS_BASE = 0x72
DW_AT_ADDR_BASE = 0x73
DW_AT_RNGLISTS_BASE = 0x74
DW_AT_LOCLISTS_BASE = 0x8C
#: Intel's: the number of lanes that one thread runs.
DW_AT_INTEL_SIMD_WIDTH = 0x2400
#: The attributes that are read; the values of others are passed over.
_READ = frozenset(number for name, number in list(globals().items()) if name.startswith("DW_AT_"))

DW_UT_COMPILE = 1
DW_UT_TYPE = 2
DW_UT_SPLIT_TYPE = 6

#: Entries that all units of a file may have, which they share by their sizes, and for how many bytes one more: those of
#: honest units have eight to twelve.
_FREE_ENTRIES = 100_000
_BYTES_PER_ENTRY = 4
#: No compiler inlines deeper; entries nested deeper than this are damage.
_DEEPEST = 512

_INFO = ".debug_info"
_ABBREV = ".debug_abbrev"
_UNIT_TYPES_WITH_ID = {4: 8, 5: 8}  # skeleton, split compile: u64 id
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
#: What follows a unit's length, by the size of offsets: of version 5, and of versions 2 to 4.
_LAYOUTS_5 = {4: struct.Struct("<HBBI"), 8: struct.Struct("<HBBQ")}
_LAYOUTS_4 = {4: struct.Struct("<HIB"), 8: struct.Struct("<HQB")}

#: An attribute, its form.
_Specification = tuple[int, int]
#: Attribute -> (form, unresolved value).
Attributes = dict[int, tuple[int, int | str | bytes]]


class Unit(NamedTuple):
    """One compile unit. ``name`` is that of its source (DW_AT_name), ``directory`` its DW_AT_comp_dir. ``offset`` is that of
    its header in .debug_info, ``line_program`` that of its line program in .debug_line (None if it has none). ``low`` is the
    address of its code and ``size`` the bytes of it, None where the unit does not say."""

    offset: int
    line_program: int | None
    directory: str
    strings: DebugStrings
    name: str = ""
    low: int | None = None
    size: int | None = None


class _UnitHeader5(NamedTuple):
    """The header of a unit of version 5 (section 7.5.1) behind its length."""

    version: int
    unit_type: int
    address_size: int
    debug_abbrev_offset: int


class _UnitHeader4(NamedTuple):
    """The same of versions 2 to 4."""

    version: int
    debug_abbrev_offset: int
    address_size: int


class Header(NamedTuple):
    """A unit's header, with offsets in .debug_info: where the unit starts, where it ends, where its entries begin."""

    start: int
    end: int
    entries: int
    unit_type: int
    debug_abbrev_offset: int
    encoding: Encoding


class Abbreviation(NamedTuple):
    """The common part of entries of one code. ``specifications`` are those of the attributes that take bytes in each
    entry, ``constants`` the values that stand in the abbreviation itself: an entry of one byte may have thousands of
    these, and costs no more for it."""

    tag: int
    has_children: bool
    specifications: tuple[_Specification, ...]
    constants: Attributes


class _Abbreviations:
    """The reader of the abbreviation tables of .debug_abbrev, each once and no further than the codes that are asked for."""

    def __init__(self, table: bytes) -> None:
        self._table = table
        self._known: dict[int, dict[int, Abbreviation]] = {}
        self._next: dict[int, int] = {}
        # Tables may share bytes; without a bound, overlapping ones would make reading quadratic.
        self._allowance = 16 * len(table) + 4096

    def find(self, table: int, code: int) -> Abbreviation:
        codes = self._known.setdefault(table, {})
        while code not in codes:
            position = self._next.get(table, table)
            number, after = read_unsigned(self._table, position)
            if number == 0:
                raise malformed(f"abbreviation {code} is not in the table at {table:#x}", _ABBREV, position)
            abbreviation, end = self._read(after)
            codes.setdefault(number, abbreviation)
            self._next[table] = end
            self._allowance -= end - position
            if self._allowance < 0:
                raise malformed("abbreviation tables overlap", _ABBREV, position)
        return codes[code]

    def _read(self, position: int) -> tuple[Abbreviation, int]:
        buffer = self._table
        tag, position = read_unsigned(buffer, position)
        has_children = buffer[position] != 0
        position += 1
        specifications: list[_Specification] = []
        constants: Attributes = {}
        while True:
            attribute, position = read_unsigned(buffer, position)
            form, position = read_unsigned(buffer, position)
            constant = 0
            if form == forms.DW_FORM_IMPLICIT_CONST:
                constant, position = read_signed(buffer, position)
            if attribute == 0 and form == 0:
                return Abbreviation(tag, has_children, tuple(specifications), constants), position
            if form not in (forms.DW_FORM_IMPLICIT_CONST, forms.DW_FORM_FLAG_PRESENT):
                specifications.append((attribute, form))
            elif attribute in _READ:
                constants[attribute] = form, constant


class UnitReader:
    """The reader of the units of one file's .debug_info. Raises FormatError if they are damaged."""

    def __init__(self, sections: DebugSections) -> None:
        self._sections = sections
        self._info = sections[_INFO]
        self._abbreviations = _Abbreviations(sections[_ABBREV])

    def units(self) -> Iterator[Unit]:
        """Yield the compile units in file order; type units are passed over."""
        position = 0
        while position < len(self._info):
            try:
                header = self.header(position)
                if header.unit_type not in (DW_UT_TYPE, DW_UT_SPLIT_TYPE) and header.entries < header.end:
                    yield self._unit(header)
            except (IndexError, struct.error):
                raise malformed("the unit ends within an entry", _INFO, position) from None
            position = header.end

    def entries(self, header: Header, position: int) -> Iterator[tuple[int, Abbreviation | None, Attributes]]:
        """Yield a unit's entries from ``position`` on, in file order: place, abbreviation and attributes. Where the entries
        within one end there is no abbreviation. Raises FormatError if they have next to no content, which costs far more than
        the unit's size tells, and if they are nested too deep."""
        depth, size = 1, header.end - header.start
        most = _FREE_ENTRIES * size // len(self._info) + size // _BYTES_PER_ENTRY
        while position < header.end and depth:
            most -= 1
            if most < 0:
                raise malformed(
                    f"the unit's entries have fewer than {_BYTES_PER_ENTRY} bytes on average", _INFO, position
                )
            start = position
            abbreviation, attributes, position = self.entry(header, start)
            yield start, abbreviation, attributes
            if abbreviation is None:
                depth -= 1
            elif abbreviation.has_children:
                depth += 1
                if depth > _DEEPEST:
                    raise malformed(f"entries are nested deeper than {_DEEPEST}", _INFO, start)

    @property
    def is_empty(self) -> bool:
        """True if there is no .debug_info."""
        return not self._info

    def header(self, offset: int) -> Header:
        """Read the header of the unit at ``offset`` of .debug_info. Raises struct.error at the section's end."""
        info = self._info
        unit_length, offset_size, start = read_initial_length(info, offset)
        end = start + unit_length
        if end > len(info):
            raise malformed(f"a unit of {unit_length} bytes reaches beyond the section's end", _INFO, offset)
        version = info[start] | info[start + 1] << 8
        if not 2 <= version <= 5:
            raise malformed(f"unit version {version} is unknown (2 to 5 are read)", _INFO, offset)
        unit_type = DW_UT_COMPILE
        header: _UnitHeader5 | _UnitHeader4
        if version >= 5:
            layout = _LAYOUTS_5[offset_size]
            header = _UnitHeader5._make(layout.unpack_from(info, start))
            unit_type = header.unit_type
        else:
            layout = _LAYOUTS_4[offset_size]
            header = _UnitHeader4._make(layout.unpack_from(info, start))
        if header.address_size not in (4, 8):
            raise malformed(f"addresses of {header.address_size} bytes", _INFO, offset)
        return Header(
            start=offset,
            end=end,
            entries=start + layout.size + _UNIT_TYPES_WITH_ID.get(unit_type, 0),
            unit_type=unit_type,
            debug_abbrev_offset=header.debug_abbrev_offset,
            encoding=Encoding(header.address_size, offset_size, version),
        )

    def _unit(self, header: Header) -> Unit:
        _abbreviation, attributes, _position = self.entry(header, header.entries)
        strings = DebugStrings(
            self._sections, header.encoding.offset_size, number_of(attributes, DW_AT_STR_OFFSETS_BASE)
        )
        low = self.raw_address(header, attributes, attributes, DW_AT_LOW_PC)
        # DW_AT_high_pc is an address or, as a constant, a size.
        high = self.raw_address(header, attributes, attributes, DW_AT_HIGH_PC)
        size = number_of(attributes, DW_AT_HIGH_PC) if high is None else high - (low or 0)
        return Unit(
            offset=header.start,
            line_program=number_of(attributes, DW_AT_STMT_LIST),
            directory=strings.text(attributes.get(DW_AT_COMP_DIR)),
            strings=strings,
            name=strings.text(attributes.get(DW_AT_NAME)),
            low=low,
            size=size,
        )

    def entry(self, header: Header, position: int) -> tuple[Abbreviation | None, Attributes, int]:
        """Read the entry at ``position``: its abbreviation, None for the end of a list of entries; those of its
        attributes that are of use; and the position after it. Raises IndexError or struct.error at the section's end."""
        info = self._info
        start = position
        code, position = read_unsigned(info, position)
        if code == 0:
            return None, {}, position
        abbreviation = self._abbreviations.find(header.debug_abbrev_offset, code)
        attributes = abbreviation.constants.copy()
        for attribute, form in abbreviation.specifications:
            if form == forms.DW_FORM_INDIRECT:
                form, position = read_unsigned(info, position)
            value, position = read_form(info, position, form, header.encoding, _INFO)
            if attribute in _READ:
                attributes[attribute] = form, value
        if position > header.end:
            raise malformed("an entry reaches beyond its unit's end", _INFO, start)
        return abbreviation, attributes, position

    def address(
        self, header: Header, unit: Attributes, attributes: Attributes, attribute: int = DW_AT_LOW_PC
    ) -> int | None:
        """Return an address (DW_AT_low_pc) as an offset in the kernel, None if it is absent or no address."""
        value = self.raw_address(header, unit, attributes, attribute)
        return None if value is None else self._sections.code_offset(value)

    def raw_address(
        self, header: Header, unit: Attributes, attributes: Attributes, attribute: int = DW_AT_LOW_PC
    ) -> int | None:
        """Return an address as the file has it, None if it is absent or no address."""
        form, value = attributes.get(attribute, (0, None))
        if not isinstance(value, int):
            return None
        if form in forms.ADDRESS_INDEX_FORMS:
            return self.indexed_address(header, unit, value)
        return value if form == forms.DW_FORM_ADDR else None

    def indexed_address(self, header: Header, unit: Attributes, index: int) -> int:
        """Return address ``index`` of the unit's part of .debug_addr."""
        size = header.encoding.address_size
        number = _U64 if size == 8 else _U32
        table = self._sections[".debug_addr"]
        offset = (number_of(unit, DW_AT_ADDR_BASE) or 0) + index * size
        if offset + size > len(table):
            raise malformed(f"address {index} lies outside the section", ".debug_addr", offset)
        address: int = number.unpack_from(table, offset)[0]
        return address


def number_of(attributes: Attributes, attribute: int) -> int | None:
    """Return an attribute's number, None if it is absent or no number."""
    entry = attributes.get(attribute)
    return entry[1] if entry is not None and isinstance(entry[1], int) else None
