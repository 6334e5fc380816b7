"""Programs and libraries as the dynamic loader sees them, made of bytes: run paths, needed libraries, an interpreter."""

from __future__ import annotations

import struct
from collections.abc import Sequence

_BASE = 0x10000


def dynamic_file(
    needed: Sequence[str] = (),
    *,
    soname: str = "",
    rpath: str = "",
    runpath: str = "",
    interpreter: str = "",
    content: bytes = b"",
    machine: int = 62,
) -> bytes:
    """Return an ELF64 file without section headers; ``content`` stands at its end."""
    names, entries = bytearray(b"\0"), []
    tags = [*((1, name) for name in needed), (14, soname), (15, rpath), (29, runpath)]
    for tag, name in tags:
        if name:
            entries.append((tag, len(names)))
            names += name.encode() + b"\0"
    headers = 3 if interpreter else 2
    start = 64 + headers * 56
    dynamic = start + len(interpreter) + 1
    strings = dynamic + (len(entries) + 3) * 16
    end = strings + len(names)
    entries += [(5, _BASE + strings), (10, len(names)), (0, 0)]
    segments = [(1, 0, _BASE, end), (2, dynamic, _BASE + dynamic, len(entries) * 16)]
    segments += [(3, start, _BASE + start, len(interpreter) + 1)] if interpreter else []
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    data = struct.pack("<16sHHIQQQIHHHHHH", ident, 3, machine, 1, 0, 64, 0, 0, 64, 56, headers, 64, 0, 0)
    for kind, offset, address, size in segments:
        data += struct.pack("<IIQQQQQQ", kind, 5, offset, address, address, size, size, 1)
    data += interpreter.encode() + b"\0"
    data += b"".join(struct.pack("<qQ", *entry) for entry in entries)
    return data + bytes(names) + content


def library_cache(libraries: Sequence[tuple[str, str, int]], *, older: int = 0) -> bytes:
    """Return a cache of libraries: name, file and flags of each; with ``older`` entries of the older form before it."""
    start = 48 + len(libraries) * 24
    texts, entries = bytearray(), b""
    for name, path, flags in libraries:
        key, value = start + len(texts), start + len(texts) + len(name) + 1
        texts += name.encode() + b"\0" + path.encode() + b"\0"
        entries += struct.pack("<iIIIQ", flags, key, value, 0, 0)
    counts = struct.pack("<II", len(libraries), len(texts))
    newer = b"glibc-ld.so.cache1.1" + counts + bytes(20) + entries + bytes(texts)
    before = struct.pack("<12sI", b"ld.so-1.7.0", older) + bytes(12 * older) if older else b""
    return before.ljust(-(-len(before) // 8) * 8, b"\0") + newer
