"""Writes SPIR-V modules word by word, so that a test shows the instructions it is about."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field


def literal(text: str) -> list[int]:
    """Returns a string literal: UTF-8, a NUL, padded to whole words; characters from each word's low byte on."""
    encoded = text.encode() + b"\0"
    encoded += bytes(-len(encoded) % 4)
    return list(struct.unpack(f"<{len(encoded) // 4}I", encoded))


@dataclass
class SpirvWriter:
    """``version`` is the header's word, e.g. 0x00010400; ``generator`` the tool's number in its high half."""

    version: int = 0x00010400
    generator: int = 6 << 16
    bound: int = 100
    words: list[int] = field(default_factory=list)

    def add(self, opcode: int, *operands: int | str) -> SpirvWriter:
        """Adds one instruction; strings become literals."""
        operand_words: list[int] = []
        for operand in operands:
            operand_words += literal(operand) if isinstance(operand, str) else [operand]
        self.words += [(len(operand_words) + 1) << 16 | opcode, *operand_words]
        return self

    def build(self, byte_order: str = "<") -> memoryview:
        """Makes the module with words in this byte order (``<`` or ``>``)."""
        words = [0x07230203, self.version, self.generator, self.bound, 0, *self.words]
        return memoryview(struct.pack(f"{byte_order}{len(words)}I", *words))
