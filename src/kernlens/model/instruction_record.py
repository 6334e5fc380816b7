"""The packed record of one instruction, as the decoder hands it over: ``native/decoder/record.h``."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from kernlens.dataclass import NamedTuple

_HEAD = struct.Struct("<IBBH8BIIIHH")
_OPERAND = struct.Struct("<HBBBB")
#: The destination and three sources.
_OPERANDS = 4
_VALUES = struct.Struct("<Qii")
#: Where the immediate and the targets stand in a record, behind all that repeats with the encoding.
VALUES_AT = _HEAD.size + _OPERANDS * _OPERAND.size
RECORD_SIZE = VALUES_AT + _VALUES.size
#: Where fields that are read as whole columns stand in a record, in bytes; the last are the operands' types.
SIZE_AT, FLAGS_AT, OPCODE_AT, EXECUTION_SIZE_AT, PREDICATE_AT, SWSB_AT = 4, 5, 6, 8, 9, 16
TYPES_AT = tuple(_HEAD.size + index * _OPERAND.size + _OPERAND.size - 1 for index in range(_OPERANDS))
#: What ``REGIONS`` has where an instruction does not state a stride or width.
NO_REGION = 0xFF
#: The regions of an instruction's operands, ``instruction_regions`` in C: vertical stride, width, horizontal stride of each.
REGIONS_SIZE = _OPERANDS * 3
_NO_LENGTH = 0x1F
_NO_TARGET = -(1 << 31)


class InstructionRecord(NamedTuple):
    """The decoder's ``instruction_record`` up to its operands; the C header explains each field."""

    offset: int
    size: int
    flags: int
    opcode: int
    execution_size: int
    predicate: int
    flag_register: int
    condition: int
    channel_offset: int
    source_count: int
    sfid: int
    descriptor_flags: int
    swsb: int
    descriptor: int
    extended_descriptor: int
    function: int
    lengths: int


class OperandRecord(NamedTuple):
    """The decoder's ``operand_record``."""

    number: int
    subregister: int
    kind: int
    file: int
    type: int


def message_lengths(lengths: int) -> tuple[int | None, int | None, int | None]:
    """Unpack ``lengths``: the registers of a message's answer, addresses and data; None where a register says how many."""
    answer, addresses, data = (None if (size := lengths >> at & 0x1F) == _NO_LENGTH else size for at in (0, 5, 10))
    return answer, addresses, data


def read_record(records: bytes | memoryview, index: int) -> InstructionRecord:
    """Read record ``index``; its operands and values are read on their own."""
    return InstructionRecord._make(_HEAD.unpack_from(records, index * RECORD_SIZE))


def read_operands(records: memoryview, index: int, count: int) -> list[OperandRecord]:
    """Read the first ``count`` operands of record ``index``, the destination first."""
    start = index * RECORD_SIZE + _HEAD.size
    end = start + min(count, _OPERANDS) * _OPERAND.size
    return [*map(OperandRecord._make, _OPERAND.iter_unpack(bytes(records[start:end])))]


def read_values(records: memoryview, index: int) -> tuple[int, tuple[int, ...]]:
    """Read the immediate of record ``index``, and the offsets that it may branch to, each once."""
    immediate, first, second = _VALUES.unpack_from(records, index * RECORD_SIZE + VALUES_AT)
    return immediate, _targets(first, second)


def read_targets(records: memoryview, indexes: Sequence[int]) -> list[tuple[int, ...]]:
    """Read the offsets that the records at these indexes may branch to, each once: as ``read_values`` does of one."""
    words = records.cast("i")
    first, step = VALUES_AT // 4 + 2, RECORD_SIZE // 4
    places = [first + step * index for index in indexes]
    return [_targets(words[place], words[place + 1]) for place in places]


def _targets(first: int, second: int) -> tuple[int, ...]:
    if second in (first, _NO_TARGET):
        return () if first == _NO_TARGET else (first,)
    return (second,) if first == _NO_TARGET else (first, second)
