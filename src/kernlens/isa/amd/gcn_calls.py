"""Where AMD's calls go: addresses that a kernel computes from its own place in the code.

Source: LLVM's "User Guide for AMDGPU Backend", "Function Call Convention": ``s_getpc_b64`` gives the address behind
itself, and an addition of 64 bits in two halves the distance to the function.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_PAIR = r"s\[(\d+):(\d+)\]"
_PLACE = re.compile(rf"s_getpc_b64 {_PAIR}$")
_ADDITION = re.compile(r"s_add(c?)(?:_co(_ci)?)?_u32 s(\d+), s(\d+), (-?\d+|0x[0-9a-f]+)$")
_CALL = re.compile(rf"s_swappc_b64 {_PAIR}, {_PAIR}$")
_WRITTEN = re.compile(r"[sv]_\w+ s(?:(\d+)\b|\[(\d+):(\d+)\])")


def callees(texts: Sequence[str], offsets: Sequence[int]) -> list[int | None]:
    """Return the offset from the kernel's start that each call goes to, None where the code before it does not tell it."""
    places: dict[int, tuple[int, int | None, int | None]] = {}
    called: list[int | None] = []
    for text, offset in zip(texts, offsets, strict=True):
        if match := _CALL.match(text):
            base, low, high = places.get(int(match[3]), (0, None, None))
            called.append(None if low is None or high is None else _signed(base + low + (high << 32)))
        if match := _PLACE.match(text):
            places[int(match[1])] = (offset + 4, None, None)
            continue
        match = _ADDITION.match(text)
        if match and match[3] == match[4]:
            is_high, register, value = bool(match[1] or match[2]), int(match[3]), int(match[5], 0) & 0xFFFFFFFF
            pair = register - is_high
            base, low, high = places.get(pair, (0, 0, 0))
            if is_high and low is not None and high is None:
                places[pair] = (base, low, value)
                continue
            if not is_high and low is None:
                places[pair] = (base, value, None)
                continue
        if match := _WRITTEN.match(text):
            first, last = int(match[1] or match[2]), int(match[1] or match[3])
            for pair in [each for each in places if first <= each + 1 and each <= last]:
                del places[pair]
    return called


def _signed(value: int) -> int:
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)
