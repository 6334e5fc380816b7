"""The counts of created and launched kernels: the files of kind ``counters`` in a spool, which are memory of a process."""

from __future__ import annotations

import struct
from pathlib import Path

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError

#: A counter: its size, its program's process and number, the device, how often the kernel was created and launched, how many
#: shapes count; behind the room for those is the name.
_COUNTER, _SHAPE, _SHAPES = struct.Struct("<7Q"), struct.Struct("<8Q"), 8
_COUNTER_NAME = _COUNTER.size + _SHAPES * _SHAPE.size

#: A program as all files call it: its process's number and its own.
Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes that a kernel was launched with; ``local_size`` is None where the driver chose it."""

    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    launches: int


@dataclass(slots=True)
class Counter:
    """The number of times that a process created a kernel, and launched it on a device (0: never), with its first eight
    shapes."""

    kernel: str
    program: Identity = (0, 0)
    device: int = 0
    created: int = 0
    launches: int = 0
    shapes: list[Shape] = field(default_factory=list)


def read_counters(path: Path) -> list[Counter]:
    """Return the counters in a file (``native/recording/counters.c``): entries of the kernels that were created or
    launched, one behind the other up to one of size 0. Raises FormatError if it is damaged."""
    content = path.read_bytes()
    counters = []
    start = 0
    while start + _COUNTER.size <= len(content):
        size, process, number, device, created, launches, shape_count = _COUNTER.unpack_from(content, start)
        if size == 0:
            break
        if size <= _COUNTER_NAME or start + size > len(content) or shape_count > _SHAPES:
            raise FormatError(f"{path.name} is damaged", format="capture", offset=start)
        if created or launches:
            name = content[start + _COUNTER_NAME : start + size].partition(b"\0")[0].decode("utf-8", "replace")
            shapes = [
                _shape(_SHAPE.unpack_from(content, start + _COUNTER.size + place * _SHAPE.size))
                for place in range(shape_count)
            ]
            counters.append(Counter(name, (process, number), device, created, launches, shapes))
        start += size
    return counters


def _shape(numbers: tuple[int, ...]) -> Shape:
    dimensions, *sizes, launches = numbers
    local = tuple(sizes[3:][:dimensions])
    return Shape(tuple(sizes[:3][:dimensions]), local if any(local) else None, launches)
