"""The writer of MessagePack, for metadata of code objects."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence


def packed(value: object) -> bytes:
    """Return a value of texts, numbers, sequences and mappings as MessagePack, each in its widest form."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return struct.pack(">Bq", 0xD3, value) if value < 0 else struct.pack(">BQ", 0xCF, value)
    if isinstance(value, float):
        return struct.pack(">Bd", 0xCB, value)
    if isinstance(value, str):
        content = value.encode()
        return struct.pack(">BI", 0xDB, len(content)) + content
    if isinstance(value, bytes):
        return struct.pack(">BI", 0xC6, len(value)) + value
    if isinstance(value, Mapping):
        items = b"".join(packed(key) + packed(each) for key, each in value.items())
        return struct.pack(">BI", 0xDF, len(value)) + items
    assert isinstance(value, Sequence)
    return struct.pack(">BI", 0xDD, len(value)) + b"".join(map(packed, value))
