"""The statements of kernlens on messages, in the words of libiga64's texts, for comparisons."""

from __future__ import annotations

from collections.abc import Iterator

from kernlens.model.intel_instructions import SEND, IntelInstruction, IntelInstructions
from tests.corpus.oracles.message_texts import SaidOfMessage, registers_of_lanes, said_of_message

#: Data cache messages have 8 lanes at least, whatever the instruction masks.
_LANES_OF_DATA_CACHE = 8
#: The load/store cache works on 8 lanes at least, on 16 where registers have 64 bytes. IGC declares the registers that an
#: instruction's lanes need, nGEN those of this many lanes: hardware takes both, and what lanes move is the same.
_LEAST_LANES = {32: 8, 64: 16}


def compared_messages(instructions: IntelInstructions, register_bytes: int) -> Iterator[tuple[object, object]]:
    """Yield for each message what kernlens says of it and what libiga64 does, and what registers its data must take and do."""
    for index, flags in enumerate(instructions.flags):
        if flags & SEND:
            instruction = instructions[index]
            theirs = said_of_message(instruction.text)
            must, do = _registers(instruction, theirs, register_bytes)
            yield (_ours(instruction, theirs), must), (theirs, do)


def _ours(instruction: IntelInstruction, theirs: SaidOfMessage) -> SaidOfMessage:
    """Return as much as libiga64's text tells."""
    access, message = instruction.kind.access, instruction.message
    assert access is not None
    assert message is not None
    surface = access.surface if theirs.surface and "[" in theirs.surface else access.surface.split("[")[0]
    lengths = message.answer_registers, message.address_registers, message.data_registers
    return SaidOfMessage(
        access.action,
        access.operation,
        access.element_bytes,
        None if theirs.elements is None else access.elements,
        theirs.is_block and access.lanes == 1,
        None if theirs.surface is None else surface,
        tuple(-1 if length is None else length for length in lengths),  # type: ignore[arg-type]
    )


def _registers(instruction: IntelInstruction, theirs: SaidOfMessage, register_bytes: int) -> tuple[int, int]:
    """Return the registers that the data must take, and those that they do; of samplers the bytes. 0 where they are no data."""
    access, message = instruction.kind.access, instruction.message
    assert access is not None
    assert message is not None
    answer, addresses, data = theirs.registers
    if access.action not in ("load", "store") or theirs.is_block or theirs.elements == 0:
        return 0, 0
    if access.operation == "sample":
        return access.size or 0, answer * register_bytes
    lanes = access.lanes
    if message.target in ("dc0", "dc1"):
        lanes = max(lanes, _LANES_OF_DATA_CACHE)
    ours = registers_of_lanes(access.element_bytes, access.elements, lanes, register_bytes)
    most = registers_of_lanes(
        access.element_bytes, access.elements, max(lanes, _LEAST_LANES[register_bytes]), register_bytes
    )
    if access.action == "load":
        return ours, ours if answer == most else answer
    if data == most:
        return ours, ours
    if data == 0:  # Xe3 sends addresses and data together.
        return ours, min(ours, addresses - 1)
    # A part of the addresses of typed stores stands among the data.
    return ours, data - (instruction.kind.name == "image" and data == ours + 1)
