"""LZ4 blocks: what a fat binary's entry is packed as, within bounds.

Source: the LZ4 block format (lz4_Block_format.md of the lz4 project): sequences of a token, literals, and a match that
copies from what is already there. A block does not say how much it holds; its container does.
"""

from __future__ import annotations

from kernlens.errors import FormatError

#: One byte of a block makes at most 255 bytes.
RATIO = 255
_LEAST_MATCH = 4


def unpack_block(block: memoryview, size: int) -> bytes:
    """Return the ``size`` bytes that a block holds. The caller has checked that this many may be allocated. Bytes behind
    the last sequence are padding. Raises FormatError if the block is damaged, or holds less or more."""
    if size > RATIO * len(block):
        raise _error(f"{len(block):,} packed bytes cannot hold the {size:,} that are promised", 0)
    packed = bytes(block)
    try:
        unpacked = _unpack(packed, size)
    except IndexError:
        raise _error("the block is cut off", len(packed)) from None
    if len(unpacked) != size:
        raise _error(f"it unpacks to {len(unpacked):,} bytes where {size:,} are promised", len(packed))
    return bytes(unpacked)


def _unpack(packed: bytes, size: int) -> bytearray:
    """Return what the sequences hold, up to ``size`` bytes. A hot loop: local names on purpose."""
    unpacked = bytearray()
    position, end = 0, len(packed)
    while len(unpacked) < size:
        token = packed[position]
        position += 1
        count = token >> 4
        if count == 15:
            more = 255
            while more == 255:
                more = packed[position]
                position += 1
                count += more
        if count:
            if position + count > end:
                raise _error("literals reach beyond the block's end", position)
            unpacked += packed[position : position + count]
            position += count
        if len(unpacked) >= size:
            break
        distance = packed[position] | packed[position + 1] << 8
        position += 2
        length = token & 15
        if length == 15:
            more = 255
            while more == 255:
                more = packed[position]
                position += 1
                length += more
        length += _LEAST_MATCH
        start = len(unpacked) - distance
        if distance == 0 or start < 0:
            raise _error(f"a match begins {distance} bytes back, where {len(unpacked)} are there", position)
        if len(unpacked) + length > size:
            raise _error(f"it unpacks to more than the {size:,} bytes that are promised", position)
        if distance >= length:
            unpacked += unpacked[start : start + length]
        else:
            pattern = unpacked[start:]
            unpacked += (pattern * (length // distance + 1))[:length]
    return unpacked


def _error(message: str, offset: int) -> FormatError:
    return FormatError(message, format="lz4", offset=offset)
