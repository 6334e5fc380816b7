"""The operations of location expressions: their numbers, and where each ends.

Sources: DWARF version 5, section 7.7.1 "DWARF Expressions"; for Intel's operations ``DIE.hpp`` of intel-graphics-compiler.
"""

from __future__ import annotations

from functools import lru_cache

from kernlens.formats.dwarf.forms import read_unsigned

BRA, SKIP = 0x28, 0x2F
REGS, PUSH_BIT_PIECE, LANE, PIECE_STACK, BIT_PIECE_STACK, REGVAL_BITS = 0xEB, 0xEC, 0xED, 0xEE, 0xEF, 0xFE
PIECE, BIT_PIECE, IMPLICIT_VALUE, STACK_VALUE = 0x93, 0x9D, 0x9E, 0x9F
#: Operations that push a number: how many bytes it has, and whether it is signed.
NUMBERS = {
    0x03: (8, False), 0x08: (1, False), 0x09: (1, True), 0x0A: (2, False), 0x0B: (2, True),
    0x0C: (4, False), 0x0D: (4, True), 0x0E: (8, False), 0x0F: (8, True),
}  # fmt: skip


def piece_numbers(code: bytes, operation: int, position: int) -> tuple[int, int, int]:
    """Return the size and the offset of a piece, and the position behind them."""
    size, behind = read_unsigned(code, position)
    if operation == PIECE:
        return size, 0, behind
    if behind - position == 2 and code[position + 1] == 0:
        # No encoder pads a number so: Intel's compiler writes sizes from 128 bits on as a plain byte. The offset follows.
        return code[position], code[position + 1], behind
    bit, behind = read_unsigned(code, behind)
    return size, bit, behind


@lru_cache(64)
def operation_starts(code: bytes) -> frozenset[int]:
    """Return where the operations of an expression begin, and its end, as far as it can be read."""
    starts, position = set[int](), 0
    try:
        while position < len(code):
            starts.add(position)
            position = _behind(code, code[position], position + 1)
    except IndexError:
        return frozenset(starts)
    return frozenset(starts | {position})


def _behind(code: bytes, operation: int, position: int) -> int:
    """Return the end of an operation whose operands begin at ``position``."""
    if operation in NUMBERS:
        return position + NUMBERS[operation][0]
    if operation in (BRA, SKIP):
        return position + 2
    if operation in (REGVAL_BITS, 0x15, 0x94):
        return position + 1
    if operation in (PIECE, BIT_PIECE):
        return piece_numbers(code, operation, position)[2]
    if operation == IMPLICIT_VALUE:
        length, position = read_unsigned(code, position)
        return position + length
    if operation in (0x10, 0x11, 0x23, 0x90, 0x91, 0x92) or 0x70 <= operation < 0x90:
        position = read_unsigned(code, position)[1]
        return read_unsigned(code, position)[1] if operation == 0x92 else position
    return position
