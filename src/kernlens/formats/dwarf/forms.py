"""The encodings that DWARF's sections share: LEB128 numbers, strings, and attribute values by form.

Source: DWARF Debugging Information Format, version 5, section 7.5.6 "Form Encodings" and 7.6 "Variable Length Data";
version 4 uses a part of the same forms.
"""

from __future__ import annotations

import struct

from kernlens.dataclass import NamedTuple
from kernlens.errors import FormatError

DW_FORM_ADDR = 0x01
DW_FORM_STRING = 0x08
DW_FORM_STRP = 0x0E
DW_FORM_REF_ADDR = 0x10
DW_FORM_INDIRECT = 0x16
DW_FORM_FLAG_PRESENT = 0x19
DW_FORM_STRX = 0x1A
DW_FORM_ADDRX = 0x1B
DW_FORM_LINE_STRP = 0x1F
DW_FORM_IMPLICIT_CONST = 0x21
DW_FORM_DATA16 = 0x1E

#: Forms that index .debug_str_offsets and .debug_addr.
STRING_INDEX_FORMS = frozenset((DW_FORM_STRX, 0x25, 0x26, 0x27, 0x28))
ADDRESS_INDEX_FORMS = frozenset((DW_FORM_ADDRX, 0x29, 0x2A, 0x2B, 0x2C))

_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")

#: Unsigned numbers of fixed size, and references and indexes stored as such.
_FIXED = {
    0x05: _U16,  # data2
    0x06: _U32,  # data4
    0x07: _U64,  # data8
    0x12: _U16,  # ref2
    0x13: _U32,  # ref4
    0x14: _U64,  # ref8
    0x1C: _U32,  # ref_sup4
    0x20: _U64,  # ref_sig8
    0x24: _U64,  # ref_sup8
    0x26: _U16,  # strx2
    0x28: _U32,  # strx4
    0x2A: _U16,  # addrx2
    0x2C: _U32,  # addrx4
}
_ONE_BYTE = frozenset((0x0B, 0x0C, 0x11, 0x25, 0x29))  # data1, flag, ref1, strx1, addrx1
_THREE_BYTES = frozenset((0x27, 0x2B))  # strx3, addrx3
_UNSIGNED = frozenset((0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23))  # udata, ref_udata, strx, addrx, loclistx, rnglistx
_OFFSETS = frozenset((0x0E, 0x17, 0x1D, 0x1F))  # strp, sec_offset, strp_sup, line_strp
#: A longer LEB128 number is padding without end, which no compiler writes.
_LONGEST_NUMBER = 16


class Encoding(NamedTuple):
    """The encoding of a unit's numbers, as its header says: the sizes of addresses and section offsets in bytes, version."""

    address_size: int
    offset_size: int
    version: int


class InitialLength(NamedTuple):
    """The length field that begins a unit or a line program (DWARF 5, section 7.4 "32-Bit and 64-Bit DWARF Formats").

    ``unit_length`` counts the bytes from ``start`` on, which is right behind the field; ``offset_size`` is 4, or 8 in
    the 64-bit format.
    """

    unit_length: int
    offset_size: int
    start: int


def malformed(message: str, section: str | None = None, offset: int | None = None) -> FormatError:
    """Make the error of every DWARF reader; ``offset`` is within ``section``."""
    return FormatError(message, format="dwarf", section=section, offset=offset)


def read_initial_length(buffer: bytes, position: int) -> InitialLength:
    """Read an initial length. Raises struct.error at the buffer's end; a position of 64 bits is beyond it too."""
    (unit_length,) = _U32.unpack_from(buffer, min(position, len(buffer)))
    if unit_length != 0xFFFFFFFF:
        return InitialLength(unit_length, 4, position + 4)
    return InitialLength(_U64.unpack_from(buffer, position + 4)[0], 8, position + 12)


def read_unsigned(buffer: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned LEB128 number; return it and the position after it. Raises IndexError at the buffer's end."""
    byte = buffer[position]
    if byte < 0x80:
        return byte, position + 1
    value, shift, start = byte & 0x7F, 7, position
    while byte >= 0x80:
        position += 1
        byte = buffer[position]
        value |= (byte & 0x7F) << shift
        shift += 7
        if position - start > _LONGEST_NUMBER:
            raise malformed("a LEB128 number has too many bytes", "LEB128", start)
    return value, position + 1


def read_signed(buffer: bytes, position: int) -> tuple[int, int]:
    """Read a signed LEB128 number; return it and the position after it. Raises IndexError at the buffer's end."""
    value, end = read_unsigned(buffer, position)
    bits = 7 * (end - position)
    return value - (1 << bits) if value >> (bits - 1) else value, end


def read_string(buffer: bytes, position: int, section: str) -> tuple[str, int]:
    """Read a NUL-terminated string; return it and the position after its NUL."""
    end = buffer.find(b"\0", position)
    if end < 0:
        raise malformed("a string is not terminated", section, position)
    return buffer[position:end].decode("utf-8", "backslashreplace"), end + 1


def read_form(
    buffer: bytes, position: int, form: int, encoding: Encoding, section: str
) -> tuple[int | str | bytes, int]:
    """Read one value; return it and the position after it.

    The value is a number (unresolved where the form is an index or an offset), the text of an inline string, or a block's
    bytes. Raises IndexError or struct.error at the buffer's end, FormatError for an unknown form.
    """
    fixed = _FIXED.get(form)
    if fixed is not None:
        return fixed.unpack_from(buffer, position)[0], position + fixed.size
    if form in _ONE_BYTE:
        return buffer[position], position + 1
    if form == DW_FORM_STRING:
        return read_string(buffer, position, section)
    if form == DW_FORM_ADDR:
        return _sized(buffer, position, encoding.address_size)
    if form in _OFFSETS:
        return _sized(buffer, position, encoding.offset_size)
    if form == DW_FORM_REF_ADDR:
        # Version 2 gave references the size of an address.
        return _sized(buffer, position, encoding.address_size if encoding.version < 3 else encoding.offset_size)
    if form in _UNSIGNED:
        return read_unsigned(buffer, position)
    if form == 0x0D:  # sdata
        return read_signed(buffer, position)
    if form == DW_FORM_FLAG_PRESENT:
        return 1, position
    if form in _THREE_BYTES:
        return buffer[position] | buffer[position + 1] << 8 | buffer[position + 2] << 16, position + 3
    return _block(buffer, position, form, section)


def _sized(buffer: bytes, position: int, size: int) -> tuple[int, int]:
    number = _U64 if size == 8 else _U32
    return number.unpack_from(buffer, position)[0], position + number.size


def _block(buffer: bytes, position: int, form: int, section: str) -> tuple[bytes, int]:
    if form in (0x09, 0x18):  # block, exprloc
        size, start = read_unsigned(buffer, position)
    elif form == 0x0A:  # block1
        size, start = buffer[position], position + 1
    elif form == 0x03:  # block2
        size, start = _U16.unpack_from(buffer, position)[0], position + 2
    elif form == 0x04:  # block4
        size, start = _U32.unpack_from(buffer, position)[0], position + 4
    elif form == DW_FORM_DATA16:
        size, start = 16, position
    else:
        raise malformed(f"form {form:#x} is unknown", section, position)
    end = start + size
    if end > len(buffer):
        raise malformed(f"a block of {size} bytes reaches beyond the end", section, position)
    return buffer[start:end], end
