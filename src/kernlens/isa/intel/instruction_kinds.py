"""The kinds of instructions: the instruction mix of machine code, and what its messages access."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter

from kernlens.isa.intel.messages.message_decoder import decode_message
from kernlens.isa.intel.messages.send import Send
from kernlens.model.instruction_kind import (
    CONTROL,
    FLOAT,
    INTEGER,
    MATH,
    MOVE,
    OTHER,
    SYNCHRONISATION,
    SYSTOLIC,
    InstructionKind,
)
from kernlens.model.instruction_record import FLAGS_AT, OPCODE_AT, RECORD_SIZE, TYPES_AT, message_lengths, read_record
from kernlens.model.intel_instructions import (
    DESCRIPTOR_IMMEDIATE,
    EXTENDED_IMMEDIATE,
    EXTENDED_REGISTER,
    SEND,
    SHARED_FUNCTIONS,
)
from kernlens.model.operand import FLOAT_TYPES

#: Mnemonics whose kind does not depend on their operands; all others are arithmetic and logic.
_BY_MNEMONIC = {
    **dict.fromkeys(("mov", "movi", "smov"), MOVE),
    **dict.fromkeys(("jmpi", "brd", "brc", "if", "else", "endif", "while", "break", "cont", "halt"), CONTROL),
    **dict.fromkeys(("calla", "call", "ret", "goto", "join"), CONTROL),
    **dict.fromkeys(("sync", "wait", "thryld"), SYNCHRONISATION),
    **dict.fromkeys(("dpas", "dpasw", "bdpas"), SYSTOLIC),
    **dict.fromkeys(("nop", "illegal", ""), OTHER),
    "math": MATH,
}


def classifier(mnemonics: Sequence[str], platform: int) -> Callable[[memoryview], list[InstructionKind]]:
    """Return the function that gives each of packed records its kind."""

    @lru_cache(_REMEMBERED)
    def arithmetic(opcode: int, *types: int) -> InstructionKind:
        return _KINDS[_BY_MNEMONIC.get(mnemonics[opcode]) or (INTEGER if FLOAT_TYPES.isdisjoint(types) else FLOAT)]

    @lru_cache(_REMEMBERED)
    def message(*fields: int) -> InstructionKind:
        return decode_message(send_of(platform, *fields))

    def kinds(records: memoryview) -> list[InstructionKind]:
        types = (records[at::RECORD_SIZE].tolist() for at in TYPES_AT)
        opcodes = records.cast("H")[OPCODE_AT // 2 :: RECORD_SIZE // 2].tolist()
        kinds_of = list(map(arithmetic, opcodes, *types))
        for index, flags in enumerate(records[FLAGS_AT::RECORD_SIZE].tolist()):
            if flags & SEND:
                kinds_of[index] = message(*message_fields(read_record(records, index)))
        return kinds_of

    return kinds


#: Different instructions of a platform whose kinds are remembered; a large program has some hundreds.
_REMEMBERED = 4096
_KINDS = {
    name: InstructionKind(name)
    for name in (FLOAT, INTEGER, MATH, SYSTOLIC, MOVE, CONTROL, SYNCHRONISATION, OTHER)
}  # fmt: skip


#: What ``send_of`` takes of a record.
message_fields = attrgetter(
    "sfid", "descriptor_flags", "descriptor", "extended_descriptor", "execution_size", "lengths"
)


def send_of(
    platform: int, sfid: int, how: int, descriptor: int, extended: int, execution_size: int, lengths: int
) -> Send:
    """Return the message of a record with these fields."""
    answer, addresses, data = message_lengths(lengths)
    return Send(
        platform=platform,
        target=SHARED_FUNCTIONS[sfid] if sfid < len(SHARED_FUNCTIONS) else "",
        descriptor=descriptor if how & DESCRIPTOR_IMMEDIATE else None,
        extended=extended if how & EXTENDED_IMMEDIATE else None,
        extended_register=extended & 0xFF if how & EXTENDED_REGISTER else None,
        execution_size=execution_size,
        answer_registers=answer,
        address_registers=addresses,
        data_registers=data,
    )
