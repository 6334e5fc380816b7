"""The entries, fields and counters in the files of a capture's folder (``native/recording/spool.c``, ``counters.c``).

A file of builds has an entry for each: a head of three numbers (its size, its kind, a time), then fields. A field is a name,
ended by a zero byte, and bytes, each preceded by its size. All numbers have 64 bits, little-endian.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.toolchain.sources.source_reading import open_beside, read_beside

_NUMBER = struct.Struct("<Q")
_HEAD = struct.Struct("<3Q")
#: Kinds of entries: one that is not whole or was taken back, a build that has not ended, and one that has.
VOID, STARTED, BUILD = 0, 1, 2
#: A counter: its size, its program's process and number, the device, how often the kernel was created and launched, how many
#: shapes count; behind the room for those are its number in the process; of launches that the device timed how many they are,
#: their sum in nanoseconds, whether the first is known, the first, least and largest; and the name.
_COUNTER, _SHAPE, _SHAPES = struct.Struct("<7Q"), struct.Struct("<8Q"), 8
_TIMED = struct.Struct("<7Q")
_COUNTER_TIMES = _COUNTER.size + _SHAPES * _SHAPE.size
_COUNTER_NAME = _COUNTER_TIMES + _TIMED.size
#: The device's time of a launch (``native/recording/launch_times.c``): the counter's number, and nanoseconds.
_TIME = struct.Struct("<2Q")

#: A call of the driver (``native/recording/current_calls.c``): whether it goes on, its process and thread, and its function.
_CALL = struct.Struct("<4I48s")

#: A program as all files call it: its process's number and its own.
Identity = tuple[int, int]
#: A counter among all of a capture: its process, as names of files call it, and its number there.
CounterKey = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """A build's entry: its fields' place, whether it has ended, and when it has, or began (nanoseconds since 1970)."""

    path: Path
    offset: int
    size: int
    has_ended: bool
    time: int

    def fields(self) -> Iterator[tuple[str, bytes]]:
        """Yield its fields. Raises FormatError if they are damaged, UnsupportedError or OSError if the file cannot be read."""
        with open_beside(self.path, self.path.parent) as file:
            content = os.pread(file.fileno(), self.size, self.offset)
        return read_fields(content, f"the entry at {self.offset} of {self.path.name}")


def read_entries(path: Path) -> Iterator[Entry]:
    """Yield the entries of a file of builds that its process finished. Raises FormatError if the file is damaged."""
    with open_beside(path, path.parent) as file:
        end = os.fstat(file.fileno()).st_size
        offset = 0
        while offset + _HEAD.size <= end:
            size, kind, time = _HEAD.unpack(os.pread(file.fileno(), _HEAD.size, offset))
            start = offset + _HEAD.size
            offset = start + size
            if kind == VOID:
                continue
            if kind not in (STARTED, BUILD) or offset > end:
                raise FormatError(f"{path.name} is damaged", format="capture", offset=start)
            yield Entry(path, start, size, kind == BUILD, time)


def read_fields(content: bytes, what: str) -> Iterator[tuple[str, bytes]]:
    """Yield the fields that the content consists of. Raises FormatError if it is damaged."""
    blocks = []
    offset, end = 0, len(content)
    while offset < end:
        start = offset + _NUMBER.size
        if start > end:
            raise FormatError(f"{what} ends within a field", format="capture", offset=offset)
        offset = start + _NUMBER.unpack_from(content, offset)[0]
        if offset > end:
            raise FormatError(f"a field of {what} extends beyond its end", format="capture", offset=start)
        blocks.append(content[start:offset])
    if len(blocks) % 2:
        raise FormatError(f"{what} ends within a field", format="capture", offset=end)
    for name, value in zip(blocks[::2], blocks[1::2], strict=True):
        yield name.rstrip(b"\0").decode("utf-8", "replace"), value


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes that a kernel was launched with; ``local_size`` is None where the driver chose it."""

    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    launches: int


@dataclass(slots=True)
class Counter:
    """The number of times that a process created a kernel, and launched it on a device, with its first eight shapes; and the
    number of launches that the device timed, with the sum of nanoseconds, the first one's (None if it is not known), the least
    and the most."""

    kernel: str
    program: Identity = (0, 0)
    device: int = 0
    created: int = 0
    launches: int = 0
    shapes: list[Shape] = field(default_factory=list)
    key: CounterKey = ("", 0)
    timed: int = 0
    nanoseconds: int = 0
    first: int | None = None
    least: int = 0
    most: int = 0


def read_times(path: Path) -> dict[CounterKey, list[int]]:
    """Return the device's nanoseconds of launches by their counters (``native/recording/launch_times.c``), of one file."""
    content = read_beside(path, path.parent)
    times: dict[CounterKey, list[int]] = {}
    for number, nanoseconds in _TIME.iter_unpack(bytes(content[: len(content) // _TIME.size * _TIME.size])):
        if number == 0:
            break
        times.setdefault((_process_of(path), number), []).append(nanoseconds)
    return times


def _process_of(path: Path) -> str:
    return path.name.partition("-")[0]


def read_counters(path: Path) -> list[Counter]:
    """Return the counters in a file (``native/recording/counters.c``): entries of the kernels that were created or
    launched, one behind the other up to one of size 0. Raises FormatError if it is damaged."""
    content = read_beside(path, path.parent)
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
            own, timed, nanoseconds, has_first, first, *range_ = _TIMED.unpack_from(content, start + _COUNTER_TIMES)
            key, times = (_process_of(path), own), (timed, nanoseconds, first if has_first else None, *range_)
            counters.append(Counter(name, (process, number), device, created, launches, shapes, key, *times))
        start += size
    return counters


def _shape(numbers: tuple[int, ...]) -> Shape:
    dimensions, *sizes, launches = numbers
    local = tuple(sizes[3:][:dimensions])
    return Shape(tuple(sizes[:3][:dimensions]), local if any(local) else None, launches)


@dataclass(frozen=True, slots=True)
class CurrentCall:
    """A call of the driver that had not returned when the file was read."""

    process: int
    function: str


def read_current_calls(path: Path) -> list[CurrentCall]:
    """Return the calls that had not returned, of the file of one process. Raises FormatError if it is damaged."""
    content = read_beside(path, path.parent)
    if len(content) % _CALL.size:
        raise FormatError(f"{path.name} ends within a call", format="capture", offset=len(content))
    return [
        CurrentCall(process, name.partition(b"\0")[0].decode("utf-8", "replace"))
        for goes_on, process, _, _, name in (
            _CALL.unpack_from(content, at) for at in range(0, len(content), _CALL.size)
        )
        if goes_on
    ]
