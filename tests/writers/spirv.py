"""Writes SPIR-V modules word by word, so that a test shows the instructions it is about."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field


def literal(text: str) -> list[int]:
    """A string literal: UTF-8, a NUL, padded to whole words; characters from each word's low byte on."""
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
        """One instruction; strings become literals."""
        found: list[int] = []
        for operand in operands:
            found += literal(operand) if isinstance(operand, str) else [operand]
        self.words += [(len(found) + 1) << 16 | opcode, *found]
        return self

    def build(self, byte_order: str = "<") -> memoryview:
        """The module with words in this byte order (``<`` or ``>``)."""
        words = [0x07230203, self.version, self.generator, self.bound, 0, *self.words]
        return memoryview(struct.pack(f"{byte_order}{len(words)}I", *words))
