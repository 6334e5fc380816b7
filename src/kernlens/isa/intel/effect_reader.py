"""The effects of instructions on registers: which bytes, flags and accumulators they read and write."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kernlens.dataclass import NamedTuple
from kernlens.isa.intel.device_table import XE_HPC
from kernlens.isa.intel.gather_sends import GatheredRegisters
from kernlens.isa.intel.instruction_kinds import message_fields, send_of
from kernlens.isa.intel.messages.payloads import Payload, payload_of
from kernlens.isa.intel.operand_places import (
    DIRECT,
    GENERAL_FILE,
    INDIRECT,
    MACRO,
    PACKED,
    SCALAR_FILE,
    VERTICAL_AND_HORIZONTAL,
    accumulator,
    destination_region,
    flags,
    general,
    places,
    source_region,
)
from kernlens.isa.intel.routes import routes_of
from kernlens.model.effects import ADDRESSES, SCALARS, Access, Effect, Effects
from kernlens.model.instruction_record import (
    FLAGS_AT,
    RECORD_SIZE,
    REGIONS_SIZE,
    VALUES_AT,
    InstructionRecord,
    OperandRecord,
    read_operands,
    read_record,
)
from kernlens.model.intel_instructions import (
    DESCRIPTOR_REGISTER,
    DESCRIPTOR_SCALAR,
    EXTENDED_REGISTER,
    EXTENDED_SCALAR,
    SEND,
)
from kernlens.model.operand import type_bits

_SELECTS = frozenset({"sel", "csel"})  # Their predicate or condition chooses a source: they write all lanes.
_READ_ACCUMULATOR = frozenset({"mac", "mach", "macl", "sada2"})
_WRITE_ACCUMULATOR = frozenset({"mach", "macl", "addc", "subb"})
_SYSTOLIC = frozenset({"dpas", "dpasw"})
_CALLS = frozenset({"call", "calla"})
#: Where a call comes back to, and its mask, whatever the execution size.
_RETURN_DWORDS = 2
#: Effects of a platform that are kept for the next kernel: some ten megabytes.
_MOST_KNOWN = 1 << 14
_NOTHING = frozenset({"nop", "illegal", ""})
#: iga::MathFC::IDIV, whose quotient is followed by the remainder, as the low half of Xe3P's mullh is by the high one.
_DIVISION = 10
#: How many channels a predicate combines, by iga::PredCtrl: any2h, all2h, ... all32h.
_GROUPS = {4: 2, 5: 2, 6: 4, 7: 4, 8: 8, 9: 8, 10: 16, 11: 16, 12: 32, 13: 32}


def effects_of(records: bytes, regions: bytes, mnemonics: Sequence[str], platform: int) -> Effects:
    """Return the effects of packed records and their regions."""
    register_bytes = 64 if platform >= XE_HPC else 32
    reader, known = _known(tuple(mnemonics), platform, register_bytes)
    view = memoryview(records)
    routes = routes_of(view, mnemonics)
    targets = {target for route in routes.values() for target in route.targets}
    gathered = GatheredRegisters(targets, reader.payload, register_bytes)
    effects = []
    if len(known) > _MOST_KNOWN:
        known.clear()
    for index in range(len(records) // RECORD_SIZE):
        at = index * RECORD_SIZE
        # What an instruction does depends on all of its record but its offset and its targets.
        key = records[at + FLAGS_AT : at + VALUES_AT], regions[index * REGIONS_SIZE : (index + 1) * REGIONS_SIZE]
        effect = known.get(key)
        if effect is None:
            effect = known[key] = reader.read(read_record(view, index), read_operands(view, index, 4), key[1])
        if platform >= XE_HPC:
            effect = gathered.follow(index, view, effect)
        effects.append(effect)
    return Effects(register_bytes, effects, routes)


@lru_cache(8)
def _known(
    mnemonics: tuple[str, ...], platform: int, register_bytes: int
) -> tuple[Reader, dict[tuple[bytes, bytes], Effect]]:
    """Return the reader of a platform, and the effects that it has read, of which a program's kernels have most in common."""
    return Reader(mnemonics, platform, register_bytes), {}


class _Accesses(NamedTuple):
    reads: list[Access]
    writes: list[Access]


class Reader:
    """The reader of the records of one platform."""

    def __init__(self, mnemonics: Sequence[str], platform: int, register_bytes: int) -> None:
        self._mnemonics = mnemonics
        self._platform = platform
        self.register_bytes = register_bytes

    def read(self, record: InstructionRecord, operands: list[OperandRecord], regions: bytes) -> Effect:
        """Return what the instruction does, as far as it says itself."""
        mnemonic = self._mnemonics[record.opcode]
        if mnemonic in _NOTHING:
            return Effect()
        operands = operands[: 1 + record.source_count]
        into = _Accesses([*_predicate(record)], [*_condition(record, mnemonic)])
        is_lower_bound = False
        if record.flags & SEND:
            is_lower_bound = self._send(record, operands, self.payload(record), into)
        elif mnemonic in _SYSTOLIC:
            self._systolic(record, operands, mnemonic == "dpasw", into)
        else:
            is_lower_bound = self._plain(record, mnemonic, operands, regions, into)
        is_partial = bool(record.predicate) and mnemonic not in _SELECTS
        return Effect(tuple(into.reads), tuple(into.writes), is_partial, is_lower_bound)

    def payload(self, record: InstructionRecord) -> Payload:
        """Return the bytes of a message's parts."""
        return payload_of(send_of(self._platform, *message_fields(record)))

    def _plain(
        self, record: InstructionRecord, mnemonic: str, operands: list[OperandRecord], regions: bytes, into: _Accesses
    ) -> bool:
        (destination, *sources), (reads, writes) = operands, into
        size, is_lower_bound = record.execution_size, False
        for position, operand in enumerate(sources):
            vertical, width, horizontal = regions[3 * position + 3 : 3 * position + 6]
            if operand.kind == INDIRECT:
                rows = size // max(1, width) if vertical == VERTICAL_AND_HORIZONTAL else 1
                reads += _address(operand, rows)
                is_lower_bound = True
            elif operand.kind in (DIRECT, MACRO):
                region = source_region(vertical, width, horizontal, position, len(sources))
                elements = _RETURN_DWORDS if mnemonic == "ret" else size
                reads += places(operand, elements, PACKED if operand.kind == MACRO else region, self.register_bytes)
        if destination.kind == INDIRECT:
            reads += _address(destination, 1)
            is_lower_bound = True
        elif destination.kind in (DIRECT, MACRO):
            region = PACKED if destination.kind == MACRO else destination_region(regions[2])
            elements = _RETURN_DWORDS if mnemonic in _CALLS else size
            written = places(destination, elements, region, self.register_bytes)
            writes += written
            if mnemonic == "mullh" or (mnemonic == "math" and record.function == _DIVISION):
                writes += [(start + self.register_bytes, pattern) for start, pattern in written]
        if mnemonic in _READ_ACCUMULATOR:
            reads += accumulator(0, size, self.register_bytes)
        if mnemonic in _WRITE_ACCUMULATOR:
            writes += accumulator(0, size, self.register_bytes)
        return is_lower_bound

    def _systolic(
        self, record: InstructionRecord, operands: list[OperandRecord], is_wide: bool, into: _Accesses
    ) -> None:
        """Add what a systolic instruction reads and writes. Its function is the depth << 8 | the repeat count. Each
        channel of the second source holds a dword of elements for each step of the depth, the third those of one
        channel for each repetition; of ``dpasw`` half of them are in the other thread."""
        destination, *sources = operands
        depth, repeat, lanes = record.function >> 8, record.function & 0xFF, record.execution_size
        bits = [type_bits(operand.type) for operand in sources]
        narrow = max(bits[1:], default=0)
        per_channel = 8 if narrow <= 4 else 32 // narrow if narrow <= 32 else 1
        half = (repeat + 1) // 2 if is_wide else repeat
        sizes = (
            lanes * repeat * bits[0] // 8,
            lanes * depth * per_channel * bits[1] // 8,
            depth * half * per_channel * bits[2] // 8,
        )
        for operand, size in zip(sources, sizes, strict=False):
            into.reads.extend(self._block(operand, size))
        into.writes.extend(self._block(destination, lanes * repeat * type_bits(destination.type) // 8))

    def _block(self, operand: OperandRecord, size: int) -> tuple[Access, ...]:
        if operand.kind != DIRECT or operand.file != GENERAL_FILE:
            return ()
        byte = operand.subregister * type_bits(operand.type) // 8
        return general(operand.number, (1 << size) - 1, self.register_bytes, byte)

    def _send(
        self, record: InstructionRecord, operands: list[OperandRecord], payload: Payload, into: _Accesses
    ) -> bool:
        (destination, *sources), (reads, writes) = operands, into
        is_lower_bound = False
        for in_address, in_scalar, register in (
            (DESCRIPTOR_REGISTER, DESCRIPTOR_SCALAR, record.descriptor),
            (EXTENDED_REGISTER, EXTENDED_SCALAR, record.extended_descriptor),
        ):
            if record.descriptor_flags & in_address:
                reads.append((ADDRESSES + 4 * (register & 0x7), 0xF))
            elif record.descriptor_flags & in_scalar:
                reads.append((SCALARS + (register & 0xFF), 0xFF))
        for operand, pattern in zip(sources, (payload.addresses, payload.data), strict=False):
            if operand.kind == INDIRECT:  # Its registers are those that the scalar register names: see gather_sends.
                is_lower_bound = True
            elif operand.kind == DIRECT and operand.file == GENERAL_FILE:
                is_lower_bound |= pattern is None
                reads += general(operand.number, self._whole if pattern is None else pattern, self.register_bytes)
        if destination.kind == DIRECT and destination.file == GENERAL_FILE:
            is_lower_bound |= payload.answer is None
            written = self._whole if payload.answer is None else payload.answer
            writes += general(destination.number, written, self.register_bytes)
        return is_lower_bound

    @property
    def _whole(self) -> int:
        return (1 << self.register_bytes) - 1


def _address(operand: OperandRecord, rows: int) -> tuple[Access, ...]:
    """Return the words of the address register that an indirect operand reads."""
    if operand.file == SCALAR_FILE:
        return ((SCALARS + operand.subregister, 1),)
    return ((ADDRESSES + 2 * (operand.subregister & 0x1F), (1 << 2 * max(1, min(rows, 16))) - 1),)


def _predicate(record: InstructionRecord) -> tuple[Access, ...]:
    if not record.predicate or record.flag_register == 0xFF:
        return ()
    first, channels = 4 * record.channel_offset, record.execution_size
    group = _GROUPS.get(record.predicate)
    if group:  # Whole groups, of which the instruction's channels may be a part.
        start = first - first % group
        first, channels = start, -(-(first + channels - start) // group) * group
    return flags(record.flag_register, first, channels)


def _condition(record: InstructionRecord, mnemonic: str) -> tuple[Access, ...]:
    """Return the flags that are written; of a select the condition says which source is larger."""
    if not record.condition or record.flag_register == 0xFF or mnemonic in _SELECTS:
        return ()
    return flags(record.flag_register, 4 * record.channel_offset, record.execution_size)
