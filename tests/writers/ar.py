"""The writer of ar archives in memory."""

from __future__ import annotations

from collections.abc import Sequence


def member(name: str, data: bytes, size: str | None = None) -> bytes:
    """Make a member header, ``name`` as given in its 16 bytes, with the data, padded to an even length."""
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{size if size is not None else len(data):<10}`\n"
    return header.encode() + data + b"\n" * (len(data) & 1)


def archive(members: Sequence[bytes]) -> memoryview:
    """Make an archive of what ``member`` made."""
    return memoryview(b"!<arch>\n" + b"".join(members))
