"""A recording's contents, packed with zstd under their SHA-256, and unpacked safely from untrusted files."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from kernlens.errors import FormatError

ZSTD, RAW = "zstd", "raw"
#: zstd's level: the fastest that still halves machine code.
LEVEL = 3
#: The largest content in bytes.
SIZE_LIMIT = 1 << 30
#: Beyond FREE_SIZE, content may be this many times larger than its packed form, so that a small file cannot unpack to
#: gigabytes. Writers leave content that packs better unpacked.
RATIO_LIMIT = 1000
FREE_SIZE = 1 << 20


class PackedBlob(NamedTuple):
    """Content of ``size`` bytes, packed as ``coding`` says; ``sha256`` is the hash of the unpacked bytes."""

    sha256: bytes
    size: int
    coding: str
    content: bytes


def pack(content: bytes, digest: bytes | None = None) -> PackedBlob:
    """Pack ``content``, or keep it raw if packing gains nothing or exceeds the ratio that readers accept. ``digest`` is its
    SHA-256 if that is known already."""
    import zstandard

    digest = digest or hashlib.sha256(content).digest()
    packed = zstandard.ZstdCompressor(level=LEVEL).compress(content)
    if len(packed) >= len(content) or not _believable(len(content), len(packed)):
        return PackedBlob(digest, len(content), RAW, content)
    return PackedBlob(digest, len(content), ZSTD, packed)


def unpack(blob: PackedBlob) -> bytes:
    """Return the content. Raises FormatError if the sizes, the packing or the hash do not match."""
    if not 0 <= blob.size <= SIZE_LIMIT:
        raise _error(f"content of {blob.size} bytes, where at most {SIZE_LIMIT} are allowed")
    if blob.coding == RAW:
        content = blob.content
    elif blob.coding == ZSTD:
        content = _unpack_zstd(blob)
    else:
        raise _error(f"unknown coding {blob.coding!r}")
    if len(content) != blob.size:
        raise _error(f"{len(content)} bytes of content where {blob.size} were recorded")
    if hashlib.sha256(content).digest() != blob.sha256:
        raise _error("content does not have the hash that it is recorded under: the file is damaged")
    return content


def _unpack_zstd(blob: PackedBlob) -> bytes:
    import zstandard

    if not _believable(blob.size, len(blob.content)):
        raise _error(f"{len(blob.content)} packed bytes claim to unpack to {blob.size}")
    try:
        # The library allocates what the frame claims, so the claim is checked first.
        if zstandard.frame_content_size(blob.content) != blob.size:
            raise _error("the packed size differs from the recorded one")
        return zstandard.ZstdDecompressor(max_window_size=1 << 27).decompress(blob.content)
    except zstandard.ZstdError as error:
        raise _error(f"content cannot be unpacked ({error})") from error


def _believable(size: int, packed: int) -> bool:
    return size <= FREE_SIZE + RATIO_LIMIT * packed


def _error(message: str) -> FormatError:
    return FormatError(message, format="recording")
