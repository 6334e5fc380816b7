"""The writer of decoder records, as native/decoder/record.h lays them out."""

from __future__ import annotations

import struct

NONE, DIRECT, MACRO, INDIRECT, IMMEDIATE, LABEL = range(6)
NO_TARGET = -(1 << 31)

#: number, subregister, kind, file, type
Operand = tuple[int, int, int, int, int]
NO_OPERAND: Operand = (0, 0, NONE, 0, 0)


def record(
    offset: int = 0,
    size: int = 16,
    flags: int = 0,
    opcode: int = 0,
    execution_size: int = 8,
    predicate: int = 0,
    flag_register: int = 0xFF,
    condition: int = 0,
    channel_offset: int = 0,
    sfid: int = 0xFF,
    descriptor_flags: int = 0,
    swsb: int = 0,
    descriptor: int = 0,
    extended: int = 0,
    function: int = 0xFFFF,
    lengths: int = 0,
    destination: Operand = NO_OPERAND,
    sources: tuple[Operand, ...] = (),
    immediate: int = 0,
    targets: tuple[int, ...] = (),
) -> bytes:
    """Return one record of 72 bytes."""
    operands = [destination, *sources, *[NO_OPERAND] * (3 - len(sources))]
    both = [*targets, NO_TARGET, NO_TARGET][:2]
    return (
        struct.pack("<IBBH", offset, size, flags, opcode)
        + bytes([execution_size, predicate, flag_register, condition, channel_offset, len(sources), sfid])
        + bytes([descriptor_flags])
        + struct.pack("<IIIHH", swsb, descriptor, extended, function, lengths)
        + b"".join(struct.pack("<HBBBB", *operand) for operand in operands)
        + struct.pack("<Qii", immediate, *both)
    )
