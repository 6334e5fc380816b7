"""The writer of SPIR-V modules word by word, so that a test shows the instructions it is about."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

MAGIC = 0x07230203
ENTRY_POINT, FUNCTION, FUNCTION_END, FUNCTION_CALL, LOAD, DECORATE = 15, 54, 56, 57, 61, 71
BUILT_IN, LINKAGE = 11, 41
EXPORT, IMPORT = 0, 1
WORKGROUP_ID, GLOBAL_INVOCATION_ID, SUBGROUP_LOCAL_INVOCATION_ID = 26, 28, 41


def literal(text: str) -> tuple[int, ...]:
    """Pack a string literal: UTF-8, a NUL, padded to whole words; characters from each word's low byte on."""
    encoded = text.encode() + b"\0"
    encoded += bytes(-len(encoded) % 4)
    return struct.unpack(f"<{len(encoded) // 4}I", encoded)


def instruction(opcode: int, *operands: int) -> tuple[int, ...]:
    """Return an instruction's words: its length and opcode, then its operands."""
    return (len(operands) + 1 << 16 | opcode, *operands)


def linkage(function: int, name: str, kind: int = EXPORT) -> tuple[int, ...]:
    """Return the decoration that exports or imports a function."""
    return instruction(DECORATE, function, LINKAGE, *literal(name), kind)


def function(result: int, *body: tuple[int, ...]) -> tuple[int, ...]:
    """Return a function with ``body`` between its first and last instruction."""
    inner = tuple(word for each in body for word in each)
    return (*instruction(FUNCTION, 1, result, 0, 2), *inner, *instruction(FUNCTION_END))


def module(*instructions: tuple[int, ...], bound: int = 100, order: str = "<") -> bytes:
    """Pack a module of version 1.0."""
    writer = SpirvWriter(0x00010000, 0, bound, [word for each in instructions for word in each])
    return bytes(writer.build(order))


@dataclass
class SpirvWriter:
    """The collector of a module's instructions. ``version`` is the header's word, e.g. 0x00010400; ``generator`` has
    the tool's number in its high half."""

    version: int = 0x00010400
    generator: int = 6 << 16
    bound: int = 100
    words: list[int] = field(default_factory=list)

    def add(self, opcode: int, *operands: int | str) -> SpirvWriter:
        """Add one instruction; strings become literals."""
        operand_words: list[int] = []
        for operand in operands:
            operand_words += literal(operand) if isinstance(operand, str) else [operand]
        self.words += instruction(opcode, *operand_words)
        return self

    def build(self, byte_order: str = "<") -> memoryview:
        """Pack the module with words in this byte order (``<`` or ``>``)."""
        words = [MAGIC, self.version, self.generator, self.bound, 0, *self.words]
        return memoryview(struct.pack(f"{byte_order}{len(words)}I", *words))
