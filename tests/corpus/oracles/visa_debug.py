"""vISA's own debug files (``OCL_asm*_entry_N.dbg``, from IGC_ShaderDumpEnable): where its variables are.

Layout: ``visa/DebugInfo.cpp`` of intel-graphics-compiler; little-endian, as ``read_visa_debug`` reads it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

MAGIC = 0xDEADD010
GENERAL_REGISTER, MEMORY = 2, 3


@dataclass(frozen=True, slots=True)
class Interval:
    """A live interval of a variable, from the vISA instruction ``start`` up to ``end``: in general register ``register`` from
    ``byte`` on, or at ``memory``, in bytes from the frame; each None if it is elsewhere."""

    start: int
    end: int
    register: int | None
    byte: int
    memory: int | None


@dataclass(frozen=True, slots=True)
class VisaDebug:
    """The debug data of one kernel. ``offsets`` are pairs of a vISA instruction's index and the offset of its code."""

    name: str
    offsets: list[tuple[int, int]]
    variables: dict[str, list[Interval]]


def read_visa_debug(data: bytes) -> list[VisaDebug]:
    """Read a file. Raises struct.error or ValueError if it is none."""
    magic, count = struct.unpack_from("<IH", data)
    if magic != MAGIC:
        raise ValueError(f"magic {magic:#x}")
    position, kernels = 6, []
    for _ in range(count):
        name, position = _name(data, position)
        position += 4  # Its relocation offset.
        _by_byte, position = _pairs(data, position)
        offsets, position = _pairs(data, position)
        (variables,) = struct.unpack_from("<I", data, position)
        position += 4
        intervals: dict[str, list[Interval]] = {}
        for _ in range(variables):
            variable, position = _name(data, position)
            (own,) = struct.unpack_from("<H", data, position)
            position += 2
            for _ in range(own):
                start, end, _virtual, physical, low, high = struct.unpack_from("<HHBBHH", data, position)
                position += 10
                memory = low | high << 16 if physical == MEMORY else None
                register = low if physical == GENERAL_REGISTER else None
                intervals.setdefault(variable, []).append(Interval(start, end, register, high, memory))
        kernels.append(VisaDebug(name, offsets, intervals))
        break  # What follows concerns frames.
    return kernels


def _name(data: bytes, position: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<H", data, position)
    end = position + 2 + length
    return data[position + 2 : end].decode(), end


def _pairs(data: bytes, position: int) -> tuple[list[tuple[int, int]], int]:
    (count,) = struct.unpack_from("<I", data, position)
    pairs = list(struct.iter_unpack("<II", data[position + 4 : position + 4 + 8 * count]))
    return pairs, position + 4 + 8 * count
