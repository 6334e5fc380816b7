"""Attributes of kernels in a cubin's sections ``.nv.info`` and ``.nv.info.KERNEL``.

They have no public description; the numbers are those that ``cuobjdump -elf`` names. An attribute has a format (u8), a number
(u8), and two bytes: a value, or of format 4 the size of the bytes that follow.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from kernlens.errors import FormatError

EIATTR_MAX_THREADS = 0x05
EIATTR_REQNTID = 0x10
EIATTR_FRAME_SIZE = 0x11
EIATTR_KPARAM_INFO = 0x17
EIATTR_REGCOUNT = 0x2F
EIATTR_NUM_BARRIERS = 0x4C

_HEAD = struct.Struct("<BBH")
_SIZED = 4
_FORMATS = (1, 2, 3, _SIZED)
_PAIR, _THREE, _PARAMETER = struct.Struct("<II"), struct.Struct("<III"), struct.Struct("<IHHI")
#: Where the size of a parameter begins in the last word of EIATTR_KPARAM_INFO.
_PARAMETER_SIZE_BIT = 18


class Attribute(NamedTuple):
    """One attribute. ``value`` is that of those that have no bytes of their own."""

    number: int
    value: int
    content: bytes


class Parameter(NamedTuple):
    """One parameter of a kernel: its number, and where it lies among the parameters, in bytes."""

    ordinal: int
    offset: int
    size: int


def read_attributes(data: memoryview, section: str) -> Iterator[Attribute]:
    """Yield the attributes of a section. Raises FormatError for one that is cut off, or of an unknown format."""
    position = 0
    while position < len(data):
        if len(data) - position < _HEAD.size:
            raise _error("an attribute is cut off", section, position)
        format_number, number, value = _HEAD.unpack_from(data, position)
        if format_number not in _FORMATS:
            raise _error(f"attribute {number:#x} has format {format_number}, which is unknown", section, position)
        start = position + _HEAD.size
        size = value if format_number == _SIZED else 0
        if size > len(data) - start:
            raise _error(f"attribute {number:#x} of {size} bytes reaches beyond the section's end", section, position)
        yield Attribute(number, value, bytes(data[start : start + size]))
        position = start + size


def numbers_by_symbol(attributes: Iterator[Attribute]) -> dict[tuple[int, int], int]:
    """Map attribute number and symbol index to the number that the attribute says of the symbol."""
    return {
        (attribute.number, _PAIR.unpack(attribute.content)[0]): _PAIR.unpack(attribute.content)[1]
        for attribute in attributes
        if len(attribute.content) == _PAIR.size
    }


def three_sizes(attribute: Attribute) -> tuple[int, int, int] | None:
    """Return the sizes of a work-group that an attribute says; None if it does not have three numbers."""
    return _THREE.unpack(attribute.content) if len(attribute.content) == _THREE.size else None


def parameter(attribute: Attribute) -> Parameter | None:
    """Return the parameter that EIATTR_KPARAM_INFO describes; None if it has other bytes."""
    if len(attribute.content) != _PARAMETER.size:
        return None
    _, ordinal, offset, packed = _PARAMETER.unpack(attribute.content)
    return Parameter(ordinal, offset, packed >> _PARAMETER_SIZE_BIT)


def _error(message: str, section: str, offset: int) -> FormatError:
    return FormatError(message, format="cubin", section=section, offset=offset)
