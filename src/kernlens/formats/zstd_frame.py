"""A zstd frame within other data: how far it reaches, and what it holds, within bounds.

Source: RFC 8878, sections 3.1.1 (the frame's header) and 3.1.1.2 (its blocks). A file says of its frames where they
begin; the end follows from the sizes of their blocks.
"""

from __future__ import annotations

import threading

from kernlens.errors import FormatError

MAGIC = b"\x28\xb5\x2f\xfd"
#: Bytes of the magic number and of the header's descriptor.
_FIXED_SIZE = 5
_DICTIONARY_SIZES = (0, 1, 2, 4)
_CONTENT_SIZES = (0, 2, 4, 8)
_BLOCK_HEADER_SIZE = 3
_RLE_BLOCK, _RESERVED_BLOCK = 1, 3
_CHECKSUM_SIZE = 4
_WINDOW_LIMIT = 1 << 27
#: A thread's decompressor: to make one costs as much as the unpacking of a small image.
_of_thread = threading.local()


def is_zstd(data: memoryview) -> bool:
    """Return whether ``data`` begins like a zstd frame."""
    return data[: len(MAGIC)] == MAGIC


def frame_size(data: memoryview) -> int:
    """Return how many bytes the frame at the start of ``data`` takes there. Raises FormatError if it is cut off."""
    if len(data) < _FIXED_SIZE:
        raise _error("the frame is cut off in its header", 0)
    descriptor = data[4]
    single_segment = descriptor >> 5 & 1
    content_size = _CONTENT_SIZES[descriptor >> 6] or single_segment
    position = _FIXED_SIZE + (1 - single_segment) + _DICTIONARY_SIZES[descriptor & 3] + content_size
    is_last = False
    while not is_last:
        header = int.from_bytes(data[position : position + _BLOCK_HEADER_SIZE], "little")
        kind, size = header >> 1 & 3, header >> 3
        after = position + _BLOCK_HEADER_SIZE + (1 if kind == _RLE_BLOCK else size)
        if kind == _RESERVED_BLOCK or after > len(data):
            raise _error("the frame is cut off or damaged", position)
        is_last, position = bool(header & 1), after
    end = position + (_CHECKSUM_SIZE if descriptor >> 2 & 1 else 0)
    if end > len(data):
        raise _error("the frame is cut off in its checksum", position)
    return end


def claimed_size(frame: memoryview) -> int | None:
    """Return how many bytes the frame says that it holds; None if it does not say. Raises FormatError."""
    import zstandard

    try:
        claim: int = zstandard.frame_content_size(frame)
    except zstandard.ZstdError as error:
        raise _error(f"the frame's header cannot be read ({error})", 0) from error
    return None if claim < 0 else claim


def unpack_frame(frame: memoryview, size: int) -> bytes:
    """Return the ``size`` bytes that a frame holds, at most. The caller has checked that this many may be allocated.
    Raises FormatError if the frame is damaged or holds more."""
    import zstandard

    claim = claimed_size(frame)
    if claim is not None and claim > size:
        # zstandard would allocate what the frame claims, whatever it is told to give at most.
        raise _error(f"the frame claims to contain {claim:,} bytes; the limit is {size:,}", 0)
    if not hasattr(_of_thread, "decompressor"):
        _of_thread.decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_LIMIT)
    try:
        unpacked: bytes = _of_thread.decompressor.decompress(frame, max_output_size=size)
        return unpacked
    except zstandard.ZstdError as error:
        raise _error(f"the frame cannot be unpacked ({error})", 0) from error


def _error(message: str, offset: int) -> FormatError:
    return FormatError(message, format="zstd", offset=offset)
