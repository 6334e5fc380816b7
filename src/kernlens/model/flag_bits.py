"""Flags of many instructions or rows, one byte for each: which have a bit."""

from __future__ import annotations

from functools import lru_cache
from itertools import compress


def indexes_of(flags: bytes, mask: int) -> list[int]:
    """Return the indexes of the bytes that have a bit of ``mask``, ascending, without a loop in Python."""
    return list(compress(range(len(flags)), flags.translate(_masked(mask))))


@lru_cache(maxsize=8)
def _masked(mask: int) -> bytes:
    return bytes(value & mask for value in range(256))
