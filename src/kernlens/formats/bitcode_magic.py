"""The magic number of LLVM bitcode. Source: "LLVM Bitcode File Format"."""

from __future__ import annotations

MAGIC = b"BC\xc0\xde"


def is_bitcode(data: bytes | memoryview) -> bool:
    """Return whether the bytes begin with the magic number of bitcode."""
    return bytes(data[:4]) == MAGIC
