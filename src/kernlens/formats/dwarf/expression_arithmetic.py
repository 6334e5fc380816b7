"""The arithmetic of location expressions: numbers of 64 bits.

Source: DWARF version 5, section 2.5.1.4 "Arithmetic and Logical Operations".
"""

from __future__ import annotations

from collections.abc import Callable

ALL_ONES = (1 << 64) - 1


class StoppedError(Exception):
    """Nothing comes of the expression; the message says why."""


def wrapped(number: int) -> int:
    """Return a number as 64 bits with a sign hold it."""
    number &= ALL_ONES
    return number - (1 << 64) if number >> 63 else number


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise StoppedError("the compiler's expression divides by zero")
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _modulo(left: int, right: int) -> int:
    if right == 0:
        raise StoppedError("the compiler's expression divides by zero")
    return (left & ALL_ONES) % (right & ALL_ONES)


OF_ONE: dict[int, tuple[str, Callable[[int], int]]] = {
    0x19: ("abs", abs),
    0x1F: ("-", lambda number: -number),
    0x20: ("~", lambda number: ~number),
}
OF_TWO: dict[int, tuple[str, Callable[[int, int], int]]] = {
    0x1A: ("&", lambda left, right: left & right),
    0x1B: ("/", _divided),
    0x1C: ("-", lambda left, right: left - right),
    0x1D: ("%", _modulo),
    0x1E: ("*", lambda left, right: left * right),
    0x21: ("|", lambda left, right: left | right),
    0x22: ("+", lambda left, right: left + right),
    0x24: ("<<", lambda left, right: left << right if 0 <= right < 64 else 0),
    0x25: (">>", lambda left, right: (left & ALL_ONES) >> right if 0 <= right < 64 else 0),
    0x26: (">>", lambda left, right: left >> min(right & ALL_ONES, 63)),
    0x27: ("^", lambda left, right: left ^ right),
    0x29: ("==", lambda left, right: int(left == right)),
    0x2A: (">=", lambda left, right: int(left >= right)),
    0x2B: (">", lambda left, right: int(left > right)),
    0x2C: ("<=", lambda left, right: int(left <= right)),
    0x2D: ("<", lambda left, right: int(left < right)),
    0x2E: ("!=", lambda left, right: int(left != right)),
}
