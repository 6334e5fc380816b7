"""Writes SPIR-V modules word by word, so that a test shows the instructions it is about."""

from __future__ import annotations

import struct

MAGIC = 0x07230203
ENTRY_POINT, FUNCTION, FUNCTION_END, FUNCTION_CALL, LOAD, DECORATE = 15, 54, 56, 57, 61, 71
BUILT_IN, LINKAGE = 11, 41
EXPORT, IMPORT = 0, 1
WORKGROUP_ID, GLOBAL_INVOCATION_ID, SUBGROUP_LOCAL_INVOCATION_ID = 26, 28, 41


def text(value: str) -> tuple[int, ...]:
    """Makes a literal string: UTF-8, ended by NUL, padded to whole words."""
    encoded = value.encode() + b"\0"
    encoded += bytes(-len(encoded) % 4)
    return struct.unpack(f"<{len(encoded) // 4}I", encoded)


def instruction(opcode: int, *operands: int) -> tuple[int, ...]:
    """Makes an instruction's words: its length and opcode, then its operands."""
    return (len(operands) + 1 << 16 | opcode, *operands)


def module(*instructions: tuple[int, ...], bound: int = 100, order: str = "<") -> bytes:
    """Makes a module of version 1.0."""
    words = [MAGIC, 0x00010000, 0, bound, 0, *(word for each in instructions for word in each)]
    return struct.pack(f"{order}{len(words)}I", *words)


def linkage(function: int, name: str, kind: int = EXPORT) -> tuple[int, ...]:
    """Makes the decoration that exports or imports a function."""
    return instruction(DECORATE, function, LINKAGE, *text(name), kind)


def function(result: int, *body: tuple[int, ...]) -> tuple[int, ...]:
    """Makes a function with ``body`` between its first and last instruction."""
    inner = tuple(word for each in body for word in each)
    return (*instruction(FUNCTION, 1, result, 0, 2), *inner, *instruction(FUNCTION_END))
