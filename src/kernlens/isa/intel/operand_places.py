"""The places in the register files that an operand takes, as its region says.

Source: the footprints in ``RegDeps.cpp`` of libiga64, and the regioning rules that it quotes for ternary instructions.
"""

from __future__ import annotations

from functools import lru_cache

from kernlens.dataclass import NamedTuple
from kernlens.model.effects import ACCUMULATORS, ADDRESSES, FLAGS, GENERAL, SCALARS, Access
from kernlens.model.instruction_record import NO_REGION, OperandRecord
from kernlens.model.operand import type_bits

# iga::Kind
DIRECT, MACRO, INDIRECT = 1, 2, 3
# iga::RegName
_ADDRESS_FILE, _ACCUMULATOR_FILE, _FLAG_FILE, SCALAR_FILE, GENERAL_FILE = 2, 3, 5, 9, 18
#: Region::Vert::VT_VxH: an address for each row.
VERTICAL_AND_HORIZONTAL = 31
#: Numbers from here on are no registers of any device.
_GENERAL_REGISTERS, _ACCUMULATOR_REGISTERS, _FLAG_REGISTERS = 512, 16, 8
_FLAG_BITS = 32


class Region(NamedTuple):
    """A region: element i is ``vertical`` x (i / ``width``) + ``horizontal`` x (i % ``width``) elements behind the first."""

    vertical: int
    width: int
    horizontal: int


PACKED = Region(1, 1, 0)


def source_region(vertical: int, width: int, horizontal: int, position: int, source_count: int) -> Region:
    """Return the region of the source in this position, with what ternary instructions imply filled in."""
    if horizontal == NO_REGION:
        return PACKED
    if source_count == 3 and position == 2:
        return Region(horizontal, 1, 0)
    if vertical == NO_REGION:
        return PACKED
    if width in (NO_REGION, 0):
        width = 1 if vertical == 0 else vertical // horizontal if 0 < horizontal <= vertical else vertical
    return Region(vertical, width, horizontal)


def destination_region(horizontal: int) -> Region:
    """Return the region of a destination with this stride."""
    return PACKED if horizontal in (NO_REGION, 0) else Region(horizontal, 1, 0)


@lru_cache(4096)
def _pattern(elements: int, element_bytes: int, region: Region) -> int:
    element, bits = (1 << element_bytes) - 1, 0
    for number in range(elements):
        row, column = divmod(number, region.width)
        bits |= element << (row * region.vertical + column * region.horizontal) * element_bytes
    return bits


def places(operand: OperandRecord, elements: int, region: Region, register_bytes: int) -> tuple[Access, ...]:
    """Return what a direct operand takes if so many elements are accessed; nothing for registers that hold no values."""
    size = max(1, type_bits(operand.type) // 8)
    byte = operand.subregister * size
    number = operand.number
    if operand.file == GENERAL_FILE and number < _GENERAL_REGISTERS:
        return ((GENERAL + number * register_bytes + byte, _pattern(elements, size, region)),)
    if operand.file == _FLAG_FILE and number < _FLAG_REGISTERS:
        first = (number * _FLAG_BITS + 8 * byte) % (ADDRESSES - FLAGS - _FLAG_BITS)
        return ((FLAGS + first, (1 << 8 * size) - 1),)
    if operand.file == _ACCUMULATOR_FILE and number < _ACCUMULATOR_REGISTERS:
        return accumulator(number, elements * size, register_bytes)
    if operand.file == _ADDRESS_FILE and byte < SCALARS - ADDRESSES - 64:
        return ((ADDRESSES + byte, (1 << min(elements * size, 64)) - 1),)
    if operand.file == SCALAR_FILE and byte < ACCUMULATORS - SCALARS - 256:
        return ((SCALARS + byte, (1 << min(elements * size, 256)) - 1),)
    return ()


def general(number: int, pattern: int, register_bytes: int, byte: int = 0) -> tuple[Access, ...]:
    """Return the bytes of ``pattern`` from a general register on."""
    return ((GENERAL + number * register_bytes + byte, pattern),) if number < _GENERAL_REGISTERS and pattern else ()


def accumulator(number: int, size: int, register_bytes: int) -> tuple[Access, ...]:
    """Return the accumulator, with the one beside it, in which the wider type's elements go on."""
    even = number & ~1
    return ((ACCUMULATORS + even * register_bytes, (1 << 2 * register_bytes) - 1),) if size else ()


def flags(register: int, first_channel: int, channels: int) -> tuple[Access, ...]:
    """Return the flags of so many channels, of a record's ``flag_register``."""
    number, subregister = register >> 4, register & 0xF
    if number >= _FLAG_REGISTERS:
        return ()
    first = (16 * subregister + first_channel) % _FLAG_BITS
    return ((FLAGS + number * _FLAG_BITS + first, (1 << min(channels, _FLAG_BITS - first)) - 1),)
