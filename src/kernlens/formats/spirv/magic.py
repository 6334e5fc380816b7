"""The beginning of SPIR-V: the magic number 0x07230203 in either byte order (SPIR-V Specification, section 2.3)."""

from __future__ import annotations

LITTLE_ENDIAN = b"\x03\x02\x23\x07"
BIG_ENDIAN = LITTLE_ENDIAN[::-1]


def is_spirv(content: bytes | memoryview) -> bool:
    """Return whether the bytes begin with SPIR-V's magic number, in either byte order."""
    return bytes(content[:4]) in (LITTLE_ENDIAN, BIG_ENDIAN)
