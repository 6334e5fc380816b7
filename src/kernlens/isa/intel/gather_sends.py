"""Gather sends of Xe3: messages whose registers need not follow one another.

Their source is ``r[s0.0]``: each byte of the scalar register from there on is the number of a general register, and
instructions before it have set those with immediates. Between them and the message no lane joins or leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from kernlens.dataclass import replace
from kernlens.isa.intel.messages.payloads import Payload
from kernlens.isa.intel.operand_places import DIRECT, INDIRECT, SCALAR_FILE, general
from kernlens.model.effects import SCALARS, Access, Effect
from kernlens.model.instruction_record import (
    FLAGS_AT,
    RECORD_SIZE,
    InstructionRecord,
    read_operands,
    read_record,
    read_values,
)
from kernlens.model.intel_instructions import SEND
from kernlens.model.operand import type_bits

_IMMEDIATE = 4
_SCALAR_BYTES = 256


class GatheredRegisters:
    """The content of the scalar register, instruction by instruction in their order; ``targets`` are those that control
    reaches from elsewhere too, ``payload`` gives the bytes that a record's message takes."""

    def __init__(
        self, targets: Container[int], payload: Callable[[InstructionRecord], Payload], register_bytes: int
    ) -> None:
        self._targets = targets
        self._payload = payload
        self._register_bytes = register_bytes
        self._bytes: dict[int, int] = {}

    def follow(self, index: int, records: memoryview, effect: Effect) -> Effect:
        """Return the effect of the next instruction, with the registers of a gather send."""
        if index in self._targets:
            self._bytes.clear()
        if records[index * RECORD_SIZE + FLAGS_AT] & SEND:
            record = read_record(records, index)
            source = read_operands(records, index, 2)[1]
            if source.kind == INDIRECT and source.file == SCALAR_FILE:
                reads = self._registers(record, source.subregister)
                if reads is not None:
                    return replace(effect, reads=effect.reads + reads, is_lower_bound=False)
            return effect
        destination = read_operands(records, index, 1)[0]
        if destination.kind == DIRECT and destination.file == SCALAR_FILE:
            self._set(index, records, type_bits(destination.type) // 8, destination.subregister)
        return effect

    def _set(self, index: int, records: memoryview, size: int, subregister: int) -> None:
        record = read_record(records, index)
        source = read_operands(records, index, 2)[1]
        first = subregister * size
        if record.source_count != 1 or source.kind != _IMMEDIATE or record.predicate or first >= _SCALAR_BYTES:
            self._bytes.clear()
            return
        value = read_values(records, index)[0]
        for position in range(size * record.execution_size):
            self._bytes[first + position] = value >> 8 * (position % size) & 0xFF

    def _registers(self, record: InstructionRecord, first: int) -> tuple[Access, ...] | None:
        """Return the bytes that the message reads; None where not all of its registers are known."""
        payload, reads = self._payload(record), list[Access]()
        if payload.addresses is None or payload.data is None:
            return None
        pattern, count = payload.gathered(self._register_bytes)
        whole = (1 << self._register_bytes) - 1
        reads.append((SCALARS + first, (1 << count) - 1))
        for position in range(count):
            number = self._bytes.get(first + position)
            if number is None:
                return None
            reads += general(number, pattern >> position * self._register_bytes & whole, self._register_bytes)
        return tuple(reads)
