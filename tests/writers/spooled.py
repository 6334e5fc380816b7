"""Files of a capture's folder, as ``native/recording`` writes them."""

from __future__ import annotations

import struct

VOID, STARTED, BUILD = 0, 1, 2


def fields(*named: tuple[str, bytes]) -> bytes:
    """Return names and bytes, each preceded by its size."""

    def block(content: bytes) -> bytes:
        return struct.pack("<Q", len(content)) + content

    return b"".join(block(name.encode() + b"\0") + block(value) for name, value in named)


def entry(kind: int, time: int, content: bytes) -> bytes:
    """Return an entry of a file of builds."""
    return struct.pack("<3Q", len(content), kind, time) + content
